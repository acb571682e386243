"""What is known of the baseline's mean, and the need that follows.

The baseline's mean enters every margin: each round of S_b with +alpha, each round of S and the
present one with -(1 - alpha). Where it is only known to lie between low and high, each coefficient
takes the end that hurts:

- The mean may change from round to round: S_b takes low, S and the present round take high.
- One constant mean m: the coefficients are collected first, and what is left is least at one of the
  two ends: min over m in {low, high} of m (alpha c - s - 1), c the checkpoint that is waited for.
- A linear model that learns the baseline's mean too: the baseline's features are part of what
  the past bound is taken of, so nothing is left to need.

References
----------
A. Kazerouni et al. (2017), Conservative contextual linear bandits, Section 4 (unknown baseline).
"""

from __future__ import annotations

from typing import Final

from handrail.compiled import lean
from handrail.conservative.ledger import need
from handrail.conservative.schedule import awaited_checkpoint, current_slack
from handrail.records import Ledger, Rules

__all__ = [
    "CONSTANT",
    "FROM_MEANS",
    "FROM_REWARDS",
    "GIVEN",
    "NOTHING",
    "WITHIN",
    "allowance",
    "held_margin",
    "required",
    "teaches",
]

GIVEN: Final = 0
"""Every round says its mean, or an interval for it."""
CONSTANT: Final = 1
"""One constant mean in an interval, given or learned."""
WITHIN: Final = 2
"""Learned by the linear model: the past bound includes it."""

NOTHING: Final = 0
FROM_REWARDS: Final = 1
"""Baseline rounds await a reward, and the estimator learns from it."""
FROM_MEANS: Final = 2
"""The estimator learns the baseline's known mean, as a reward without noise; nothing is awaited."""


@lean
def teaches(rules: Rules, low: float, high: float) -> bool:
    """Say whether a baseline round with this interval for its mean is learned from."""
    if rules.learn_baseline == FROM_MEANS:
        return low == high
    return rules.learn_baseline == FROM_REWARDS


@lean
def _constant(rules: Rules, ledger: Ledger, low: float, high: float, plays: int) -> float:
    """Return max over m in {low, high} of m (plays - alpha c): need and slack in one."""
    until = awaited_checkpoint(rules, ledger, ledger.rounds + 1)
    net = plays - rules.alpha * until
    return max(low * net, high * net)


@lean
def required(rules: Rules, ledger: Ledger, low: float, high: float) -> float:
    """Return what past_and_now and the slack have to make up for if the baseline is not played."""
    if rules.knowledge == CONSTANT:
        return _constant(rules, ledger, low, high, ledger.plays + 1)
    if rules.knowledge == WITHIN:
        return 0.0
    return need(rules, ledger, low, high)


@lean
def allowance(rules: Rules, ledger: Ledger) -> float:
    """Return the slack, where `required` does not include it."""
    return 0.0 if rules.knowledge == CONSTANT else current_slack(rules, ledger)


@lean
def held_margin(
    rules: Rules,
    ledger: Ledger,
    past: float,
    extra: float,
    needed: float,
    low: float,
    high: float,
    certified: float,
) -> float:
    """Return the margin that playing the baseline certifies.

    Parameters
    ----------
    rules, ledger : Rules, Ledger
        What was agreed and counted.
    past : float
        The past bound of S alone.
    extra, needed : float
        `allowance` and `required` of this round.
    low, high : float
        Where the baseline's mean lies.
    certified : float
        past_and_now of the baseline's action, for a mean that the linear model learns.

    Returns
    -------
    float
        The margin.
    """
    if rules.knowledge == CONSTANT:
        return past - _constant(rules, ledger, low, high, ledger.plays)
    if rules.knowledge == WITHIN:
        return certified + extra
    if low == high:
        return past + extra + high - needed
    return past + extra + (1.0 - rules.alpha) * high + rules.alpha * low - needed
