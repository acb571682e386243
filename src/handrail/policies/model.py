"""What a policy asks of its model: one round, one reward, one round given up, its arrays."""

from __future__ import annotations

import copy
import math
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import compiled, lean
from handrail.conservative.choice import Choice
from handrail.conservative.ledger import (
    record_choice,
    record_missed,
    record_row,
    record_waived,
)
from handrail.conservative.selection import HOLD
from handrail.policies.played import Instead, Played
from handrail.policies.rounds import Round
from handrail.records import Floats, Ints, Record

__all__ = [
    "Arrays",
    "Fallen",
    "Model",
    "OpenRound",
    "choose_baseline",
    "copy_model",
    "count_row",
    "retire",
    "rules_of",
    "waive",
]

Arrays = dict[str, NDArray[Any]]
Fallen = Literal["", "baseline", "choice"]
"""What a reported fallback made of a round: nothing yet, a baseline round, or one that stays in S
because the caller's choice may depend on the user."""


class OpenRound:
    """A round that waits for its reward."""

    __slots__ = (
        "action",
        "closed",
        "fallen",
        "features",
        "held",
        "instead",
        "promise",
        "reward",
        "round",
        "said",
        "token",
    )

    def __init__(
        self,
        number: int,
        action: int,
        held: bool,
        promise: float,
        features: Floats | None,
        token: str,
    ) -> None:
        self.round = number
        self.action = action
        self.held = held
        """Whether it is a baseline round, which is learned from but is no part of S."""
        self.promise = promise
        self.features = features
        self.token = token
        self.reward: float | None = None
        self.closed = False
        self.said = False
        """Whether its action was said to be played."""
        self.fallen: Fallen = ""
        self.instead: Instead | None = None
        """Its baseline, where that may have been played."""

    def copy(self) -> OpenRound:
        """Return a copy that can be settled apart; the features are never written to."""
        twin = OpenRound(
            self.round, self.action, self.held, self.promise, self.features, self.token
        )
        twin.reward, twin.closed, twin.said = self.reward, self.closed, self.said
        twin.fallen, twin.instead = self.fallen, self.instead
        return twin


class Model(Protocol):
    """An estimator with its ledger, as arrays that compiled rules work on."""

    rules: NDArray[Any]
    ledger: NDArray[Any]
    gone: NDArray[np.int64]
    """1 for each fixed arm that was retired."""
    keeps_features: bool
    """Whether a round's features must be kept until its reward comes."""

    def decide(self, given: Round) -> Choice:
        """Choose an action and count the round."""

    def replay(self, played: Played) -> None:
        """Count a round that was decided before."""

    def examined(self, action: int) -> tuple[float, float, float]:
        """Return margin, upper and lower bound of an action, as of the round decided last."""

    def chosen(self, given: Round, action: int) -> Floats | None:
        """Return the features to be kept of an action, if any."""

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Learn from a reward."""

    def forget(self, open_round: OpenRound) -> None:
        """Take a play whose reward never came out of N_k and x, where it was counted at once."""

    def grow(self, features: Floats | None) -> None:
        """Make room for one more fixed arm."""

    def arrays(self) -> Arrays:
        """Return all state besides the ledger, by name."""


def copy_model(model: Model) -> Model:
    """Return a model that goes its own way from here and shares nothing that is written to."""
    twin = copy.copy(model)
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and name not in ("rules", "features"):
            setattr(twin, name, value.copy())
    return twin


def rules_of(model: Model, given: Round) -> Record:
    """Return the rules of a round: those agreed on, or their twin that holds the baseline."""
    if not given.hold:
        return model.rules
    twin = model.rules.copy()
    twin["selection"] = HOLD
    return twin


@compiled
def waive(ledger_: Record, held: bool, promise: float) -> None:
    """Close a round without a reward, whatever the model: its promise stays for good."""
    if held:
        record_missed(ledger_[0])
    else:
        record_waived(ledger_[0], promise)


@compiled
def count_row(ledger_: Record, promise: float, reward: float) -> None:
    """Sum a reward that no estimator learns from."""
    record_row(ledger_[0], promise, reward)


@compiled
def choose_baseline(ledger_: Record, promise: float) -> None:
    """Let a round stay in S, without a promise: the caller chose the baseline."""
    record_choice(ledger_[0], promise)


@lean
def retire(gone: Ints, upper: Floats, certified: Floats) -> None:
    """Keep retired arms from being selected; their lower bounds still count for the past."""
    for arm in range(gone.size):
        if gone[arm] == 1:
            upper[arm] = -math.inf
            certified[arm] = -math.inf
