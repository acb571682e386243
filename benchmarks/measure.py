"""Time contestants in turn, and hold ratios to their limits."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Row", "interleave", "median", "ratio", "table", "timed"]


@dataclass(frozen=True)
class Row:
    """One line of the report: a value, what it is held against, and the limit if there is one."""

    group: str
    name: str
    value: float
    """In the row's unit."""
    unit: str
    against: str = ""
    ratio: float | None = None
    limit: float | None = None
    """Largest ratio allowed; largest value where there is no ratio. None: for information."""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the limit is kept; None where there is none."""
        if self.limit is None:
            return None
        return (self.value if self.ratio is None else self.ratio) <= self.limit


def interleave(
    contestants: Mapping[str, Callable[[], float]], repetitions: int
) -> dict[str, list[float]]:
    """Time contestants A B C A B C ...: what disturbs the machine hits all of them.

    Parameters
    ----------
    contestants : mapping
        Functions that do their work and return the seconds it took.
    repetitions : int
        Turns, after one that is not counted.

    Returns
    -------
    dict
        Seconds by contestant and turn.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repetitions + 1):
        for name, contestant in contestants.items():
            taken = contestant()
            if turn:
                seconds[name].append(taken)
    return seconds


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median(seconds: list[float], rounds: int = 1) -> float:
    """Return the median over turns, in microseconds a round."""
    return statistics.median(seconds) / rounds * 1e6


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median, over turns, of the ratio within the turn."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def table(rows: list[Row]) -> str:
    """Return the report as text."""
    verdicts = {None: "", True: "met", False: "NOT met"}
    lines = [("", "", "", "against", "ratio", "limit", "", "")]
    for row in rows:
        limit = (
            ""
            if row.limit is None
            else f"{row.limit:g}{'' if row.ratio is not None else ' ' + row.unit}"
        )
        lines.append(
            (
                row.group,
                row.name,
                f"{row.value:,.4g} {row.unit}"
                if row.value < 1e4
                else f"{row.value:,.0f} {row.unit}",
                row.against,
                "" if row.ratio is None else f"{row.ratio:.2f}",
                limit,
                verdicts[row.met],
                row.note,
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = {2, 4, 5}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
