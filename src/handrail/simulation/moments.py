"""Means and variances over runs that do not depend on how the runs were divided up.

Runs are taken in groups of ten, in order; a group's moments are computed in one way only, and
groups are put together one after the other, from the first to the last. A block is a whole number
of groups, so any division into blocks leads to the same operations and the same bits.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import reduce
from typing import Final, NamedTuple

import numpy as np

from handrail.records import Floats, Ints

__all__ = ["GROUP", "Moments", "combine", "from_runs", "pack", "unpack"]

GROUP: Final = 10
"""Runs in a group."""


class Moments(NamedTuple):
    """Of some runs: how many, and of each curve its mean and the sum of squares around it."""

    runs: int
    mean: Floats
    """(points, 2): regret and budget."""
    squares: Floats
    """(points, 2): the sum of squared differences from the mean."""
    events: Ints
    """(points, 2): rounds with E1 and with E2, summed over the runs."""

    @property
    def error(self) -> Floats:
        """The standard error of the means; NaN where there is one run only."""
        if self.runs < 2:
            return np.full_like(self.mean, np.nan)
        return np.asarray(np.sqrt(self.squares / (self.runs - 1) / self.runs))


def from_runs(curves: Floats) -> Moments:
    """Return the moments of one group of curves, (runs, points, 4)."""
    values = curves[:, :, :2]
    mean = np.add.reduce(values, axis=0) / len(values)
    squares = np.add.reduce((values - mean) ** 2, axis=0)
    events = np.add.reduce(curves[:, :, 2:].astype(np.int64), axis=0)
    return Moments(len(values), mean, squares, events)


def _pair(one: Moments, two: Moments) -> Moments:
    """Put two together (Chan, Golub and LeVeque's update)."""
    runs = one.runs + two.runs
    apart = two.mean - one.mean
    return Moments(
        runs,
        one.mean + apart * (two.runs / runs),
        one.squares + two.squares + apart**2 * (one.runs * two.runs / runs),
        one.events + two.events,
    )


def combine(parts: Sequence[Moments]) -> Moments:
    """Put groups together, in order."""
    return reduce(_pair, parts)


def pack(parts: Sequence[Moments], runs: Floats) -> bytes:
    """Return moments and what was measured of each run as bytes."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        counts=np.array([part.runs for part in parts]),
        mean=np.array([part.mean for part in parts]),
        squares=np.array([part.squares for part in parts]),
        events=np.array([part.events for part in parts]),
        runs=runs,
    )
    return buffer.getvalue()


def unpack(payload: bytes) -> tuple[list[Moments], Floats]:
    """Return what `pack` took."""
    with np.load(io.BytesIO(payload), allow_pickle=False) as stored:
        columns = [stored[name] for name in ("counts", "mean", "squares", "events")]
        runs = stored["runs"]
    return [Moments(int(n), m, s, e) for n, m, s, e in zip(*columns, strict=True)], runs
