"""Regret, budget and events of a run, from what was played, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

ROUNDING = 1e-9
"""A budget below 0 by less is rounding's."""


class Step(NamedTuple):
    """One round, on true means."""

    mean: float
    best: float
    baseline_mean: float
    event: str


class Measured(NamedTuple):
    """After each round, and over all of them."""

    regret: list[float]
    budget: list[float]
    optimistic: list[int]
    safe: list[int]
    smallest: float
    violations: int
    smallest_at_checkpoints: float


def measure(
    steps: Sequence[Step], alpha: float, every: int = 0, listed: Sequence[int] = ()
) -> Measured:
    """budget(t) = sum over i <= t of mu_{a_i} - (1 - alpha) mu_b(i).

    Checkpoints are T, 2T, ..., or those of a list and every round after its last.
    """
    gaps = [step.best - step.mean for step in steps]
    gains = [step.mean - (1 - alpha) * step.baseline_mean for step in steps]
    ends = range(1, len(steps) + 1)
    budget = [math.fsum(gains[:end]) for end in ends]
    checked = budget[every - 1 :: every] if every else []
    if listed:
        checked = [budget[c - 1] for c in listed if c <= len(steps)] + budget[listed[-1] :]
    return Measured(
        regret=[math.fsum(gaps[:end]) for end in ends],
        budget=budget,
        optimistic=list(accumulate(int(step.event == "optimistic") for step in steps)),
        safe=list(accumulate(int(step.event == "safe") for step in steps)),
        smallest=min(budget),
        violations=sum(value < -ROUNDING for value in budget),
        smallest_at_checkpoints=min(checked, default=math.inf),
    )
