"""How a reward is drawn around its mean."""

from __future__ import annotations

from typing import Final

import numpy as np

from handrail.compiled import compiled
from handrail.counter import normal, uniform

__all__ = ["BERNOULLI", "GAUSSIAN", "REWARDS", "draw"]

BERNOULLI: Final = 0
GAUSSIAN: Final = 1

REWARDS: Final = {"bernoulli": BERNOULLI, "gaussian": GAUSSIAN}


@compiled
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
