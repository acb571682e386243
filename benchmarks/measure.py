"""Time contestants in turn, and hold ratios to their limits."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.curve import Curve

__all__ = ["Row", "interleave", "median", "ratio", "timed"]


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
    aim: float | None = None
    """What the ratio, or the value, should come down to; missing it is no failure."""
    curve: Curve | None = None
    """The measurements that a rate of growth was fitted to."""
    least: bool = False
    """Whether limit and aim are the smallest allowed, as for what is counted by the second."""

    @property
    def measured(self) -> float:
        """What the limit is for: the ratio, or the value where there is none."""
        return self.value if self.ratio is None else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether the limit is kept; None where there is none."""
        if self.limit is None:
            return None
        return self.measured >= self.limit if self.least else self.measured <= self.limit


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


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that work takes by a clock."""
    start = clock()
    work()
    return clock() - start


def median(seconds: list[float], rounds: int = 1) -> float:
    """Return the median over turns, in microseconds a round."""
    return statistics.median(seconds) / rounds * 1e6


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median, over turns, of the ratio within the turn."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
