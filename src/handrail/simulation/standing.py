"""Who leads among fixed arms, without looking at all of them in every round.

Members of a contest (`handrail.estimators.contest`) are followed exactly. Since outsiders were last
looked at, an outsider's upper bound m_i + beta sqrt(G_ii) has grown by at most

    sum_j |Gamma_ij| |change of w_j| + (change of beta) sqrt(G_ii),

because G_ii only falls: while a member is ahead of that, nobody else needs to be looked at.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

from handrail.compiled import inlined, lean
from handrail.conservative.past import SELF_NORMALISED, oracle_sums
from handrail.estimators.contest import (
    BOTTOMS,
    CROSS,
    MEAN,
    MEANS,
    MOST,
    SMALL,
    SQUARES,
    WEIGHTS,
    WIDE,
    admit,
    first_of,
    largest,
    outsider_square,
    settle,
    spread,
)
from handrail.estimators.fixed import along_plays
from handrail.records import Floats, Ints, Rules, record_dtype
from handrail.vectors import LANES, greatest, larger, load, root, splat, store

__all__ = [
    "AHEAD",
    "CLOSED",
    "FLOORS",
    "REACH",
    "SMALL_ROWS",
    "STANDING",
    "UPPER",
    "WIDE_ROWS",
    "Standing",
    "join",
    "look_around",
    "open_contest",
    "rank",
    "renew",
]

AHEAD: Final = 1e-9
"""Somebody is ahead of a bound for certain by more than this: far above rounding."""
_SHRUNK: Final = 1.0 / 64.0
"""A member's G_jj relative to the base below which the base is renewed: it costs 6 bits."""

_EXACT: Final = 8
"""Renewals of the base after which sums are added up anew."""

# Rows of `small` besides the estimator's.
REACH: Final = SMALL
"""Of each member j, the largest |Gamma_ij| over outsiders i."""
_SEEN: Final = SMALL + 1
"""w when outsiders were last looked at."""
FLOORS: Final = SMALL + 2
"""Of each member, the G_jj below which the base is renewed."""
SMALL_ROWS: Final = SMALL + 3

# Rows of `wide` besides the estimator's.
CLOSED: Final = WIDE
"""0 for arms that can lead, -inf for others."""
_CEILING: Final = WIDE + 1
"""The same with -inf for members."""
_CAPS: Final = WIDE + 2
"""No outsider's G_ii is larger."""
UPPER: Final = WIDE + 3
_NOW: Final = WIDE + 4
WIDE_ROWS: Final = WIDE + 5


class Standing(Protocol):
    """How a contest stands."""

    members: int
    """How many there are."""
    lead: int
    """The member with the largest upper bound, which is `high`; -1: nobody."""
    high: float
    second: float
    """The largest upper bound of the other members."""
    outside: float
    """The largest upper bound of the outsiders, or more, when they were last looked at."""
    beta: float
    """The ellipsoid's radius then."""
    far: float
    """What no outsider's upper bound exceeds now."""
    root: float
    """No arm's sqrt(G_ii) is larger."""
    centre: float
    """<theta_hat, x> and ||x||^2_{V^-1} of the summed features x of all plays."""
    square: float
    earned: float
    """sum_k N_k mu_k, with its rounding error apart."""
    earned_rest: float
    renewed: int
    """How often the base was renewed."""
    worn: int
    """1 if some square of the base is below its bottom, else 0."""


STANDING: Final = record_dtype(Standing)


@lean
def open_contest(
    rules: Rules, standing: Standing, wide: Floats, plays: Ints, means: Floats
) -> None:
    """Begin a contest from its base; now and then make sums that were carried along exact again."""
    for i in range(wide.shape[1]):
        wide[_CAPS, i] = wide[SQUARES, i]
        wide[_CEILING, i] = wide[CLOSED, i]
    standing.members = 0
    standing.worn = 0
    for i in range(wide.shape[1]):
        standing.worn = 1 if wide[SQUARES, i] < wide[BOTTOMS, i] else standing.worn
    standing.outside = math.inf
    standing.root = math.sqrt(max(largest(wide, SQUARES), 0.0))
    standing.renewed += 1
    if standing.renewed % _EXACT != 1:
        return
    standing.earned = oracle_sums(plays, means)
    standing.earned_rest = 0.0
    if rules.past == SELF_NORMALISED:
        standing.centre, standing.square = along_plays(plays, wide[MEAN], wide[CROSS])


