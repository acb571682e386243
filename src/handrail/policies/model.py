"""What a policy asks of its model: one round, one reward, one round given up, its arrays."""

from __future__ import annotations

import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import compiled
from handrail.conservative.choice import Choice
from handrail.conservative.ledger import record_waived
from handrail.policies.rounds import Round
from handrail.records import Floats, Record

__all__ = ["Arrays", "Model", "OpenRound", "copy_model", "waive"]

Arrays = dict[str, NDArray[Any]]


class OpenRound:
    """A round that waits for its reward."""

    __slots__ = ("action", "closed", "features", "promise", "reward", "round", "token")

    def __init__(
        self, number: int, action: int, promise: float, features: Floats | None, token: str
    ) -> None:
        self.round = number
        self.action = action
        self.promise = promise
        self.features = features
        self.token = token
        self.reward: float | None = None
        self.closed = False

    def copy(self) -> OpenRound:
        """Return a copy that can be settled apart; the features are never written to."""
        twin = OpenRound(self.round, self.action, self.promise, self.features, self.token)
        twin.reward, twin.closed = self.reward, self.closed
        return twin


class Model(Protocol):
    """An estimator with its ledger, as arrays that compiled rules work on."""

    rules: NDArray[Any]
    ledger: NDArray[Any]
    keeps_features: bool
    """Whether a round's features must be kept until its reward comes."""

    def decide(self, given: Round) -> Choice:
        """Choose an action and count the round."""

    def chosen(self, given: Round, action: int) -> Floats | None:
        """Return the features to be kept of an action, if any."""

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Learn from a reward."""

    def arrays(self) -> Arrays:
        """Return all state besides the ledger, by name."""


def copy_model(model: Model) -> Model:
    """Return a model that goes its own way from here and shares nothing that is written to."""
    twin = copy.copy(model)
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and name not in ("rules", "features"):
            setattr(twin, name, value.copy())
    return twin


@compiled
def waive(ledger_: Record, promise: float) -> None:
    """Close a round without a reward, whatever the model: its promise stays for good."""
    record_waived(ledger_[0], promise)
