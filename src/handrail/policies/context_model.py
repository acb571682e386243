"""The model of the linear algorithms with features that change every round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handrail.conservative.choice import Choice
from handrail.policies.contexts import decide_contexts, replay_contexts, reward_contexts
from handrail.policies.model import Arrays, OpenRound, rules_of
from handrail.policies.played import Played
from handrail.policies.room import (
    CERTIFIED,
    FORGONE,
    HELD,
    LOWER_ROW,
    ROOM,
    THETA,
    TOTAL,
    UPPER_ROW,
    VECTORS,
)
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, new_record
from handrail.vectors import aligned, padded

__all__ = ["ContextModel"]


def _zeros(*shape: int) -> Floats:
    array = aligned(*shape)
    array.fill(0.0)
    return array


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
        self.gone = np.zeros(0 if features is None else len(features), np.int64)
        self.factor = _zeros(dim, padded(dim))
        np.fill_diagonal(self.factor, 1.0 / math.sqrt(ridge))
        self.vectors = _zeros(VECTORS, padded(dim))
        self.columns = np.empty((dim, 0))
        self.room = np.empty((ROOM + dim, 0))

    def _features(self, given: Round) -> Floats:
        features = given.features if self.features is None else self.features
        assert features is not None
        return features

    def decide(self, given: Round) -> Choice:
        """Choose an action and count the round; a negative action -1 - k says row k is bad."""
        features = self._features(given)
        width = padded(len(features))
        if width != self.room.shape[1]:
            self.columns = aligned(len(self.factor), width)
            self.room = aligned(ROOM + len(self.factor), width)
        return decide_contexts(
            rules_of(self, given),
            self.ledger,
            features,
            self.columns,
            self.factor,
            self.vectors,
            given.truth,
            self.gone,
            given.baseline,
            given.floor,
            given.mean,
            self.room,
        )

    def replay(self, played: Played) -> None:
        """Count a round that was decided before."""
        dim = len(self.factor)
        columns = np.zeros((dim, 2))
        pair = (played.features, played.base)
        if self.features is not None:
            pair = (self.features[played.action], self.features[played.baseline])
        for column, features in enumerate(pair):
            if features is not None:
                columns[:, column] = features
        replay_contexts(
            self.rules,
            self.ledger,
            columns,
            self.vectors,
            played.truth,
            played.held,
            played.floor,
            played.mean,
            played.promise,
        )

    def examined(self, action: int) -> tuple[float, float, float]:
        """Return margin, upper and lower bound of an action, as of the round decided last."""
        upper, lower, certified = self.room[[UPPER_ROW, LOWER_ROW, CERTIFIED], action]
        return float(certified), float(upper), float(lower)

    def chosen(self, given: Round, action: int) -> Floats:
        """Return the action's features: they are gone with the round."""
        return np.array(self._features(given)[action])

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Learn from a reward."""
        assert open_round.features is not None
        reward_contexts(
            self.rules,
            self.ledger,
            self.factor,
            self.vectors,
            open_round.features,
            open_round.held,
            open_round.promise,
            reward,
        )

    def hold_instead(self, features: Floats) -> None:
        """Move the baseline's features of a round from S to S_b, where its mean is learned."""
        self.vectors[FORGONE, : features.size] -= features
        self.vectors[HELD, : features.size] += features

    def forget(self, open_round: OpenRound) -> None:
        """Take a play whose reward never came out of x."""
        features = open_round.features
        if self.rules["confirm"][0] == 0 and features is not None:
            self.vectors[TOTAL, : features.size] -= features

    def grow(self, features: Floats | None) -> None:
        """Take in the features of one more arm; the regression knows no arms."""
        assert self.features is not None
        assert features is not None
        self.features = np.vstack([self.features, features])
        self.gone = np.append(self.gone, 0)

    def arrays(self) -> Arrays:
        """Return all state besides the ledger, as views without the padding."""
        dim = len(self.factor)
        return {
            "gone": self.gone,
            "held": self.vectors[HELD, :dim],
            "forgone": self.vectors[FORGONE, :dim],
            "factor": self.factor[:, :dim],
            "theta": self.vectors[THETA, :dim],
            "total": self.vectors[TOTAL, :dim],
        }
