"""Rounds and rewards of the linear algorithms with features that change every round."""

from __future__ import annotations

import math

from handrail.bounds.ellipsoid import ellipsoid_radius
from handrail.compiled import inlined, lean
from handrail.conservative.baseline import WITHIN
from handrail.conservative.choice import ACTION, Choice, conclude, count_decision
from handrail.conservative.ledger import add, record_earned
from handrail.conservative.past import (
    LARGER,
    NONE,
    ORACLE,
    counts_now,
    current_boundary,
    martingale,
    past_plus_now,
    self_normalised,
    self_normalised_lanes,
    sums_features,
    sums_rewards,
    unconfirmed,
)
from handrail.conservative.selection import BASELINE_EVENT
from handrail.estimators.contexts import (
    bound_contexts,
    learn_context,
    learn_known,
    lengths,
    load_features,
)
from handrail.estimators.factor import inner, whiten
from handrail.policies.model import retire
from handrail.policies.room import (
    CENTRE,
    CERTIFIED,
    FORGONE,
    HELD,
    KEEP,
    LENGTH,
    LOWER_ROW,
    ROOM,
    ROW,
    SQUARE,
    STEP,
    SUM_WHITE,
    THETA,
    TOTAL,
    TURN,
    UPPER_ROW,
    WHITE,
)
from handrail.policies.unknown import certify_unknown
from handrail.records import Floats, Ints, Ledger, Record, Rules

__all__ = [
    "decide_columns",
    "decide_contexts",
    "replay_contexts",
    "reward_columns",
    "reward_contexts",
]


@inlined
def _past(rules: Rules, ledger: Ledger, psi: float) -> float:
    """Return the past bound of S alone, where the ledger knows it."""
    if sums_rewards(rules):
        return martingale(rules, ledger, psi)
    return ledger.truth + ledger.truth_rest if rules.past == ORACLE else 0.0


@inlined
def _certify_sum(
    rules: Rules, ledger: Ledger, factor: Floats, vectors: Floats, room: Floats, beta: float
) -> float:
    """Fill in past_and_now(a) along the summed features; return the bound of S alone."""
    white = vectors[SUM_WHITE]
    whiten(factor, vectors[TOTAL], white)
    lengths(white, room[ROOM:], room[LENGTH])
    centre, square = inner(vectors[THETA], vectors[TOTAL]), inner(white, white)
    self_normalised_lanes(rules, centre, beta, room[CENTRE], room[LENGTH], room[CERTIFIED])
    beside = unconfirmed(rules, ledger)
    alone = self_normalised(rules, centre, square, beta) + beside
    if rules.confirm == 1:
        now = counts_now(rules)
        for lane in range(room.shape[1]):
            room[CERTIFIED, lane] = room[CERTIFIED, lane] + beside if now else alone
    return alone


@inlined
def decide_columns(
    rules_: Record,
    ledger_: Record,
    beta: float,
    psi: float,
    columns: Floats,
    factor: Floats,
    vectors: Floats,
    truth: Floats,
    gone: Ints,
    baseline: int,
    floor: float,
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
    factor, vectors : numpy.ndarray
        The state of a `ContextModel`.
    truth : numpy.ndarray
        The true means, for oracles.
    gone : numpy.ndarray
        1 for each action that was retired; empty if there are none.
    baseline : int
        The baseline's action.
    floor, mean : float
        The baseline's mean lies between them.
    room : numpy.ndarray
        (ROOM + d, lanes).
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
        factor,
        vectors[THETA],
        room[ROOM:],
        room[CENTRE],
        room[SQUARE],
        room[UPPER_ROW],
        room[LOWER_ROW],
    )
    if rules.knowledge == WITHIN:
        beside = unconfirmed(rules, ledger)
        certify_unknown(rules, past, beside, columns, factor, vectors, room, beta, baseline)
        floor, mean = max(lower[baseline], 0.0), min(upper[baseline], 1.0)
    elif rules.past == LARGER:
        along = _certify_sum(rules, ledger, factor, vectors, room, beta)
        now = counts_now(rules)
        for i in range(lower.size):
            certified[i] = max(certified[i], past + (max(lower[i], 0.0) if now else 0.0))
        past = max(past, along)
    elif sums_features(rules):
        past = _certify_sum(rules, ledger, factor, vectors, room, beta)
    elif rules.past != NONE:
        past_plus_now(rules, past, lower, truth, certified)
    retire(gone, upper, certified)
    choice, held = conclude(
        rules, ledger, upper, lower, certified, past, baseline, floor, mean, truth
    )
    action = choice[ACTION]
    mean_of_action = truth[action] if rules.past == ORACLE else 0.0
    _play(rules, ledger, columns, vectors, action, mean_of_action, baseline, held, summed)
    return choice


