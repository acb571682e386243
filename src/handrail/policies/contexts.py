"""The model of the linear algorithms with features that change every round."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import compiled
from handrail.conservative.choice import ACTION, Choice, conclude
from handrail.conservative.ledger import add, record_reward
from handrail.conservative.past import (
    MARTINGALE,
    ORACLE,
    SELF_NORMALISED,
    boundary,
    martingale,
    past_plus_now,
    self_normalised,
)
from handrail.conservative.selection import BASELINE_EVENT
from handrail.estimators.contexts import (
    along_total,
    bound_contexts,
    lanes,
    learn_context,
    load_features,
    rebuild_contexts,
)
from handrail.policies.model import Arrays, OpenRound
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Record, new_record

__all__ = ["ContextModel", "decide_contexts", "reward_contexts"]

REBUILD_EVERY: Final = 1 << 12
"""Rewards after which V^-1 and theta_hat are computed afresh."""


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
        return -1 - bad, BASELINE_EVENT, nan, nan, nan, nan, -1, nan, nan, nan, 0
    work = np.empty((5, width))
    centre, square = work[0], work[1]
    beta = bound_contexts(rules, ledger, columns, inverse, theta, centre, square, work[2], work[3])
    upper, lower, certified = work[2, :actions], work[3, :actions], work[4, :actions]
    past = 0.0
    if rules.past == SELF_NORMALISED:
        product = np.empty(width)
        total_centre, total_square = along_total(inverse, theta, total, columns, product)
        past = self_normalised(rules, total_centre, total_square, beta)
        for a in range(actions):
            certified[a] = self_normalised(
                rules, total_centre + centre[a], total_square + 2.0 * product[a] + square[a], beta
            )
    else:
        if rules.past == MARTINGALE:
            past = martingale(rules, ledger, boundary(rules, ledger.rewards))
        elif rules.past == ORACLE:
            past = ledger.truth + ledger.truth_rest
        past_plus_now(rules, past, lower, truth, certified)
    choice, held = conclude(rules, ledger, upper, lower, certified, past, baseline, mean)
    if not held:
        total += features[choice[ACTION]]
        if rules.past == ORACLE:
            ledger.truth, ledger.truth_rest = add(
                ledger.truth, ledger.truth_rest, truth[choice[ACTION]]
            )
    return choice


@compiled
def reward_contexts(
    rules_: Record,
    ledger_: Record,
    design: Floats,
    inverse: Floats,
    response: Floats,
    theta: Floats,
    rebuild_every: int,
    features: Floats,
    promise: float,
    reward: float,
) -> None:
    """Take a reward into the ledger and the regression, computed afresh now and then."""
    ledger = ledger_[0]
    record_reward(ledger, promise, reward)
    learn_context(ledger, design, inverse, response, theta, features, reward)
    if ledger.rows % rebuild_every == 0:
        log_det = rebuild_contexts(design, response, rules_[0].ridge, inverse, theta)
        if not math.isnan(log_det):
            ledger.log_det = log_det


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
        reward_contexts(
            self.rules,
            self.ledger,
            self.design,
            self.inverse,
            self.response,
            self.theta,
            REBUILD_EVERY,
            open_round.features,
            open_round.promise,
            reward,
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
