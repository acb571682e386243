"""How a reward is drawn around its mean."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from handrail.compiled import lean
from handrail.counter import normal, uniform, word

__all__ = ["BERNOULLI", "GAUSSIAN", "REWARDS", "draw", "successes"]

BERNOULLI: Final = 0
GAUSSIAN: Final = 1

REWARDS: Final = {"bernoulli": BERNOULLI, "gaussian": GAUSSIAN}


@lean
def draw(kind: int, mean: float, noise: float, key: np.uint64, j: int) -> float:
    """Return the j-th reward of a stream.

    Notes
    -----
    `bernoulli`: 1 if a uniform number is below the mean, else 0: the same bits on any machine.
    `gaussian`: mean + noise times a normal number: the same on machines whose logarithm rounds
    alike.
    """
    if kind == BERNOULLI:
        return 1.0 if uniform(key, j) < mean else 0.0
    return mean + noise * normal(key, j)


@lean
def successes(mean: float, key: np.uint64, first: int, count: int) -> int:
    """Return how many of the Bernoulli rewards number first, first + 1, ... of a stream are 1.

    Notes
    -----
    u 2^-53 < mean, for the 53 bits u of a word, is u < ceil(2^53 mean) in whole numbers: the same
    rewards as `draw`'s, in a loop that compilers vectorise.
    """
    bar = np.uint64(math.ceil(mean * 2.0**53))
    total = 0
    for j in range(first, first + count):
        total += int((word(key, j) >> np.uint64(11)) < bar)
    return total