@inlined
def _play(
    rules: Rules,
    ledger: Ledger,
    columns: Floats,
    vectors: Floats,
    action: int,
    truth: float,
    baseline: int,
    held: bool,
    summed: bool,
) -> None:
    """Add up what past bounds are taken along: features, or true means."""
    if rules.knowledge == WITHIN:
        row = HELD if held else FORGONE
        for i in range(len(columns)):
            vectors[row, i] += columns[i, baseline]
    if not held and (summed or sums_features(rules)) and rules.confirm == 0:
        for i in range(len(columns)):
            vectors[TOTAL, i] += columns[i, action]
    if not held and rules.past == ORACLE:
        ledger.truth, ledger.truth_rest = add(ledger.truth, ledger.truth_rest, truth)


@lean
def replay_contexts(
    rules_: Record,
    ledger_: Record,
    columns: Floats,
    vectors: Floats,
    truth: float,
    held: bool,
    floor: float,
    mean: float,
    promise: float,
) -> None:
    """Count a round that was decided before: the action's features, then the baseline's."""
    count_decision(rules_[0], ledger_[0], floor, mean, held, promise)
    _play(rules_[0], ledger_[0], columns, vectors, 0, truth, 1, held, True)


@inlined
def decide_contexts(
    rules_: Record,
    ledger_: Record,
    features: Floats,
    columns: Floats,
    factor: Floats,
    vectors: Floats,
    truth: Floats,
    gone: Ints,
    baseline: int,
    floor: float,
    mean: float,
    room: Floats,
) -> Choice:
    """Decide a round whose features come in rows; a negative action -1 - k says row k is bad."""
    bad = load_features(features, rules_[0].feature_bound, columns)
    if bad >= 0:
        nan = math.nan
        return -1 - bad, BASELINE_EVENT, nan, nan, nan, nan, -1, nan, nan, nan, 0, nan, nan
    actions = len(features)
    rules = rules_[0]
    ledger = ledger_[0]
    beta = ellipsoid_radius(rules, ledger)
    psi = current_boundary(rules, ledger)
    return decide_columns(
        rules_,
        ledger_,
        beta,
        psi,
        columns,
        factor,
        vectors,
        truth,
        gone,
        baseline,
        floor,
        mean,
        room,
        room[UPPER_ROW, :actions],
        room[LOWER_ROW, :actions],
        room[CERTIFIED, :actions],
        True,
    )


@inlined
def reward_contexts(
    rules_: Record,
    ledger_: Record,
    factor: Floats,
    vectors: Floats,
    features: Floats,
    held: bool,
    promise: float,
    reward: float,
) -> None:
    """Take a reward into the ledger and the regression."""
    ledger = ledger_[0]
    record_earned(ledger, held, promise, reward)
    row = vectors[ROW]
    for i in range(features.size):
        row[i] = features[i]
    if rules_[0].confirm == 1 and not held:
        for i in range(features.size):
            vectors[TOTAL, i] += features[i]
    learn_context(
        ledger,
        factor,
        vectors[THETA],
        row,
        vectors[WHITE],
        vectors[KEEP],
        vectors[TURN],
        vectors[STEP],
        reward,
    )


@inlined
def reward_columns(
    rules_: Record,
    ledger_: Record,
    factor: Floats,
    vectors: Floats,
    room: Floats,
    action: int,
    held: bool,
    promise: float,
    reward: float,
) -> None:
    """Take the reward of the round that was decided last.

    Does what `reward_contexts` does, with what `decide_columns` left in the room.
    """
    ledger = ledger_[0]
    record_earned(ledger, held, promise, reward)
    white = vectors[WHITE]
    for i in range(len(factor)):
        white[i] = room[ROOM + i, action]
    learn_known(
        rules_[0],
        ledger,
        factor,
        vectors[THETA],
        white,
        vectors[KEEP],
        vectors[TURN],
        vectors[STEP],
        reward,
        room[CENTRE, action],
    )
