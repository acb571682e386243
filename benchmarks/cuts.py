"""Whether the cut of a bound that is one step smaller than the one noticed goes unnoticed.

Run with ``python -m benchmarks.cuts``: some twenty minutes of processor time. docs/guarantee.md
gives the smallest cut of each bound that is noticed, of 10, 15, 20, ... %, and `make certify`
shows that it is. This certifies the next smaller cut on the same runs and, where that is noticed,
the next, down to 10 %. What it printed is in docs/guarantee.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from handrail.certificate.broken import VARIANTS
from handrail.certificate.cases import Case, cases
from handrail.certificate.report import judge_all

STEP = 0.05
SMALLEST = 0.1
"""The smallest cut that is tried."""


def smaller(case: Case) -> Case:
    """Return the case with the next smaller cut, which is expected to go unnoticed."""
    return replace(case, cut=round(case.cut - STEP, 2), expected=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Certify all of them and print a table; 1 if a smaller cut is noticed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuts", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", help="bounds whose description holds this")
    given = parser.parse_args()
    noticed = [
        case for case in cases() if case.cut and given.only in VARIANTS[case.broken].description
    ]
    rows: list[dict[str, Any]] = []
    while tried := [smaller(case) for case in noticed if case.cut > SMALLEST]:
        found = judge_all(tried, seed=given.seed, workers=given.workers, say=_say)["certificates"]
        rows += found
        noticed = [case for case, row in zip(tried, found, strict=True) if not row["holds"]]
    print("| bound | cut | violated | delta | verdict |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        print(
            f"| {VARIANTS[row['broken']].description} | {100 * row['cut']:.0f} % "
            f"| {row['violations']} of {row['runs']} | {100 * row['delta']:g} % "
            f"| {row['verdict']} |"
        )
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
