"""The model of the linear algorithms with features that change every round."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import compiled
from handrail.conservative.choice import Choice, conclude
from handrail.conservative.ledger import add, record_reward
from handrail.conservative.past import (
    MARTINGALE,
    ORACLE,
    SELF_NORMALISED,
    martingale,
    past_plus_now,
    self_normalised,
)
from handrail.conservative.selection import BASELINE_EVENT
from handrail.estimators.contexts import (
    bound_contexts,
    lanes,
    learn_context,
    load_features,
    multiply,
    rebuild_contexts,
)
from handrail.policies.model import Arrays, OpenRound
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Record, new_record

__all__ = ["ContextModel", "decide_contexts", "reward_contexts"]

_REBUILD_EVERY: Final = 1 << 12
"""Rewards after which V^-1 is computed afresh; at d = 100 that costs 1 % of the updates between."""


@compiled
def decide_contexts(
    rules_: Record,
    ledger_: Record,
    features: Floats,
    inverse: Floats,
    theta: Floats,
    total: Floats,
    truth: Floats,
    baseline: int,
    mean: float,
) -> Choice:
    """Decide one round over contexts and count it; a negative action -1 - k says row k is bad."""
    rules = rules_[0]
    ledger = ledger_[0]
    actions, dim = features.shape
    width = lanes(actions)
    columns = np.empty((dim, width))
    bad = load_features(features, rules.feature_bound, columns)
    if bad >= 0:
        nan = math.nan
        return (-1 - bad, BASELINE_EVENT, nan, nan, nan, -1, nan, nan, nan, 0)
    work = np.empty((5, width))
    centre, square = work[0], work[1]
    beta = bound_contexts(rules, ledger, columns, inverse, theta, centre, square, work[2], work[3])
    upper, lower, certified = work[2, :actions], work[3, :actions], work[4, :actions]
    past = 0.0
    if rules.past == SELF_NORMALISED:
        along = np.empty(dim)
        multiply(inverse, total, along)
        total_centre = 0.0
        total_square = 0.0
        for i in range(dim):
            total_centre += theta[i] * total[i]
            total_square += along[i] * total[i]
        past = self_normalised(rules, total_centre, total_square, beta)
        product = np.zeros(actions)
        for i in range(dim):
            for a in range(actions):
                product[a] += along[i] * columns[i, a]
        for a in range(actions):
            certified[a] = self_normalised(
                rules, total_centre + centre[a], total_square + 2.0 * product[a] + square[a], beta
            )
    else:
        if rules.past == MARTINGALE:
            past = martingale(rules, ledger)
        elif rules.past == ORACLE:
            past = ledger.truth + ledger.truth_rest
        past_plus_now(rules, past, lower, truth, certified)
    choice, held = conclude(rules, ledger, upper, lower, certified, past, baseline, mean)
    if not held:
        total += features[choice[0]]
        if rules.past == ORACLE:
            ledger.truth, ledger.truth_rest = add(ledger.truth, ledger.truth_rest, truth[choice[0]])
    return choice


@compiled
def reward_contexts(
    ledger_: Record,
    design: Floats,
    inverse: Floats,
    response: Floats,
    theta: Floats,
    features: Floats,
    promise: float,
    reward: float,
) -> int:
    """Take a reward into the ledger and the regression; return the rows learned so far."""
    ledger = ledger_[0]
    record_reward(ledger, promise, reward)
    learn_context(ledger, design, inverse, response, theta, features, reward)
    return int(ledger.rows)


class ContextModel:
    """Ridge regression in the space of the features.

    Parameters
    ----------
    rules : numpy.ndarray
        What was agreed.
    features : numpy.ndarray, optional
        Phi, where the arms are fixed but too many for arm space.
    """

    keeps_features = True

    def __init__(self, rules: NDArray[Any], features: Floats | None = None) -> None:
        dim = int(rules["dim"][0])
        ridge = float(rules["ridge"][0])
        self.rules = rules
        self.ledger = new_record(LEDGER)
        self.features = features
        self.design = ridge * np.eye(dim)
        self.inverse = np.eye(dim) / ridge
        self.response = np.zeros(dim)
        self.theta = np.zeros(dim)
        self.total = np.zeros(dim)

    def _features(self, given: Round) -> Floats:
        features = given.features if self.features is None else self.features
        assert features is not None
        return features

    def decide(self, given: Round) -> Choice:
        """Choose an action and count the round; a negative action -1 - k says row k is bad."""
        return decide_contexts(
            self.rules,
            self.ledger,
            self._features(given),
            self.inverse,
            self.theta,
            self.total,
            given.truth,
            given.baseline,
            given.mean,
        )

    def chosen(self, given: Round, action: int) -> Floats:
        """Return the action's features: they are gone with the round."""
        return np.array(self._features(given)[action])

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Learn from a reward."""
        assert open_round.features is not None
        rows = reward_contexts(
            self.ledger,
            self.design,
            self.inverse,
            self.response,
            self.theta,
            open_round.features,
            open_round.promise,
            reward,
        )
        if rows % _REBUILD_EVERY == 0:
            self.ledger["log_det"][0] = rebuild_contexts(
                self.design,
                self.response,
                float(self.rules["ridge"][0]),
                self.inverse,
                self.theta,
            )

    def arrays(self) -> Arrays:
        """Return all state besides the ledger."""
        return {
            "design": self.design,
            "inverse": self.inverse,
            "response": self.response,
            "theta": self.theta,
            "total": self.total,
        }
