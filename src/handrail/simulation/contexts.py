"""Runs of the linear algorithms with features that change every round.

Rounds come in portions, so that any environment can bring them; every round is decided by the
policies' own `decide_columns`.
"""

from __future__ import annotations

import numpy as np

from handrail.bounds.cumulative import BERNSTEIN
from handrail.compiled import compiled
from handrail.conservative.baseline import FROM_REWARDS
from handrail.conservative.choice import ACTION, EVENT, PROMISE
from handrail.conservative.past import current_boundary, sums_rewards
from handrail.conservative.schedule import arrive
from handrail.environments.rewards import draw
from handrail.estimators.contexts import load_features
from handrail.policies.contexts import decide_columns, reward_columns
from handrail.policies.room import CERTIFIED, LOWER_ROW, UPPER_ROW
from handrail.records import Floats, Ints, Record
from handrail.simulation.meter import count_event, observe_checkpoint, observe_context, record_point
from handrail.simulation.radii import tabulated_psi, tabulated_radius

__all__ = ["load_rounds", "run_contexts"]


@compiled
def load_rounds(
    features: Floats, means: Floats, bound: float, columns: Floats, best: Floats
) -> None:
    """Turn the features of some rounds into columns, and find the best mean of each.

    Parameters
    ----------
    features, means : numpy.ndarray
        (rounds, actions, d) and (rounds, actions).
    bound : float
        D >= |phi|.
    columns, best : numpy.ndarray
        Where the results are put, (rounds, d, lanes) and (rounds,).
    """
    for i in range(len(features)):
        if load_features(features[i], bound, columns[i]) >= 0:
            raise ValueError("features are not finite, or longer than the declared bound")
        best[i] = means[i].max()


@compiled
def run_contexts(
    rules_: Record,
    ledger_: Record,
    meter_: Record,
    columns: Floats,
    means: Floats,
    best: Floats,
    baselines: Ints,
    kind: int,
    noise: float,
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    grid: Ints,
    curve: Floats,
    actions: Ints,
    radii: Floats,
    boundaries: Floats,
    room: Floats,
    factor: Floats,
    vectors: Floats,
    below: float,
    above: float,
    checkpoints: Ints,
    assured: Ints,
) -> None:
    """Play the rounds of one portion, going on from where the ledger stands.

    Parameters
    ----------
    rules_, ledger_, meter_, kind, noise, grid, curve, actions
        As for `handrail.simulation.arms.run_arms`.
    columns, means, best, baselines : numpy.ndarray
        What the rounds bring, and what `load_rounds` makes of it.
    keys : numpy.ndarray
        The stream of each action: its reward in round t is number t.
    radii, boundaries : numpy.ndarray
        From `handrail.simulation.radii.tabulate_radii`, as far as they are tabulated.
    room : numpy.ndarray
        (ROOM + d, lanes).
    factor, vectors : numpy.ndarray
        The state of a `handrail.policies.context_model.ContextModel`.
    below, above, checkpoints, assured
        As for `handrail.simulation.plain.run_arms_plain`.
    """
    rules = rules_[0]
    ledger = ledger_[0]
    meter = meter_[0]
    count = means.shape[1]
    upper, lower = room[UPPER_ROW, :count], room[LOWER_ROW, :count]
    certified = room[CERTIFIED, :count]
    gone = checkpoints[:0]  # nobody is retired
    varied = rules.cumulative == BERNSTEIN
    bounded = sums_rewards(rules) and not varied
    point = 0
    while grid[point] <= ledger.rounds:
        point += 1
    for i in range(len(columns)):
        now = ledger.rounds
        mean = means[i, baselines[i]]
        psi = current_boundary(rules, ledger) if varied else 0.0
        if bounded:
            psi = tabulated_psi(rules, boundaries, ledger.rewards)
        if assured.size > 0:
            arrive(ledger, checkpoints, assured)
        choice = decide_columns(
            rules_,
            ledger_,
            tabulated_radius(rules, radii, ledger.rows, ledger.log_det),
            psi,
            columns[i],
            factor,
            vectors,
            means[i],
            gone,
            baselines[i],
            max(mean - below, 0.0),
            min(mean + above, 1.0),
            room,
            upper,
            lower,
            certified,
            False,
        )
        action = choice[ACTION]
        if ledger.pending > 0 or ledger.waiting > 0:
            reward = mean
            if ledger.pending > 0 or rules.learn_baseline == FROM_REWARDS:
                reward = draw(kind, means[i, action], noise, keys[action], now)
            reward_columns(
                rules_,
                ledger_,
                factor,
                vectors,
                room,
                action,
                ledger.waiting > 0,
                choice[PROMISE],
                reward,
            )
        if actions.size > 0:
            actions[now] = action
        count_event(meter, choice[EVENT], 1)
        observe_context(meter, now + 1, means[i, action], best[i], mean)
        observe_checkpoint(meter, ledger, checkpoints, meter.budget + meter.budget_rest)
        if now + 1 == grid[point]:
            record_point(
                meter,
                meter.regret + meter.regret_rest,
                meter.budget + meter.budget_rest,
                curve,
                point,
            )
            point += 1
