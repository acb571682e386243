"""The reference loops of simulated rounds, compiled: the least that a round could be thought of.

A reference is the fastest of some repetitions. A neighbour on the other half of the core can make
vector arithmetic take twice as long, and the simulator would look good beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np

from benchmarks.linucb import Floats
from benchmarks.measure import timed

__all__ = ["draw", "draw_seconds", "rank_one", "rank_one_seconds"]

DRAWS, UPDATES, REPETITIONS = 2_000_000, 20_000, 10


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


def _fastest(work: Callable[[], object]) -> float:
    return min(timed(work, time.process_time) for _ in range(REPETITIONS))


def draw_seconds() -> float:
    """Return the CPU seconds of drawing one number."""
    generator = np.random.default_rng(0)
    return _fastest(lambda: draw(generator, DRAWS)) / DRAWS


def rank_one_seconds(arms: int, dim: int, ridge: float) -> float:
    """Return the CPU seconds of one update, with features of random directions."""
    features = np.random.default_rng(0).standard_normal((arms, dim))
    start = features @ features.T / ridge
    return _fastest(lambda: rank_one(start, UPDATES)) / UPDATES
