"""Margins over contexts where the model learns the baseline's mean as well."""

from __future__ import annotations

import math

from handrail.compiled import inlined
from handrail.conservative.past import MARTINGALE, SELF_NORMALISED, bound_lanes, counts_now
from handrail.estimators.contexts import lengths
from handrail.estimators.factor import inner, whiten
from handrail.policies.room import (
    CENTRE,
    CERTIFIED,
    FORGONE,
    HELD,
    LENGTH,
    ROOM,
    SPARE,
    SUM,
    SUM_WHITE,
    THETA,
    TOTAL,
)
from handrail.records import Floats, Rules

__all__ = ["certify_unknown"]


@inlined
def _certify_along(
    rules: Rules,
    factor: Floats,
    vectors: Floats,
    room: Floats,
    beta: float,
    baseline: int,
    row: int,
) -> None:
    """Fill in the lower bound of <theta, SUM + phi> of every lane; without phi if it may be lost.

    A round of the baseline is not lost: it counts its features.
    """
    whiten(factor, vectors[SUM], vectors[SUM_WHITE])
    lengths(vectors[SUM_WHITE], room[ROOM:], room[LENGTH])
    centre = inner(vectors[THETA], vectors[SUM])
    bound_lanes(centre, beta, room[CENTRE], room[LENGTH], -math.inf, room[row])
    if not counts_now(rules):
        square = inner(vectors[SUM_WHITE], vectors[SUM_WHITE])
        for lane in range(room.shape[1]):
            if lane != baseline:
                room[row, lane] = centre - beta * math.sqrt(square)


@inlined
def certify_unknown(
    rules: Rules,
    earned: float,
    beside: float,
    columns: Floats,
    factor: Floats,
    vectors: Floats,
    room: Floats,
    beta: float,
    baseline: int,
) -> None:
    """Fill in every action's certified margin, without slack.

    Notes
    -----
    With w = alpha sum_{S_b} phi_b - (1 - alpha) (sum_S phi_b + phi_b(t)) the budget of playing a
    is <theta, x + w + phi_a>, x the features summed over S; the ellipsoid bounds it from below.
    Or the rewards of S less psi (earned) stand for <theta, x>, and the ellipsoid bounds
    <theta, w + phi_a>. Both are differences: neither is cut at 0. `larger` takes the larger of the
    two. Rounds that are not confirmed are no part of x; what they promise stands beside it.
    """
    keep = 1.0 - rules.alpha
    for i in range(len(columns)):
        given_up = vectors[FORGONE, i] + columns[i, baseline]
        vectors[SUM, i] = rules.alpha * vectors[HELD, i] - keep * given_up
    if rules.past != SELF_NORMALISED:
        _certify_along(rules, factor, vectors, room, beta, baseline, SPARE)
    if rules.past != MARTINGALE:
        for i in range(len(columns)):
            vectors[SUM, i] += vectors[TOTAL, i]
        _certify_along(rules, factor, vectors, room, beta, baseline, CERTIFIED)
    for lane in range(room.shape[1]):
        along = room[CERTIFIED, lane] + beside
        other = earned + room[SPARE, lane]
        better = rules.past != SELF_NORMALISED and other > along
        room[CERTIFIED, lane] = other if better or rules.past == MARTINGALE else along
