"""Confidence widths, each a formula of counts alone, for means in [0, 1].

``proved`` says whether the level is the probability really spent (``union`` accounting) or the
delta of the printed formula (``paper`` accounting).
"""

from __future__ import annotations

import math

ZETA_3 = 1.2020569031595942  # sum over n >= 1 of 1/n^3


def arm_wu(count: int, arms: int, noise: float, level: float, *, proved: bool) -> float:
    """sigma sqrt(2 log(K N^3 / delta) / N) (Wu et al. 2016).

    Both sides, K arms and all N together fail with probability at most 2 zeta(3) delta, so the
    proved form has log(2 zeta(3) K N^3 / delta).
    """
    factor = 2 * ZETA_3 if proved else 1.0
    return noise * math.sqrt(2 * math.log(factor * arms * count**3 / level) / count)


def arm_ucb1(count: int, time: int) -> float:
    """sqrt(2 log t / N), t the current round; there is no level."""
    return math.sqrt(2 * math.log(time) / count)


def arm_mixture(
    count: int,
    arms: int,
    noise: float,
    level: float,
    tightest_at: float,
    first: float | None = None,
) -> float:
    """The two-sided normal mixture at delta / K for the sum, divided by N.

    sqrt((v + rho) log((v + rho) / (rho delta^2))), v = N sigma^2. ``first`` is the level that rho
    is chosen for where it is not this one: rho is the same for all arms.
    """
    level = level / arms
    rho = mixture_rho(tightest_at * noise**2, level if first is None else first)
    total = count * noise**2 + rho
    return math.sqrt(total * math.log(total / (rho * level**2))) / count


def ellipsoid_paper(
    rows: int,
    dim: int,
    noise: float,
    level: float,
    ridge: float,
    theta_bound: float,
    feature_bound: float,
) -> float:
    """beta = sigma sqrt(d log((1 + D^2 (1 + s) / lambda) / delta)) + B sqrt(lambda).

    Paper, section 2, the equation of beta_t.
    """
    inside = (1 + feature_bound**2 * (1 + rows) / ridge) / level
    return noise * math.sqrt(dim * math.log(inside)) + theta_bound * math.sqrt(ridge)


def ellipsoid_determinant(
    log_det: float, dim: int, noise: float, level: float, ridge: float, theta_bound: float
) -> float:
    """beta = sigma sqrt(2 log(1 / delta) + log(det V / det lambda I)) + B sqrt(lambda).

    Abbasi-Yadkori et al. 2011, theorem 2. ``log_det`` is log det V.
    """
    inside = 2 * math.log(1 / level) + log_det - dim * math.log(ridge)
    return noise * math.sqrt(inside) + theta_bound * math.sqrt(ridge)


def cumulative(
    kind: str, summed: int, noise: float, level: float, tightest_at: float, *, proved: bool
) -> float:
    """psi(s), how far a sum of s rewards may exceed the sum of their means.

    ``paper``: sigma sqrt(2 s L) + 2 L / 3, L = log(3 max(s, 1)^2 / delta) (paper, section 3, the
    equation of psi_L). ``subgaussian``: without the 2 L / 3. One side fails with probability at
    most sum_s delta / (3 s^2) = delta pi^2 / 18, so the proved form puts delta 18 / pi^2 into L.

    ``mixture``: sqrt(2 (v + rho) log(1 + sqrt((v + rho) / rho) / (2 delta))), v = s sigma^2, and
    0 at s = 0.
    """
    if kind == "mixture":
        if summed == 0:
            return 0.0
        rho = mixture_rho(tightest_at * noise**2, level)
        total = summed * noise**2 + rho
        return math.sqrt(2 * total * math.log(1 + math.sqrt(total / rho) / (2 * level)))
    if proved:
        level = level * 18 / math.pi**2
    log_term = math.log(3 * max(summed, 1) ** 2 / level)
    spread = noise * math.sqrt(2 * summed * log_term)
    if kind == "subgaussian":
        return spread
    if kind == "paper":
        return spread + 2 * log_term / 3
    raise ValueError(f"unknown cumulative width {kind!r}")


def mixture_rho(variance: float, level: float) -> float:
    """rho = v* / (-W_{-1}(-delta^2 / e) - 1) (Howard et al. 2021)."""
    return variance / (minus_lambert_below(level) - 1)


def minus_lambert_below(level: float) -> float:
    """w = -W_{-1}(-delta^2 / e): the solution above 1 of w exp(-w) = delta^2 / e.

    In logarithms w - log w = 1 - 2 log delta, whose left side grows for w > 1; bisection.
    """
    target = 1 - 2 * math.log(level)
    low, high = 1.0, 2.0 * target + 2.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle - math.log(middle) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
