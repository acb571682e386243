"""One empirical mean per arm."""

from __future__ import annotations

import math

from handrail.bounds.arm import KL, UCB1, arm_width
from handrail.bounds.kl import kl_interval
from handrail.compiled import lean
from handrail.records import Floats, Ints, Ledger, Rules

__all__ = ["bound_mean", "bound_means", "learn_mean", "share_of_arm"]


@lean
def bound_mean(
    counts: Ints, sums: Floats, arm: int, width: float, upper: Floats, lower: Floats
) -> None:
    """Fill in the bounds of an arm that was played: its empirical mean -+ the width."""
    mean = sums[arm] / counts[arm]
    upper[arm] = mean + width
    lower[arm] = mean - width


@lean
def share_of_arm(rules: Rules, arm: int) -> float:
    """Return the number K of which an arm's share of the level is one.

    Notes
    -----
    With arms that may be added without end, the j-th ever created gets 6 / (pi j)^2; these add up
    to 1 over all of them, so the union over arms ever added stays within the level.
    """
    if rules.open_arms == 1:
        position = math.pi * (arm + 1)
        return position * position / 6.0
    return float(rules.arms)


@lean
def _bound_arm(
    rules: Rules, now: int, counts: Ints, sums: Floats, arm: int, upper: Floats, lower: Floats
) -> None:
    if counts[arm] == 0:
        upper[arm] = math.inf
        lower[arm] = 0.0
        return
    share = share_of_arm(rules, arm)
    if rules.width == KL:
        low, high = kl_interval(counts[arm], sums[arm], rules.estimator_level / share)
        lower[arm] = low
        upper[arm] = high
        return
    width = arm_width(
        rules.width, counts[arm], now, share, rules.noise, rules.estimator_level, rules.arm_rho
    )
    bound_mean(counts, sums, arm, width, upper, lower)


@lean
def bound_means(
    rules: Rules,
    ledger: Ledger,
    counts: Ints,
    sums: Floats,
    stamps: Ints,
    upper: Floats,
    lower: Floats,
) -> None:
    """Fill in each arm's upper and lower bound; unknown arms may be anything from 0 up.

    The bounds of an arm whose count is its stamp are there already, unless they move with the
    round.
    """
    now = ledger.rounds + 1
    for arm in range(counts.size):
        if stamps[arm] != counts[arm] or rules.width == UCB1:
            _bound_arm(rules, now, counts, sums, arm, upper, lower)
            stamps[arm] = counts[arm]


@lean
def learn_mean(counts: Ints, sums: Floats, arm: int, reward: float) -> None:
    """Take one more reward of an arm into account."""
    counts[arm] += 1
    sums[arm] += reward
