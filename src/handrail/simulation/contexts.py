"""Runs of the linear algorithms with features that change every round.

Rounds come in portions, so that any environment can bring them; every round is decided by the
policies' own `decide_contexts`.
"""

from __future__ import annotations

import numpy as np

from handrail.compiled import compiled
from handrail.conservative.choice import ACTION, EVENT, PROMISE
from handrail.environments.rewards import draw
from handrail.policies.contexts import REBUILD_EVERY, decide_contexts, reward_contexts
from handrail.records import Floats, Ints, Record
from handrail.simulation.meter import count_event, observe_context, record_point

__all__ = ["run_contexts"]


@compiled
def run_contexts(
    rules_: Record,
    ledger_: Record,
    meter_: Record,
    features: Floats,
    means: Floats,
    baselines: Ints,
    kind: int,
    noise: float,
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    grid: Ints,
    curve: Floats,
    actions: Ints,
    design: Floats,
    inverse: Floats,
    response: Floats,
    theta: Floats,
    total: Floats,
) -> None:
    """Play the rounds of one portion, going on from where the ledger stands.

    Parameters
    ----------
    rules_, ledger_, meter_, kind, noise, grid, curve, actions
        As for `handrail.simulation.arms.run_arms`.
    features, means, baselines : numpy.ndarray
        What the rounds bring: (rounds, actions, d), (rounds, actions) and (rounds,).
    keys : numpy.ndarray
        The stream of each action: its reward in round t is number t.
    design, inverse, response, theta, total : numpy.ndarray
        The state of a `handrail.policies.contexts.ContextModel`.
    """
    ledger = ledger_[0]
    meter = meter_[0]
    point = np.searchsorted(grid, ledger.rounds + 1)
    for i in range(len(features)):
        now = ledger.rounds
        mean = means[i, baselines[i]]
        choice = decide_contexts(
            rules_,
            ledger_,
            features[i],
            inverse,
            theta,
            total,
            means[i],
            baselines[i],
            mean,
        )
        action = choice[ACTION]
        if action < 0:
            raise ValueError("features are not finite, or longer than the declared bound")
        if ledger.pending > 0:
            reward = draw(kind, means[i, action], noise, keys[action], now)
            reward_contexts(
                rules_,
                ledger_,
                design,
                inverse,
                response,
                theta,
                REBUILD_EVERY,
                features[i, action],
                choice[PROMISE],
                reward,
            )
        if actions.size > 0:
            actions[now] = action
        count_event(meter, choice[EVENT], 1)
        observe_context(meter, now + 1, means[i, action], means[i].max(), mean)
        if now + 1 == grid[point]:
            record_point(
                meter,
                meter.regret + meter.regret_rest,
                meter.budget + meter.budget_rest,
                curve[point],
            )
            point += 1
