"""Runs of the linear algorithms over fixed arms, in arm space.

Every round is decided by the policies' own `decide_fixed`. While the baseline is played nothing
that was learned moves, so the fast path goes on from one baseline round to the next by a single
comparison; it is made on the same floating-point numbers as in the plain path.
"""

from __future__ import annotations

import numpy as np

from handrail.compiled import compiled
from handrail.conservative.choice import ACTION, EVENT, PROMISE, would_be_safe
from handrail.conservative.ledger import record_decision
from handrail.conservative.selection import awaited
from handrail.environments.rewards import draw
from handrail.estimators.fixed import rebuild_fixed
from handrail.policies.fixed import REBUILD_EVERY, certify_fixed, decide_fixed, reward_fixed
from handrail.records import Floats, Ints, Record
from handrail.simulation.meter import PATIENCE, end_rounds, record_fixed

__all__ = ["run_fixed"]


@compiled
def run_fixed(
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
    shortcuts: bool,
) -> None:
    """Play one run.

    Parameters
    ----------
    rules_, ledger_, meter_, means, baseline, kind, noise, keys, grid, curve, actions, halt
        As for `handrail.simulation.arms.run_arms`.
    features : numpy.ndarray
        Phi, (K, d).
    shortcuts : bool
        Whether baseline rounds that follow one another are decided by one comparison each.
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
        stop = grid[point]
        while ledger.rounds < stop:
            if halt[0] != 0:
                return
            start = ledger.rounds
            limit = min(stop, start + PATIENCE)
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
            elif shortcuts and ledger.rounds < limit:
                certify_fixed(rules, ledger, plays, estimate, gram, cross, means, work)
                top = awaited(rules.selection, work[0], work[1], work[2], baseline, mean)
                while ledger.rounds < limit and not would_be_safe(rules, ledger, top, mean):
                    record_decision(ledger, mean, True, 0.0)
            end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], start, actions)
        record_fixed(meter, ledger, plays, means, mean, curve[point])