@lean
def renew(
    rules: Rules,
    standing: Standing,
    gram: Floats,
    wide: Floats,
    small: Floats,
    members: Ints,
    plays: Ints,
    means: Floats,
) -> None:
    """Make the present the base."""
    settle(gram, wide, small, members, standing.members)
    open_contest(rules, standing, wide, plays, means)


@lean
def join(
    standing: Standing,
    gram: Floats,
    wide: Floats,
    small: Floats,
    members: Ints,
    arm: int,
    square: float,
) -> int:
    """Let an outsider in, right after `outsider_square`; return which member it is."""
    member = standing.members
    admit(gram, wide, small, members, member, arm, square)
    wide[_CEILING, arm] = -math.inf
    furthest = splat(0.0)
    for lane in range(0, gram.shape[1], LANES):
        shared = load(gram, arm, lane)
        outsiders = larger(shared, -1.0 * shared) + load(wide, _CEILING, lane)
        furthest = larger(furthest, outsiders)
    small[REACH, member] = greatest(furthest)
    small[_SEEN, member] = 0.0
    small[FLOORS, member] = small[member, member] * _SHRUNK
    standing.members = member + 1
    return member


@inlined
def _upper(small: Floats, member: int, beta: float) -> float:
    return float(small[MEANS, member] + beta * math.sqrt(max(small[member, member], 0.0)))


@inlined
def rank(standing: Standing, small: Floats, members: Ints, beta: float) -> None:
    """Find the member that leads, and how far outsiders can have come."""
    high = second = -math.inf
    lead = -1
    drift = 0.0
    # No branches: who leads is hard to foresee.
    for member in range(standing.members):
        value = _upper(small, member, beta)
        drift += small[REACH, member] * abs(small[WEIGHTS, member] - small[_SEEN, member])
        second = max(second, min(value, high))
        lead = member if value > high else lead
        high = max(high, value)
    if second == high:
        for member in range(standing.members):
            if _upper(small, member, beta) == high and members[member] < members[lead]:
                lead = member
    standing.lead = lead
    standing.high = high
    standing.second = second
    standing.far = standing.outside + drift + standing.root * (beta - standing.beta)


@lean
def look_around(
    standing: Standing, gram: Floats, wide: Floats, small: Floats, members: Ints, beta: float
) -> bool:
    """Look at the outsiders and let those in that may lead; say whether there was room."""
    size = standing.members
    spread(gram, wide, small, members, size, MEAN, WEIGHTS, _NOW)
    for lane in range(0, wide.shape[1], LANES):
        width = beta * root(larger(load(wide, _CAPS, lane), splat(0.0)))
        upper = load(wide, _NOW, lane) + width + load(wide, _CEILING, lane)
        store(upper, wide, UPPER, lane)
    for member in range(size):
        small[_SEEN, member] = small[WEIGHTS, member]
    standing.beta = beta
    standing.far = -math.inf
    while True:
        highest = largest(wide, UPPER)
        if standing.high > highest + AHEAD or highest == -math.inf:
            standing.far = max(standing.far, highest)
            standing.outside = standing.far
            return True
        arm = first_of(wide, UPPER, highest)
        square = outsider_square(gram, wide, small, members, standing.members, arm)
        value = wide[_NOW, arm] + beta * math.sqrt(max(square, 0.0))
        wide[_CAPS, arm] = square
        wide[UPPER, arm] = -math.inf
        ahead = value > standing.high
        if value == standing.high and standing.lead >= 0:
            ahead = arm < members[standing.lead]
        full = standing.members == MOST
        if full and ahead:
            return False
        if full or value + AHEAD < standing.high:
            standing.far = max(standing.far, value)
            continue
        member = join(standing, gram, wide, small, members, arm, square)
        value = _upper(small, member, beta)
        standing.second = max(standing.second, min(value, standing.high))
        if ahead:
            standing.lead = member
            standing.high = value
