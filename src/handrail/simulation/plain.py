"""Runs over fixed arms round by round, without a shortcut, by the policies' own rules.

What the fast engine (`handrail.simulation.arms`, `handrail.simulation.contest`) is checked against.
"""

from __future__ import annotations

import numpy as np

from handrail.compiled import compiled
from handrail.conservative.baseline import FROM_REWARDS
from handrail.conservative.choice import ACTION, EVENT, PROMISE
from handrail.conservative.schedule import arrive
from handrail.environments.rewards import draw
from handrail.estimators.fixed import rebuild_fixed
from handrail.policies.arms import decide_arms, reward_arms
from handrail.policies.fixed import REBUILD_EVERY, decide_fixed, reward_fixed
from handrail.records import Floats, Ints, Record
from handrail.simulation.meter import end_rounds, fixed_budget, observe_checkpoint, record_fixed

__all__ = ["run_arms_plain", "run_fixed_plain"]


@compiled
def run_arms_plain(
    rules_: Record,
    ledger_: Record,
    meter_: Record,
    means: Floats,
    baseline: int,
    kind: int,
    noise: float,
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    grid: Ints,
    curve: Floats,
    actions: Ints,
    halt: Ints,
    below: float,
    above: float,
    checkpoints: Ints,
    assured: Ints,
) -> None:
    """Play one run of a multi-armed algorithm.

    Parameters
    ----------
    rules_, ledger_, meter_, means, baseline, kind, noise, keys, grid, curve, actions, halt
        As for `handrail.simulation.arms.run_arms`.
    below, above : float
        How far the ends of the interval that the policy is told of lie from the baseline's mean:
        0 where it is known.
    checkpoints, assured : numpy.ndarray
        For `handrail.conservative.schedule.arrive`; empty where checkpoints follow from the round.
    """
    ledger = ledger_[0]
    meter = meter_[0]
    mean = means[baseline]
    low, high = max(mean - below, 0.0), min(mean + above, 1.0)
    gone = np.zeros(0, np.int64)
    plays = np.zeros(means.size, np.int64)
    counts = np.zeros(means.size, np.int64)
    sums = np.zeros(means.size)
    stamps = np.full(means.size, -1)
    work = np.empty((3, means.size))
    for point in range(grid.size):
        while ledger.rounds < grid[point]:
            if halt[0] != 0:
                return
            if assured.size > 0:
                arrive(ledger, checkpoints, assured)
            choice = decide_arms(
                rules_,
                ledger_,
                plays,
                counts,
                sums,
                stamps,
                gone,
                means,
                work,
                baseline,
                low,
                high,
            )
            arm = choice[ACTION]
            held = ledger.waiting > 0
            if held or ledger.pending > 0:
                reward = mean
                if not held or rules_[0].learn_baseline == FROM_REWARDS:
                    reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                reward_arms(
                    rules_, ledger_, plays, counts, sums, arm, held, choice[PROMISE], reward
                )
            start = ledger.rounds - 1
            end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], start, actions)
            if assured.size > 0:
                budget = fixed_budget(meter, ledger, plays, means, mean)
                observe_checkpoint(meter, ledger, checkpoints, budget)
        record_fixed(meter, ledger, plays, means, mean, curve, point)


@compiled
def run_fixed_plain(
    rules_: Record,
    ledger_: Record,
    meter_: Record,
    means: Floats,
    baseline: int,
    kind: int,
    noise: float,
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    grid: Ints,
    curve: Floats,
    actions: Ints,
    halt: Ints,
    below: float,
    above: float,
    checkpoints: Ints,
    assured: Ints,
    features: Floats,
) -> None:
    """Play one run of a linear algorithm.

    Parameters
    ----------
    rules_, ledger_, meter_, means, baseline, kind, noise, keys, grid, curve, actions, halt
        As for `handrail.simulation.arms.run_arms`.
    below, above, checkpoints, assured
        As for `run_arms_plain`.
    features : numpy.ndarray
        Phi, (K, d).
    """
    rules = rules_[0]
    ledger = ledger_[0]
    meter = meter_[0]
    mean = means[baseline]
    low, high = max(mean - below, 0.0), min(mean + above, 1.0)
    gone = np.zeros(0, np.int64)
    arms = means.size
    plays = np.zeros(arms, np.int64)
    counts = np.zeros(arms, np.int64)
    sums = np.zeros(arms)
    estimate = np.zeros(arms)
    gram = np.zeros((arms, arms))
    cross = np.zeros(arms)
    floors = np.zeros(arms)
    work = np.empty((3, arms))
    rebuild_fixed(features, rules.ridge, plays, counts, sums, estimate, gram, cross, floors)
    for point in range(grid.size):
        while ledger.rounds < grid[point]:
            if halt[0] != 0:
                return
            if assured.size > 0:
                arrive(ledger, checkpoints, assured)
            choice = decide_fixed(
                rules_,
                ledger_,
                plays,
                counts,
                sums,
                estimate,
                gram,
                cross,
                gone,
                means,
                work,
                baseline,
                low,
                high,
            )
            arm = choice[ACTION]
            held = ledger.waiting > 0
            if held or ledger.pending > 0:
                reward = mean
                if not held or rules_[0].learn_baseline == FROM_REWARDS:
                    reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                reward_fixed(
                    rules_,
                    ledger_,
                    features,
                    plays,
                    counts,
                    sums,
                    estimate,
                    gram,
                    cross,
                    floors,
                    REBUILD_EVERY,
                    arm,
                    held,
                    choice[PROMISE],
                    reward,
                )
            start = ledger.rounds - 1
            end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], start, actions)
            if assured.size > 0:
                budget = fixed_budget(meter, ledger, plays, means, mean)
                observe_checkpoint(meter, ledger, checkpoints, budget)
        record_fixed(meter, ledger, plays, means, mean, curve, point)
