"""What the drawings of problems have in common."""

from __future__ import annotations

from typing import Final

import numpy as np

from handrail.compiled import compiled
from handrail.counter import uniform
from handrail.errors import InputError
from handrail.records import Floats

__all__ = ["PROBLEMS", "check_rank", "dot", "ranked", "rescaled", "uniforms"]

PROBLEMS: Final = 1
"""The streams that problems are drawn from, within those of a seed."""


@compiled
def uniforms(key: np.uint64, start: int, out: Floats) -> None:
    """Fill in numbers start, start + 1, ... of a stream, uniform in [0, 1)."""
    for j in range(out.size):
        out[j] = uniform(key, start + j)


@compiled
def dot(one: Floats, other: Floats) -> float:
    """Return the inner product, summed in order: the same bits whatever BLAS is there."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total


def ranked(means: Floats, rank: int) -> int:
    """Return the arm with the rank-th largest mean (1 = best); ties go to the lowest index."""
    return int(np.argsort(-means, kind="stable")[rank - 1])


def check_rank(rank: int, arms: int) -> None:
    """Refuse a baseline that is no arm."""
    if not 1 <= rank <= arms:
        raise InputError(
            "baseline_rank", f"{rank} is no rank among {arms} arms", f"pass 1 (best) to {arms}"
        )


def rescaled(features: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """Shift and scale features so that the best mean is 1 and the worst 0.

    Notes
    -----
    phi <- (phi - phi_worst) / (mu_best - mu_worst), theta as it was. Returns the features and
    their means.
    """
    means = np.array([dot(row, theta) for row in features])
    worst, best = int(np.argmin(means)), int(np.argmax(means))
    moved = (features - features[worst]) / (means[best] - means[worst])
    # Rounding may put the best mean at 1 + 2e-16: means are means, not measurements.
    return moved, np.clip([dot(row, theta) for row in moved], 0.0, 1.0)
