"""Uncertainty over problems and runs, by resampling both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from handrail.records import Floats

__all__ = ["Interval", "Statistic", "bootstrap", "bootstrap_many"]

RESAMPLES: Final = 1000
_LEVEL: Final = 0.95
_AT_ONCE: Final = 2_000_000
"""Numbers drawn at a time: memory stays small for any number of problems and runs."""

Statistic: TypeAlias = Callable[[list[Floats]], Floats]


class Interval(NamedTuple):
    """What was measured, and a 95 % interval around it."""

    measured: float
    low: float
    high: float


def _resample(samples: Sequence[Floats], seed: int, resamples: int) -> list[Floats]:
    """Return the run-averaged samples of each resample, arrays of shape (resamples, problems)."""
    problems, runs = samples[0].shape
    rng = np.random.default_rng(seed)
    parts: list[list[Floats]] = [[] for _ in samples]
    step = max(1, _AT_ONCE // (problems * runs))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = rng.integers(problems, size=(count, problems, 1))
        within = rng.integers(runs, size=(count, problems, runs))
        flat = drawn * runs + within
        for part, sample in zip(parts, samples, strict=True):
            part.append(sample.reshape(-1)[flat].mean(axis=2))
    return [np.concatenate(part) for part in parts]


def bootstrap_many(
    samples: Sequence[Floats],
    statistics: Sequence[Statistic],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """Return intervals of several statistics on the same resamples.

    Parameters
    ----------
    samples : sequence of numpy.ndarray of shape (problems, runs)
        One number a run, for each contender. Run r of problem m sees the same rewards whoever
        plays, so a resample takes the same problems and runs of all contenders.
    statistics : sequence of callable
        Each takes the run-averaged numbers, one array of shape (resamples, problems) a contender,
        and returns one number a resample.
    seed : int, default=0
        Of the resampling.
    resamples : int, default=1000
        How many.

    Returns
    -------
    list of Interval
        The 2.5 % and 97.5 % quantiles of the resamples around the statistic of the data.

    Notes
    -----
    Problems are drawn with replacement, then runs within each drawn problem.
    """
    plain = [sample.mean(axis=1)[None, :] for sample in samples]
    drawn = _resample(samples, seed, resamples)
    tail = 50.0 * (1.0 - _LEVEL)
    found = []
    for statistic in statistics:
        low, high = np.percentile(statistic(drawn), [tail, 100.0 - tail])
        found.append(Interval(float(statistic(plain)[0]), float(low), float(high)))
    return found


def bootstrap(
    samples: Sequence[Floats],
    statistic: Statistic,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the interval of one statistic.

    Parameters
    ----------
    samples, statistic, seed, resamples
        As for `bootstrap_many`.

    Returns
    -------
    Interval
        Of the statistic.

    Examples
    --------
    >>> regret = np.array([[1.0, 3.0], [2.0, 2.0]])
    >>> bootstrap([regret], lambda drawn: drawn[0].mean(axis=1), seed=1)
    Interval(measured=2.0, low=1.5, high=2.5)
    """
    return bootstrap_many([*samples], [statistic], seed=seed, resamples=resamples)[0]
