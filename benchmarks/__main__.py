"""Run benchmarks, print the table, write out/bench.json and pictures; 1 if a limit is missed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.measure import Row
from benchmarks.parts import PARTS, Part, run
from benchmarks.table import table
from handrail.errors import InputError
from handrail.extras import need_extra

RESULTS = Path(__file__).resolve().parent.parent / "out"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="which ones; none: the usual")
    parser.add_argument("--list", action="store_true", help="list the parts and stop")
    parser.add_argument("--out", type=Path, help="an empty folder for the results of `paper`")
    given = parser.parse_args()
    known = {part.name for part in PARTS}
    for name in given.parts:
        if name not in known:
            parser.error(f"{name!r} is not a part; --list names them")
    if given.out is not None and "paper" not in given.parts:
        parser.error("--out is for the part `paper`")
    return given


def _list() -> None:
    for part in PARTS:
        print(f"{part.name:18} {part.about}{'' if part.by_default else ' (on request)'}")


def _run(parts: list[Part], out: Path | None) -> tuple[list[Row], dict[str, str]]:
    """Return the rows, and why parts were left out."""
    rows: list[Row] = []
    left: dict[str, str] = {}
    for part in parts:
        print(f"running {part.name} ...", file=sys.stderr, flush=True)
        options = {"out": out} if part.name == "paper" else {}
        try:
            rows += run(part, **options)
        except ImportError as error:
            left[part.name] = str(error)
        except InputError as error:
            if "not installed" not in str(error):
                raise
            left[part.name] = str(error)
    return rows, left


def _draw(rows: list[Row], stem: str) -> list[Path]:
    """Draw what there is to draw; return the pictures."""
    try:
        need_extra("matplotlib", "figures")
    except InputError as error:
        print(f"no pictures: {error}")
        return []
    from benchmarks.chart import draw_chart
    from benchmarks.growth_chart import draw_growth

    drawn = []
    if any(row.limit is not None for row in rows):
        drawn.append(RESULTS / f"{stem}.png")
        draw_chart(rows, drawn[-1])
    curves = [row.curve for row in rows if row.curve is not None]
    if curves:
        drawn.append(RESULTS / "growth.png")
        draw_growth(curves, drawn[-1])
    return drawn


def main() -> int:
    """Run."""
    given = _arguments()
    if given.list:
        _list()
        return 0
    start, found = time.perf_counter(), machine()
    print("; ".join(f"{key} {value}" for key, value in found.items()), flush=True)
    named = [part for part in PARTS if part.name in given.parts]
    rows, left = _run(named or [part for part in PARTS if part.by_default], given.out)
    missed = sum(row.met is False for row in rows)
    judged = sum(row.met is not None for row in rows)
    print(table(rows))
    print(f"\n{judged - missed} of {judged} limits met")
    for name, reason in left.items():
        print(f"{name} was left out: {reason}")
    # A part alone does not take the place of the whole.
    stem = "-".join(["bench", *(part.name for part in named)])
    results: dict[str, Any] = {
        "machine": found,
        "rows": [{**asdict(row), "met": row.met} for row in rows],
        "left_out": left,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{stem}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    files = [path, *_draw(rows, stem)]
    print(f"results: {', '.join(map(str, files))} (took {time.perf_counter() - start:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
