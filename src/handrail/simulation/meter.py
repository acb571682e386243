"""What is measured of a run, on the true means: regret, budget, violations, events.

    budget(t) = sum_{i <= t} [ mu_{a_i} - (1 - alpha) mu_b(i) ]

A round is in violation when the budget is below 0 by more than rounding can explain (1e-9).
"""

from __future__ import annotations

import math
from typing import Final, Protocol

from handrail.compiled import lean
from handrail.conservative.ledger import add
from handrail.conservative.past import oracle_sums
from handrail.conservative.selection import BASELINE_EVENT, OPTIMISTIC_EVENT
from handrail.records import Floats, Ints, Ledger, Record, new_record, record_dtype

__all__ = [
    "METER",
    "PATIENCE",
    "ROUNDING",
    "Meter",
    "count_event",
    "end_rounds",
    "end_streak",
    "fixed_budget",
    "fixed_regret",
    "new_meter",
    "observe",
    "observe_checkpoint",
    "observe_context",
    "record_fixed",
    "record_point",
    "trace",
]

PATIENCE: Final = 1 << 20
"""Rounds after which a streak is cut, so that a run that is told to stop does."""
ROUNDING: Final = 1e-9
"""Budgets below 0 by no more are rounding."""


class Meter(Protocol):
    """What has been measured of a run so far."""

    alpha: float
    every: int
    """T of a schedule with checkpoints, else 0."""
    optimistic: int
    """Rounds with event E1."""
    safe: int
    """Rounds with event E2; all others are E3."""
    violations: int
    smallest: float
    """The smallest budget so far."""
    smallest_at_checkpoints: float
    budget: float
    """Changing contexts only: the budget and the regret as running sums."""
    budget_rest: float
    regret: float
    regret_rest: float


METER: Final = record_dtype(Meter)


def new_meter(alpha: float, checkpoint_every: int) -> Record:
    """Return a meter at zero."""
    return new_record(
        METER,
        alpha=alpha,
        every=checkpoint_every,
        smallest=math.inf,
        smallest_at_checkpoints=math.inf,
    )


@lean
def count_event(meter: Meter, event: int, rounds: int) -> None:
    """Count rounds of one event."""
    if event == OPTIMISTIC_EVENT:
        meter.optimistic += rounds
    elif event != BASELINE_EVENT:
        meter.safe += rounds


@lean
def fixed_budget(
    meter: Meter, ledger: Ledger, plays: Ints, means: Floats, baseline_mean: float
) -> float:
    """Return the budget of fixed arms now: counts times means, never repeated addition."""
    return _budget(meter, ledger, oracle_sums(plays, means), baseline_mean)


@lean
def _budget(meter: Meter, ledger: Ledger, earned: float, baseline_mean: float) -> float:
    return earned - baseline_mean * (ledger.plays - meter.alpha * ledger.rounds)


@lean
def fixed_regret(ledger: Ledger, plays: Ints, means: Floats, baseline_mean: float) -> float:
    """Return the regret of fixed arms now."""
    best = means[0]
    for arm in range(means.size):
        best = max(best, means[arm])
    total = (ledger.rounds - ledger.plays) * (best - baseline_mean)
    for arm in range(plays.size):
        total += plays[arm] * (best - means[arm])
    return float(total)


@lean
def observe(meter: Meter, now: int, budget: float, step: float, rounds: int) -> None:
    """Take in the latest rounds, in each of which the budget moved by the same step.

    Parameters
    ----------
    meter : Meter
        Where it is put.
    now : int
        The last of these rounds.
    budget : float
        The budget after it.
    step : float
        By how much each round moved it.
    rounds : int
        How many there were.
    """
    first = budget - step * (rounds - 1)
    low = min(first, budget)
    meter.smallest = min(meter.smallest, low)
    if low < -ROUNDING:
        if max(first, budget) < -ROUNDING:
            meter.violations += rounds
        else:
            for back in range(rounds):
                if budget - step * back < -ROUNDING:
                    meter.violations += 1
    if meter.every > 0:
        start = now - rounds
        earliest = (start // meter.every + 1) * meter.every
        if earliest <= now:
            latest = now // meter.every * meter.every
            low = budget - step * (now - (latest if step < 0.0 else earliest))
            meter.smallest_at_checkpoints = min(meter.smallest_at_checkpoints, low)


@lean
def end_rounds(
    meter: Meter,
    ledger: Ledger,
    plays: Ints,
    means: Floats,
    baseline_mean: float,
    arm: int,
    event: int,
    start: int,
    actions: Ints,
) -> None:
    """Take in the rounds after `start`, in all of which one fixed arm was played."""
    earned = oracle_sums(plays, means)
    end_streak(meter, ledger, earned, means[arm], baseline_mean, event, start)
    if actions.size > 0:
        trace(actions, start, ledger.rounds, arm)


@lean
def end_streak(
    meter: Meter,
    ledger: Ledger,
    earned: float,
    mean: float,
    baseline_mean: float,
    event: int,
    start: int,
) -> None:
    """Take in the rounds after `start`, of an arm with this mean, given sum_k N_k mu_k.

    Takes no array: Numba counts references to those it hands on, and a count takes as long as ten
    additions.
    """
    rounds = ledger.rounds - start
    count_event(meter, event, rounds)
    budget = _budget(meter, ledger, earned, baseline_mean)
    observe(meter, ledger.rounds, budget, mean - (1.0 - meter.alpha) * baseline_mean, rounds)


@lean
def trace(actions: Ints, start: int, stop: int, arm: int) -> None:
    """Write down the action of some rounds."""
    for now in range(start, stop):
        actions[now] = arm


@lean
def record_fixed(
    meter: Meter,
    ledger: Ledger,
    plays: Ints,
    means: Floats,
    baseline_mean: float,
    curve: Floats,
    point: int,
) -> None:
    """Write down where a run over fixed arms stands, as a row of its curve."""
    record_point(
        meter,
        fixed_regret(ledger, plays, means, baseline_mean),
        fixed_budget(meter, ledger, plays, means, baseline_mean),
        curve,
        point,
    )


@lean
def observe_context(meter: Meter, now: int, mean: float, best: float, baseline_mean: float) -> None:
    """Take in one round with changing contexts."""
    step = mean - (1.0 - meter.alpha) * baseline_mean
    meter.budget, meter.budget_rest = add(meter.budget, meter.budget_rest, step)
    meter.regret, meter.regret_rest = add(meter.regret, meter.regret_rest, best - mean)
    observe(meter, now, meter.budget + meter.budget_rest, step, 1)


@lean
def observe_checkpoint(meter: Meter, ledger: Ledger, checkpoints: Ints, budget: float) -> None:
    """Take in the budget after a round, if that is the next of these checkpoints.

    After the last of them every round is one.
    """
    if checkpoints.size == 0:
        return
    passed = ledger.checkpoints
    if passed == checkpoints.size or checkpoints[passed] == ledger.rounds:
        meter.smallest_at_checkpoints = min(meter.smallest_at_checkpoints, budget)


@lean
def record_point(meter: Meter, regret: float, budget: float, curve: Floats, point: int) -> None:
    """Write down where a run stands, as a row of its curve."""
    curve[point, 0] = regret
    curve[point, 1] = budget
    curve[point, 2] = meter.optimistic
    curve[point, 3] = meter.safe
