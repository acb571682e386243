"""Run all benchmarks, print the table, write out/bench.json; exit code 1 if a limit is missed."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import arms, choices, contexts, growth, startup
from benchmarks.measure import Row, table

RESULTS = Path(__file__).resolve().parent.parent / "out" / "bench.json"
PACKAGES = ("handrail", "numpy", "numba", "river")


def _machine() -> dict[str, str]:
    """Return what the numbers depend on."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    found["cores"] = str(os.cpu_count())
    found["load"] = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def main() -> int:
    """Run."""
    start = time.perf_counter()
    machine = _machine()
    print("; ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    rows: list[Row] = []
    for part in (contexts, arms, growth, startup, choices):
        print(f"running {part.__name__} ...", file=sys.stderr, flush=True)
        rows += part.rows()
    missed = sum(row.met is False for row in rows)
    judged = sum(row.met is not None for row in rows)
    print(table(rows))
    print(f"\n{judged - missed} of {judged} limits met; ratios are medians over turns A B A B ...")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    found = {"machine": machine, "rows": [{**asdict(row), "met": row.met} for row in rows]}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(f"results: {RESULTS} (took {time.perf_counter() - start:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
