"""The model of the linear algorithms with features that change every round."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handrail.bounds.ellipsoid import ellipsoid_radius
from handrail.compiled import compiled, inlined
from handrail.conservative.choice import ACTION, Choice, conclude
from handrail.conservative.ledger import add, record_reward
from handrail.conservative.past import (
    MARTINGALE,
    NONE,
    ORACLE,
    SELF_NORMALISED,
    boundary,
    martingale,
    past_plus_now,
    self_normalised,
    self_normalised_lanes,
)
from handrail.conservative.selection import BASELINE_EVENT
from handrail.estimators.contexts import (
    WAITING,
    along_total,
    bound_contexts,
    complete_design,
    follow_total,
    learn_context,
    learn_known,
    load_features,
    multiply,
    rebuild_contexts,
)
from handrail.policies.model import Arrays, OpenRound
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Ledger, Record, Rules, new_record
from handrail.vectors import aligned, padded

__all__ = [
    "CERTIFIED",
    "LOWER_ROW",
    "ROOM",
    "UPPER_ROW",
    "ContextModel",
    "decide_columns",
    "decide_contexts",
    "refresh",
    "reward_columns",
    "reward_contexts",
]

REBUILD_EVERY: Final = 1 << 12
"""Rewards after which V^-1 and theta_hat are computed afresh."""

CENTRE, SQUARE, UPPER_ROW, LOWER_ROW, CERTIFIED, PRODUCT = range(6)
"""What the rows of the room for a round hold: one number for each lane."""
ROOM: Final = 6

THETA, RESPONSE, TOTAL, WEIGHED, STEP = range(5)
"""What the rows of a model's vectors hold: TOTAL is x, the features summed over S, and WEIGHED is
V^-1 x, not always up to date; the last is room for a computation."""
VECTORS: Final = 5


@inlined
def _past(rules: Rules, ledger: Ledger, psi: float) -> float:
    """Return the past bound of S alone, where the ledger knows it."""
    if rules.past == MARTINGALE:
        return martingale(rules, ledger, psi)
    return ledger.truth + ledger.truth_rest if rules.past == ORACLE else 0.0


@inlined
def _certify_sum(
    rules: Rules, columns: Floats, vectors: Floats, room: Floats, beta: float
) -> float:
    """Fill in past_and_now(a) along the summed features; return the bound of S alone."""
    centre, square = along_total(
        vectors[THETA], vectors[TOTAL], vectors[WEIGHED], columns, room[PRODUCT]
    )
    self_normalised_lanes(
        rules,
        centre,
        square,
        beta,
        room[CENTRE],
        room[SQUARE],
        room[PRODUCT],
        room[CERTIFIED],
    )
    return self_normalised(rules, centre, square, beta)


@inlined
def decide_columns(
    rules_: Record,
    ledger_: Record,
    beta: float,
    psi: float,
    columns: Floats,
    inverse: Floats,
    vectors: Floats,
    truth: Floats,
    baseline: int,
    mean: float,
    room: Floats,
    upper: Floats,
    lower: Floats,
    certified: Floats,
    summed: bool,
) -> Choice:
    """Decide one round over contexts and count it.

    Parameters
    ----------
    rules_, ledger_ : numpy.ndarray
        The records.
    beta, psi : float
        The ellipsoid's radius, and the boundary of the rewards if the past is a martingale.
    columns : numpy.ndarray
        The features, as `load_features` fills them in.
    inverse, vectors : numpy.ndarray
        The state of a `ContextModel`; V^-1 x up to date if the past is self-normalised.
    truth : numpy.ndarray
        The true means, for oracles.
    baseline : int
        The baseline's action.
    mean : float
        The baseline's mean.
    room : numpy.ndarray
        (ROOM, lanes).
    upper, lower, certified : numpy.ndarray
        Of its rows of these names what belongs to actions.
    summed : bool
        Whether features are summed for every algorithm; only self-normalised ones ask for the sum.

    Returns
    -------
    tuple
        The choice.
    """
    rules = rules_[0]
    ledger = ledger_[0]
    past = _past(rules, ledger, psi)
    bound_contexts(
        beta,
        columns,
        inverse,
        vectors[THETA],
        room[CENTRE],
        room[SQUARE],
        room[UPPER_ROW],
        room[LOWER_ROW],
    )
    if rules.past == SELF_NORMALISED:
        past = _certify_sum(rules, columns, vectors, room, beta)
    elif rules.past != NONE:
        past_plus_now(rules, past, lower, truth, certified)
    choice, held = conclude(rules, ledger, upper, lower, certified, past, baseline, mean)
    if not held:
        action = choice[ACTION]
        if summed or rules.past == SELF_NORMALISED:
            for i in range(len(columns)):
                vectors[TOTAL, i] += columns[i, action]
        if rules.past == ORACLE:
            ledger.truth, ledger.truth_rest = add(ledger.truth, ledger.truth_rest, truth[action])
    return choice


@inlined
def decide_contexts(
    rules_: Record,
    ledger_: Record,
    features: Floats,
    columns: Floats,
    inverse: Floats,
    vectors: Floats,
    truth: Floats,
    baseline: int,
    mean: float,
    room: Floats,
) -> Choice:
    """Decide a round whose features come in rows; a negative action -1 - k says row k is bad."""
    bad = load_features(features, rules_[0].feature_bound, columns)
    if bad >= 0:
        nan = math.nan
        return -1 - bad, BASELINE_EVENT, nan, nan, nan, nan, -1, nan, nan, nan, 0
    actions = len(features)
    rules = rules_[0]
    ledger = ledger_[0]
    beta = ellipsoid_radius(rules, ledger)
    psi = boundary(rules, ledger.rewards) if rules.past == MARTINGALE else 0.0
    if rules.past == SELF_NORMALISED:
        multiply(inverse, vectors[TOTAL], vectors[WEIGHED])
    return decide_columns(
        rules_,
        ledger_,
        beta,
        psi,
        columns,
        inverse,
        vectors,
        truth,
        baseline,
        mean,
        room,
        room[UPPER_ROW, :actions],
        room[LOWER_ROW, :actions],
        room[CERTIFIED, :actions],
        True,
    )


@inlined
def reward_contexts(
    ledger_: Record,
    design: Floats,
    rows: Floats,
    inverse: Floats,
    vectors: Floats,
    rebuild_every: int,
    features: Floats,
    promise: float,
    reward: float,
) -> bool:
    """Take a reward into the ledger and the regression; say whether it is time to `refresh`."""
    ledger = ledger_[0]
    record_reward(ledger, promise, reward)
    response, theta, step = vectors[RESPONSE], vectors[THETA], vectors[STEP]
    learn_context(ledger, design, rows, inverse, response, theta, step, features, reward)
    return bool(ledger.rows % rebuild_every == 0)


@inlined
def reward_columns(
    rules_: Record,
    ledger_: Record,
    columns: Floats,
    design: Floats,
    rows: Floats,
    inverse: Floats,
    vectors: Floats,
    room: Floats,
    action: int,
    promise: float,
    reward: float,
) -> bool:
    """Take the reward of the round that was decided last; say whether it is time to `refresh`.

    Does what `reward_contexts` does, with what `decide_columns` left in the room, and keeps V^-1 x
    up to date.
    """
    ledger = ledger_[0]
    record_reward(ledger, promise, reward)
    square = room[SQUARE, action]
    learn_known(
        rules_[0],
        ledger,
        design,
        rows,
        inverse,
        vectors[RESPONSE],
        vectors[THETA],
        vectors[STEP],
        columns[:, action],
        reward,
        square,
        room[CENTRE, action],
    )
    if rules_[0].past == SELF_NORMALISED:
        follow_total(square, room[PRODUCT, action], vectors[STEP], vectors[WEIGHED])
    return bool(ledger.rows % REBUILD_EVERY == 0)


@compiled
def refresh(
    rules_: Record, ledger_: Record, design: Floats, rows: Floats, inverse: Floats, vectors: Floats
) -> None:
    """Compute V^-1, theta_hat and V^-1 x afresh."""
    complete_design(design, rows)
    ridge = rules_[0].ridge
    log_det = rebuild_contexts(design, vectors[RESPONSE], ridge, inverse, vectors[THETA])
    if not math.isnan(log_det):
        ledger_[0].log_det = log_det
        multiply(inverse, vectors[TOTAL], vectors[WEIGHED])


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
        self.design = _zeros(dim, padded(dim))
        self.inverse = _zeros(dim, padded(dim))
        np.fill_diagonal(self.design, ridge)
        np.fill_diagonal(self.inverse, 1.0 / ridge)
        self.rows = _zeros(WAITING, padded(dim))
        self.vectors = _zeros(VECTORS, padded(dim))
        self.columns = np.empty((dim, 0))
        self.room = np.empty((ROOM, 0))

    def _features(self, given: Round) -> Floats:
        features = given.features if self.features is None else self.features
        assert features is not None
        return features

    def decide(self, given: Round) -> Choice:
        """Choose an action and count the round; a negative action -1 - k says row k is bad."""
        features = self._features(given)
        width = padded(len(features))
        if width != self.room.shape[1]:
            self.columns = aligned(len(self.inverse), width)
            self.room = aligned(ROOM, width)
        return decide_contexts(
            self.rules,
            self.ledger,
            features,
            self.columns,
            self.inverse,
            self.vectors,
            given.truth,
            given.baseline,
            given.mean,
            self.room,
        )

    def chosen(self, given: Round, action: int) -> Floats:
        """Return the action's features: they are gone with the round."""
        return np.array(self._features(given)[action])

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Learn from a reward."""
        assert open_round.features is not None
        state = (self.design, self.rows, self.inverse, self.vectors)
        if reward_contexts(
            self.ledger, *state, REBUILD_EVERY, open_round.features, open_round.promise, reward
        ):
            refresh(self.rules, self.ledger, *state)

    def arrays(self) -> Arrays:
        """Return all state besides the ledger, as views without the padding."""
        complete_design(self.design, self.rows)
        dim = len(self.design)
        return {
            "design": self.design[:, :dim],
            "inverse": self.inverse[:, :dim],
            "response": self.vectors[RESPONSE, :dim],
            "theta": self.vectors[THETA, :dim],
            "total": self.vectors[TOTAL, :dim],
        }
