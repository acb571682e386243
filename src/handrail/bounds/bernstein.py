"""How far a sum of rewards in [0, 1] can be above the sum of their means, by what they vary.

The means may change with every round. The bound looks at the rewards themselves: where they are
near what was predicted, it is far below a bound that knows the range only.

References
----------
X. Fan, I. Grama, Q. Liu (2015). Exponential inequalities for martingales with applications.
Electronic Journal of Probability 20. S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon (2021).
Time-uniform, nonparametric, nonasymptotic confidence sequences. Annals of Statistics 49(2),
Theorem 4.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from handrail.compiled import lean

__all__ = ["bernstein", "bernstein_lines"]

_LINES: Final = 20
_FIRST: Final = 0.9
_RATIO: Final = 2.0
_TERMS: Final = 400
"""Of the series of psi(l) / l; at l = 0.9 what is left out is below 1e-19."""


def bernstein_lines() -> list[tuple[float, float]]:
    """Return the slopes and weights of the lines whose minimum is the bound.

    Returns
    -------
    list of tuple of float
        Pairs (l, w): l = 0.9 / 2^k and w = 2.2 / ((k + 2)(k + 3)), k = 0 to 19. The weights add up
        to 1.

    Notes
    -----
    The last l is the best one where V is about 10^13; beyond, the bound is true but grows like V.

    Examples
    --------
    >>> lines = bernstein_lines()
    >>> len(lines), round(sum(w for _, w in lines), 12)
    (20, 1.0)
    """
    # sum over k < K of 1 / ((k + 2)(k + 3)) is 1/2 - 1/(K + 2). The sum of the rounded weights
    # must not be above 1.
    scale = (1.0 - 1e-15) / (0.5 - 1.0 / (_LINES + 2.0))
    return [(_FIRST / _RATIO**k, scale / ((k + 2.0) * (k + 3.0))) for k in range(_LINES)]


def _table() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return, a row a line, its height for w, for 1 / level and its growth with V."""
    rows = []
    for slope, weight in bernstein_lines():
        # psi(l) / l = sum over j >= 1 of l^j / (j + 1): no difference of near numbers.
        growth = math.fsum(slope**j / (j + 1.0) for j in range(1, _TERMS))
        rows.append((-math.log(weight) / slope, 1.0 / slope, growth))
    table = np.array(rows)
    table.flags.writeable = False
    return table


_TABLE: Final = _table()


@lean
def bernstein(variation: float, level: float) -> float:
    """Bound a sum of rewards minus that of their means at all times, with probability 1 - level.

    Parameters
    ----------
    variation : float
        V, the sum of (X_i - c_i)^2 over the rewards X_i; c_i in [0, 1] is any prediction of X_i
        made before it was seen. 0 where there is no reward yet.
    level : float
        The probability with which the bound may ever be crossed, in (0, 1).

    Returns
    -------
    float
        The bound; it never falls as V grows.

    Notes
    -----
    For y >= -1 and l in [0, 1), exp(l y - psi(l) y^2) <= 1 + l y, psi(l) = -log(1 - l) - l. With
    y = X - c, and mu the mean of X given the past, the right side has the mean 1 + l (mu - c) <=
    exp(l (mu - c)). So exp(l sum (X_i - mu_i) - psi(l) V) is a supermartingale, whatever the means
    do, and

        sum (X_i - mu_i) <= ( log(1 / (w level)) + psi(l) V ) / l

    at all times, with probability 1 - w level. The bound is the least of these lines over a fixed
    grid of l, whose weights w add up to 1. All lines are looked at, so that not even rounding can
    make the bound fall as V grows.

    For a sum below that of its means take 1 - X_i: V is the same.

    Examples
    --------
    >>> round(bernstein(0.0, 0.05), 2), round(bernstein(100.0, 0.05), 2)
    (4.44, 36.41)
    """
    log = -math.log(level)
    least = math.inf
    for k in range(_LINES):
        line = (_TABLE[k, 0] + _TABLE[k, 1] * log) + _TABLE[k, 2] * variation
        least = min(line, least)
    return least
