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

This is exact in real arithmetic. Compilers turn each inner loop below into a few vector
operations: the tables are as wide as a vector, unused places are 0.
"""

from __future__ import annotations

import math
from typing import Final

from handrail.compiled import inlined, lean
from handrail.records import Floats, Ints

__all__ = [
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

MOST: Final = 8
"""Members at most: the doubles in a vector of the processor."""


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
SMALL: Final = MEANS + 4
"""How many rows; users may have more."""

# Rows of `wide`, (WIDE, lanes), which is about all arms; padded with 0 to whole vectors.
MEAN: Final = 0
"""m of the base."""
CROSS: Final = 1
"""y of the base."""
SQUARES: Final = 2
"""The diagonal of G of the base."""
COLUMNS: Final = 3
"""Scratch, MOST rows; as many follow for _FOLDED."""
_FOLDED: Final = COLUMNS + MOST
WIDE: Final = _FOLDED + MOST
"""How many rows; users may have more."""


@lean
def set_base(
    gram: Floats, wide: Floats, mean: Floats, given: Floats, cross: Floats, without: int
) -> None:
    """Start from m, G and y, as if one arm, unless it is -1, did not exist."""
    for arm in range(mean.size):
        wide[MEAN, arm] = mean[arm]
        wide[CROSS, arm] = cross[arm]
        for other in range(mean.size):
            left_out = without in (arm, other)
            gram[arm, other] = 0.0 if left_out else given[arm, other]
        wide[SQUARES, arm] = gram[arm, arm]


@inlined
def largest(table: Floats, row: int) -> float:
    """Return the largest number of a row, whose length is a multiple of eight; none is NaN."""
    # Eight maxima side by side: a single one would have to wait for each comparison in turn.
    a = b = c = d = e = f = g = h = -math.inf
    for i in range(0, table.shape[1], 8):
        a, b = max(a, table[row, i]), max(b, table[row, i + 1])
        c, d = max(c, table[row, i + 2]), max(d, table[row, i + 3])
        e, f = max(e, table[row, i + 4]), max(f, table[row, i + 5])
        g, h = max(g, table[row, i + 6]), max(h, table[row, i + 7])
    return max(a, b, c, d, e, f, g, h)


@inlined
def first_of(table: Floats, row: int, value: float) -> int:
    """Return the lowest index of a value in a row, its length if it is not there."""
    width = table.shape[1]
    best = width
    for i in range(width):
        best = min(best, i if table[row, i] == value else width)
    return int(best)


@lean
def admit(gram: Floats, wide: Floats, small: Floats, members: Ints, size: int, arm: int) -> None:
    """Make an outsider member number `size`."""
    members[size] = arm
    for c in range(2 * MOST):
        small[size, c] = 0.0
    for c in range(MOST):
        small[MINUS + size, c] = 0.0
    small[WEIGHTS, size] = 0.0
    small[TURNS, size] = 0.0
    for i in range(size):
        part = 0.0
        for j in range(size):
            part += small[MINUS + i, j] * gram[arm, members[j]]
        small[size, MOST + i] = part
    small[size, MOST + size] = 1.0
    square, mean, cross = gram[arm, arm], wide[MEAN, arm], wide[CROSS, arm]
    for i in range(size):
        shared = gram[arm, members[i]]
        square += shared * small[size, MOST + i]
        mean += shared * small[WEIGHTS, i]
        cross += shared * small[TURNS, i]
    small[size, size] = square
    small[MEANS, size] = mean
    small[CROSSES, size] = cross
    for i in range(size):
        shared = gram[members[i], arm]
        for j in range(size):
            shared += gram[members[i], members[j]] * small[size, MOST + j]
        small[size, i] = shared
        small[i, size] = shared


@inlined
def add_streak(
    small: Floats, row: Floats, turn: Floats, size: int, member: int, s: float, x: float, q: float
) -> None:
    """Take in a streak of a member; `row` and `turn` are scratch for its row and its v_j."""
    for c in range(row.size):
        row[c] = small[member, c]
    for c in range(turn.size):
        turn[c] = small[member, MOST + c]
    for i in range(size):
        factor = s * row[i]
        for c in range(row.size):
            small[i, c] -= factor * row[c]
    for i in range(size):
        factor = s * turn[i]
        for c in range(turn.size):
            small[MINUS + i, c] -= factor * turn[c]
    for i in range(turn.size):
        small[MEANS, i] += x * row[i]
        small[CROSSES, i] += q * row[i]
        small[WEIGHTS, i] += x * turn[i]
        small[TURNS, i] += q * turn[i]


@inlined
def outsider_square(
    gram: Floats, wide: Floats, small: Floats, members: Ints, size: int, arm: int
) -> float:
    """Return G_now[a, a] of an outsider."""
    total = wide[SQUARES, arm]
    for i in range(size):
        part = 0.0
        for j in range(size):
            part += small[MINUS + i, j] * gram[arm, members[j]]
        total += part * gram[arm, members[i]]
    return float(total)


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
    width = wide.shape[1]
    for i in range(width):
        wide[result, i] = wide[base, i]
    for j in range(size):
        weight = small[weights, j]
        arm = members[j]
        for i in range(width):
            wide[result, i] += weight * gram[arm, i]


@lean
def _fold(gram: Floats, wide: Floats, small: Floats, members: Ints, size: int) -> None:
    """Put Gamma' into COLUMNS and -M Gamma' into _FOLDED."""
    width = wide.shape[1]
    for k in range(2 * MOST):
        for i in range(width):
            wide[COLUMNS + k, i] = 0.0
    for k in range(size):
        arm = members[k]
        for i in range(width):
            wide[COLUMNS + k, i] = gram[arm, i]
    for k in range(size):
        for j in range(size):
            factor = small[MINUS + k, j]
            arm = members[j]
            for i in range(width):
                wide[_FOLDED + k, i] += factor * gram[arm, i]


@lean
def spread_squares(
    gram: Floats, wide: Floats, small: Floats, members: Ints, size: int, result: int
) -> None:
    """Put the diagonal of G_now into a row."""
    _fold(gram, wide, small, members, size)
    width = wide.shape[1]
    for i in range(width):
        wide[result, i] = wide[SQUARES, i]
    for k in range(size):
        for i in range(width):
            wide[result, i] += wide[COLUMNS + k, i] * wide[_FOLDED + k, i]


@lean
def settle(gram: Floats, wide: Floats, small: Floats, members: Ints, size: int) -> None:
    """Make the present the base: nobody is a member any more."""
    width = wide.shape[1]
    for base, weights in ((MEAN, WEIGHTS), (CROSS, TURNS)):
        spread(gram, wide, small, members, size, base, weights, COLUMNS)
        for i in range(width):
            wide[base, i] = wide[COLUMNS, i]
    _fold(gram, wide, small, members, size)
    own, new = COLUMNS, _FOLDED
    for i in range(gram.shape[0]):
        c0, c1, c2, c3 = wide[own, i], wide[own + 1, i], wide[own + 2, i], wide[own + 3, i]
        c4, c5, c6, c7 = wide[own + 4, i], wide[own + 5, i], wide[own + 6, i], wide[own + 7, i]
        for j in range(width):
            low = c0 * wide[new, j] + c1 * wide[new + 1, j]
            low += c2 * wide[new + 2, j] + c3 * wide[new + 3, j]
            high = c4 * wide[new + 4, j] + c5 * wide[new + 5, j]
            high += c6 * wide[new + 6, j] + c7 * wide[new + 7, j]
            gram[i, j] += low + high
        wide[SQUARES, i] = gram[i, i]
