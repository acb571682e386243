"""What is measured of a run, by hand on small cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from handrail.conservative.selection import BASELINE_EVENT, OPTIMISTIC_EVENT, SAFE_EVENT
from handrail.records import LEDGER, new_record
from handrail.simulation.meter import (
    count_event,
    fixed_budget,
    fixed_regret,
    new_meter,
    observe,
    observe_context,
)


def test_budget_and_regret_of_fixed_arms() -> None:
    # 10 rounds: 4 of arm 0 (mean 0.9), 1 of arm 2 (0.2), 5 of the baseline, arm 1 (0.5).
    meter = new_meter(alpha=0.1, checkpoint_every=0)
    ledger = new_record(LEDGER, rounds=10, plays=5)
    plays, means = np.array([4, 0, 1]), np.array([0.9, 0.5, 0.2])
    budget = fixed_budget(meter[0], ledger[0], plays, means, 0.5)
    assert budget == pytest.approx(4 * 0.9 + 0.2 + 5 * 0.5 - 0.9 * 10 * 0.5)
    regret = fixed_regret(ledger[0], plays, means, 0.5)
    assert regret == pytest.approx(5 * 0.4 + 0.7)


@pytest.mark.parametrize("step", [0.3, -0.3])
@pytest.mark.parametrize("start", [-2.0, -0.5, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("every", [0, 1, 3, 4, 50])
def test_rounds_at_once_are_rounds_one_by_one(step: float, start: float, every: int) -> None:
    together, apart = new_meter(0.1, every), new_meter(0.1, every)
    now = 17
    budgets = [start + step * (i + 1) for i in range(5)]
    for i, budget in enumerate(budgets):
        observe(apart[0], now + i + 1, budget, step, 1)
    observe(together[0], now + 5, budgets[-1], step, 5)
    assert together[0].violations == apart[0].violations == sum(b < -1e-9 for b in budgets)
    assert together[0].smallest == pytest.approx(min(budgets))
    assert apart[0].smallest == min(budgets)
    checked = [b for i, b in enumerate(budgets) if every and (now + i + 1) % every == 0]
    expected = min(checked, default=math.inf)
    assert together[0].smallest_at_checkpoints == pytest.approx(expected)
    assert apart[0].smallest_at_checkpoints == pytest.approx(expected)


def test_a_budget_of_zero_is_no_violation() -> None:
    meter = new_meter(0.1, 0)
    observe(meter[0], 1, -1e-12, 0.0, 1)
    assert meter[0].violations == 0
    observe(meter[0], 2, -1e-6, 0.0, 1)
    assert meter[0].violations == 1


def test_contexts_add_up() -> None:
    meter = new_meter(0.5, 2)
    for now, (mean, best, baseline) in enumerate([(0.1, 0.9, 0.8), (0.7, 0.7, 0.2)], start=1):
        observe_context(meter[0], now, mean, best, baseline)
    assert meter[0].budget == pytest.approx(0.1 - 0.4 + 0.7 - 0.1)
    assert meter[0].regret == pytest.approx(0.8)
    assert meter[0].smallest == pytest.approx(-0.3)
    assert meter[0].smallest_at_checkpoints == pytest.approx(0.3)
    assert meter[0].violations == 1


def test_events_are_counted_apart() -> None:
    meter = new_meter(0.1, 0)
    for event, rounds in ((OPTIMISTIC_EVENT, 3), (SAFE_EVENT, 2), (BASELINE_EVENT, 5)):
        count_event(meter[0], event, rounds)
    assert (meter[0].optimistic, meter[0].safe) == (3, 2)
