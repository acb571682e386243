"""Ridge regression over fixed arms while a few of them take turns.

After the first rounds most plays go to a handful of arms. From some state on, the *base*, with
m = Phi theta_hat, G = Phi V^-1 Phi' and y = G N (`handrail.estimators.fixed`), let A be the arms
played since, the *members*, and Gamma = G[:, A]. Everything that follows stays in the span of
Gamma's columns:

    m_now = m + Gamma w,   y_now = y + Gamma z,   G_now = G - Gamma M Gamma',

and the column of a member j is G_now[:, j] = Gamma v_j with v_j = e_j - M Gamma[j, :]'. So a round
changes numbers of the size of A alone: G_now, m_now and y_now among members, the v_j, and M, w
and z, with which any other arm, an *outsider*, can be told when somebody asks.

A streak of k plays of member j that earned R, with g = G_now[j, j] and gain = 1 / (1 + k g), is one
step along g_j = G_now[:, j]:

    x = (R - k m_j) gain,   q = k (1 - y_j) gain,   s = k gain,
    m_now += x g_j,   y_now += q g_j,   G_now -= s g_j g_j',
    w += x v_j,       z += q v_j,       M += s v_j v_j',   v_i -= s G_now[i, j] v_j.

This is exact in real arithmetic. The tables are as wide as vectors of the processor, unused places
are 0.
"""

from __future__ import annotations

from typing import Final

from handrail.compiled import inlined, lean
from handrail.estimators.fixed import SHRUNK
from handrail.records import Floats, Ints
from handrail.vectors import LANES, greatest, larger, load, splat, store, total

__all__ = [
    "BOTTOMS",
    "COLUMNS",
    "CROSS",
    "CROSSES",
    "MEAN",
    "MEANS",
    "MINUS",
    "MOST",
    "SMALL",
    "SQUARES",
    "TURNS",
    "WEIGHTS",
    "WIDE",
    "add_streak",
    "admit",
    "first_of",
    "largest",
    "outsider_square",
    "set_base",
    "settle",
    "spread",
    "spread_squares",
]

MOST: Final = LANES
"""Members at most."""


# Rows of `small`, (SMALL, 2 MOST), which is about members: first G_now[i, A] and v_i of each.
MINUS: Final = MOST
"""-M, MOST rows."""
MEANS: Final = 2 * MOST
"""m_now."""
CROSSES: Final = MEANS + 1
"""y_now."""
WEIGHTS: Final = MEANS + 2
"""w."""
TURNS: Final = MEANS + 3
"""z."""
_SHARED: Final = MEANS + 4
"""Of the outsider last looked at: Gamma's row,"""
_TURNED: Final = MEANS + 5
"""and -M times it."""
_BASE: Final = MEANS + 6
"""G of the base among members, MOST rows."""
SMALL: Final = _BASE + MOST
"""How many rows; users may have more."""

# Rows of `wide`, (WIDE, lanes), which is about all arms; padded with 0 to whole vectors.
MEAN: Final = 0
"""m of the base."""
CROSS: Final = 1
"""y of the base."""
SQUARES: Final = 2
"""The diagonal of G of the base."""
BOTTOMS: Final = 3
"""Where one of these is below its bottom, all is to be computed afresh."""
COLUMNS: Final = 4
"""Scratch, MOST rows; as many follow for _FOLDED."""
_FOLDED: Final = COLUMNS + MOST
WIDE: Final = _FOLDED + MOST
"""How many rows; users may have more."""


@lean
def set_base(
    gram: Floats, wide: Floats, mean: Floats, given: Floats, cross: Floats, without: int
) -> None:
    """Start from m, G and y, just computed, as if one arm, unless it is -1, did not exist."""
    for arm in range(mean.size):
        wide[MEAN, arm] = mean[arm]
        wide[CROSS, arm] = cross[arm]
        for other in range(mean.size):
            left_out = without in (arm, other)
            gram[arm, other] = 0.0 if left_out else given[arm, other]
        wide[SQUARES, arm] = gram[arm, arm]
        wide[BOTTOMS, arm] = SHRUNK * gram[arm, arm]


@inlined
def largest(table: Floats, row: int) -> float:
    """Return the largest number of a row of whole vectors; none may be NaN."""
    found = load(table, row, 0)
    for lane in range(LANES, table.shape[1], LANES):
        found = larger(found, load(table, row, lane))
    return greatest(found)


@inlined
def first_of(table: Floats, row: int, value: float) -> int:
    """Return the lowest index of a value in a row, its length if it is not there."""
    width = table.shape[1]
    best = width
    for i in range(width):
        best = min(best, i if table[row, i] == value else width)
    return int(best)


