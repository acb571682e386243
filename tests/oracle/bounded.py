"""Bounds that need rewards in [0, 1]: a mean by a beta mixture, a sum by its own variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scipy.special import betaln

HALVINGS = 60

Grid = Sequence[tuple[float, float]]
"""Pairs of a rate l in (0, 1) and its weight w; the weights add up to at most 1."""


def arm_kl(total: float, count: int, level: float) -> tuple[float, float]:
    """Both ends of the set of all m in [0, 1] with

        B(S + 1/2, n - S + 1/2) / B(1/2, 1/2) <= m^S (1 - m)^(n - S) / level,

    S the sum of n rewards. The right side rises up to m = S / n and falls from there, so that
    each end is found by halving.
    """
    left = float(betaln(total + 0.5, count - total + 0.5) - betaln(0.5, 0.5))

    def inside(m: float) -> bool:
        return left <= _power(total, m) + _power(count - total, 1 - m) - math.log(level)

    peak = total / count
    return _end(inside, peak, 0.0), _end(inside, peak, 1.0)


def _power(exponent: float, base: float) -> float:
    """log(base^exponent), where 0^0 = 1."""
    if exponent == 0:
        return 0.0
    return exponent * math.log(base) if base > 0 else -math.inf


def _end(inside: Callable[[float], bool], good: float, bad: float) -> float:
    """Between a point of the set and one that may lie outside."""
    if inside(bad):
        return bad
    for _ in range(HALVINGS):
        middle = (good + bad) / 2
        if inside(middle):
            good = middle
        else:
            bad = middle
    return (good + bad) / 2


def bernstein_variance(rewards: Sequence[float]) -> float:
    """V = sum (r_i - c_i)^2, c_i = (1/2 + sum of the rewards before) / (1 + their number)."""
    variance = 0.0
    for index, reward in enumerate(rewards):
        guess = (0.5 + math.fsum(rewards[:index])) / (1 + index)
        variance += (reward - guess) ** 2
    return variance


def bernstein(rewards: Sequence[float], level: float, grid: Grid) -> float:
    """How far the sum of rewards may exceed the sum of their means (Howard et al. 2021).

    The smallest over the grid of (log(1 / (w level)) + psi_E(l) V) / l with
    psi_E(l) = -log(1 - l) - l. No rewards exceed nothing.
    """
    if not rewards:
        return 0.0
    variance = bernstein_variance(rewards)
    return min(
        (math.log(1 / (weight * level)) + (-math.log(1 - rate) - rate) * variance) / rate
        for rate, weight in grid
    )
