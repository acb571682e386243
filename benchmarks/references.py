"""The reference loops of simulated rounds, compiled: the least that a round could be thought of."""

from __future__ import annotations

import time

import numba
import numpy as np

from benchmarks.linucb import Floats
from benchmarks.measure import timed

__all__ = ["draw", "draw_seconds", "rank_one", "rank_one_seconds"]

DRAWS = 20_000_000
UPDATES, RUN = 400_000, 20_000
"""Updates that are timed, and how many of them start from the same matrix."""


@numba.njit(nogil=True)
def draw(generator: np.random.Generator, count: int) -> float:
    """Draw numbers one by one; return their sum."""
    total = 0.0
    for _ in range(count):
        total += generator.random()
    return total


@numba.njit(nogil=True, error_model="numpy")
def rank_one(start: Floats, rounds: int) -> Floats:
    """Update G = X V^-1 X' for one more reward of an arm, a round; the arms take turns.

    Of the ways to write it this was the fastest: rows in an inner loop that is vectorised, the
    size not known when it is compiled. After n rounds no entry is below about 1 / n^2.
    """
    size = start.shape[0]
    matrix, column = start.copy(), np.empty(size)
    arm = 0
    for _ in range(rounds):
        for j in range(size):
            column[j] = matrix[arm, j]
        scale = 1.0 / (1.0 + column[arm])
        for i in range(size):
            factor = column[i] * scale
            for j in range(size):
                matrix[i, j] -= factor * column[j]
        arm = arm + 1 if arm + 1 < size else 0
    return matrix


def draw_seconds() -> float:
    """Return the CPU seconds of drawing one number."""
    generator = np.random.default_rng(0)
    return timed(lambda: draw(generator, DRAWS), time.process_time) / DRAWS


def rank_one_seconds(arms: int, dim: int, ridge: float) -> float:
    """Return the CPU seconds of one update, with features of random directions."""
    features = np.random.default_rng(0).standard_normal((arms, dim))
    start = features @ features.T / ridge

    def runs() -> None:
        for _ in range(UPDATES // RUN):
            rank_one(start, RUN)

    return timed(runs, time.process_time) / UPDATES