@inlined
def outsider_square(
    gram: Floats, wide: Floats, small: Floats, members: Ints, size: int, arm: int
) -> float:
    """Return G_now[a, a] of an outsider; what else there is to it is kept for `admit`."""
    for i in range(MOST):
        small[_SHARED, i] = gram[arm, members[i]] if i < size else 0.0
    turned = splat(0.0)
    for i in range(size):
        turned = turned + small[_SHARED, i] * load(small, MINUS + i, 0)
    store(turned, small, _TURNED, 0)
    return float(wide[SQUARES, arm]) + total(turned * load(small, _SHARED, 0))


@lean
def admit(
    gram: Floats, wide: Floats, small: Floats, members: Ints, size: int, arm: int, square: float
) -> None:
    """Make an outsider member number `size`, right after `outsider_square` returned its square."""
    shared, turned = load(small, _SHARED, 0), load(small, _TURNED, 0)
    now = shared
    for i in range(size):
        now = now + small[_TURNED, i] * load(small, _BASE + i, 0)
    members[size] = arm
    store(now, small, size, 0)
    store(turned, small, size, MOST)
    store(shared, small, _BASE + size, 0)
    store(splat(0.0), small, MINUS + size, 0)
    small[size, size] = square
    small[size, MOST + size] = 1.0
    small[_BASE + size, size] = gram[arm, arm]
    for i in range(size):
        small[i, size] = small[size, i]
        small[_BASE + i, size] = small[_SHARED, i]
    small[MEANS, size] = wide[MEAN, arm] + total(shared * load(small, WEIGHTS, 0))
    small[CROSSES, size] = wide[CROSS, arm] + total(shared * load(small, TURNS, 0))
    small[WEIGHTS, size] = 0.0
    small[TURNS, size] = 0.0


@inlined
def add_streak(
    small: Floats, row: Floats, size: int, member: int, s: float, x: float, q: float
) -> None:
    """Take in a streak of a member; `row` is scratch, as long as a row of `small`."""
    shared, turn = load(small, member, 0), load(small, member, MOST)
    store(shared, row, 0)
    store(turn, row, MOST)
    for i in range(size):
        factor = s * row[i]
        store(load(small, i, 0) - factor * shared, small, i, 0)
        store(load(small, i, MOST) - factor * turn, small, i, MOST)
        factor = s * row[MOST + i]
        store(load(small, MINUS + i, 0) - factor * turn, small, MINUS + i, 0)
    store(load(small, MEANS, 0) + x * shared, small, MEANS, 0)
    store(load(small, CROSSES, 0) + q * shared, small, CROSSES, 0)
    store(load(small, WEIGHTS, 0) + x * turn, small, WEIGHTS, 0)
    store(load(small, TURNS, 0) + q * turn, small, TURNS, 0)


@inlined
def spread(
    gram: Floats,
    wide: Floats,
    small: Floats,
    members: Ints,
    size: int,
    base: int,
    weights: int,
    result: int,
) -> None:
    """Put a row of the base + Gamma times one of the weights into a row: m_now or y_now."""
    for lane in range(0, wide.shape[1], LANES):
        found = load(wide, base, lane)
        for j in range(size):
            found = found + small[weights, j] * load(gram, members[j], lane)
        store(found, wide, result, lane)


@lean
def _fold(gram: Floats, wide: Floats, small: Floats, members: Ints, size: int) -> None:
    """Put Gamma' into COLUMNS and -M Gamma' into _FOLDED."""
    for lane in range(0, wide.shape[1], LANES):
        for k in range(size):
            store(load(gram, members[k], lane), wide, COLUMNS + k, lane)
            found = splat(0.0)
            for j in range(size):
                found = found + small[MINUS + k, j] * load(gram, members[j], lane)
            store(found, wide, _FOLDED + k, lane)


@lean
def spread_squares(
    gram: Floats, wide: Floats, small: Floats, members: Ints, size: int, result: int
) -> None:
    """Put the diagonal of G_now into a row."""
    _fold(gram, wide, small, members, size)
    for lane in range(0, wide.shape[1], LANES):
        found = load(wide, SQUARES, lane)
        for k in range(size):
            found = found + load(wide, COLUMNS + k, lane) * load(wide, _FOLDED + k, lane)
        store(found, wide, result, lane)


@lean
def settle(gram: Floats, wide: Floats, small: Floats, members: Ints, size: int) -> None:
    """Make the present the base: nobody is a member any more."""
    spread(gram, wide, small, members, size, MEAN, WEIGHTS, MEAN)
    spread(gram, wide, small, members, size, CROSS, TURNS, CROSS)
    _fold(gram, wide, small, members, size)
    for lane in range(0, wide.shape[1], LANES):
        for i in range(gram.shape[0]):
            found = load(gram, i, lane)
            for k in range(size):
                found = found + wide[COLUMNS + k, i] * load(wide, _FOLDED + k, lane)
            store(found, gram, i, lane)
    for i in range(gram.shape[0]):
        wide[SQUARES, i] = gram[i, i]
