"""One empirical mean per arm."""

from __future__ import annotations

import math

from handrail.bounds.arm import arm_width
from handrail.compiled import lean
from handrail.records import Floats, Ints, Ledger, Rules

__all__ = ["bound_mean", "bound_means", "learn_mean"]


@lean
def bound_mean(
    counts: Ints, sums: Floats, arm: int, width: float, upper: Floats, lower: Floats
) -> None:
    """Fill in the bounds of an arm that was played: its empirical mean -+ the width."""
    mean = sums[arm] / counts[arm]
    upper[arm] = mean + width
    lower[arm] = mean - width


@lean
def bound_means(
    rules: Rules, ledger: Ledger, counts: Ints, sums: Floats, upper: Floats, lower: Floats
) -> None:
    """Fill in each arm's upper and lower bound; unknown arms may be anything from 0 up."""
    now = ledger.rounds + 1
    for arm in range(counts.size):
        if counts[arm] == 0:
            upper[arm] = math.inf
            lower[arm] = 0.0
            continue
        width = arm_width(
            rules.width,
            counts[arm],
            now,
            rules.arms,
            rules.noise,
            rules.estimator_level,
            rules.arm_rho,
        )
        bound_mean(counts, sums, arm, width, upper, lower)


@lean
def learn_mean(counts: Ints, sums: Floats, arm: int, reward: float) -> None:
    """Take one more reward of an arm into account."""
    counts[arm] += 1
    sums[arm] += reward
