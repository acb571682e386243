"""Runs over fixed arms round by round, without a shortcut, by the policies' own rules.

What the fast engine (`handrail.simulation.arms`, `handrail.simulation.contest`) is checked against.
"""

from __future__ import annotations

import numpy as np

from handrail.compiled import compiled
from handrail.conservative.choice import ACTION, EVENT, PROMISE
from handrail.environments.rewards import draw
from handrail.estimators.fixed import rebuild_fixed
from handrail.policies.arms import decide_arms, reward_arms
from handrail.policies.fixed import REBUILD_EVERY, decide_fixed, reward_fixed
from handrail.records import Floats, Ints, Record
from handrail.simulation.meter import end_rounds, record_fixed

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
) -> None:
    """Play one run of a multi-armed algorithm; see `handrail.simulation.arms.run_arms`."""
    ledger = ledger_[0]
    meter = meter_[0]
    mean = means[baseline]
    plays = np.zeros(means.size, np.int64)
    counts = np.zeros(means.size, np.int64)
    sums = np.zeros(means.size)
    work = np.empty((3, means.size))
    for point in range(grid.size):
        while ledger.rounds < grid[point]:
            if halt[0] != 0:
                return
            choice = decide_arms(rules_, ledger_, plays, counts, sums, means, work, baseline, mean)
            arm = choice[ACTION]
            if ledger.pending > 0:
                reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                reward_arms(ledger_, counts, sums, arm, choice[PROMISE], reward)
            start = ledger.rounds - 1
            end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], start, actions)
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
    features: Floats,
) -> None:
    """Play one run of a linear algorithm.

    Parameters
    ----------
    rules_, ledger_, meter_, means, baseline, kind, noise, keys, grid, curve, actions, halt
        As for `handrail.simulation.arms.run_arms`.
    features : numpy.ndarray
        Phi, (K, d).
    """
    rules = rules_[0]
    ledger = ledger_[0]
    meter = meter_[0]
    mean = means[baseline]
    arms = means.size
    plays = np.zeros(arms, np.int64)
    counts = np.zeros(arms, np.int64)
    sums = np.zeros(arms)
    estimate = np.zeros(arms)
    gram = np.zeros((arms, arms))
    cross = np.zeros(arms)
    work = np.empty((3, arms))
    rebuild_fixed(features, rules.ridge, plays, counts, sums, estimate, gram, cross)
    for point in range(grid.size):
        while ledger.rounds < grid[point]:
            if halt[0] != 0:
                return
            choice = decide_fixed(
                rules_, ledger_, plays, estimate, gram, cross, means, work, baseline, mean
            )
            arm = choice[ACTION]
            if ledger.pending > 0:
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
                    REBUILD_EVERY,
                    arm,
                    choice[PROMISE],
                    reward,
                )
            start = ledger.rounds - 1
            end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], start, actions)
        record_fixed(meter, ledger, plays, means, mean, curve, point)
