"""Bounds of the literature that handrail's are held against, from their formulas.

References
----------
S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon (2021). Time-uniform, nonparametric,
nonasymptotic confidence sequences. Annals of Statistics 49(2), Theorem 1 and Proposition 9.
"""

from __future__ import annotations

import math

from scipy import optimize, special

__all__ = ["gamma_exponential", "single_line", "stitched"]


def _log_incomplete(shape: float, at: float) -> float:
    """Return the logarithm of the lower incomplete gamma function."""
    share = float(special.gammainc(shape, at))
    return -math.inf if share <= 0.0 else float(special.gammaln(shape)) + math.log(share)


def gamma_exponential(variation: float, level: float, tuned_for: float) -> float:
    """Return the gamma-exponential mixture boundary with scale 1, tuned for a V at 0.05."""
    spent = -2.0 * math.log(2.0 * 0.05)
    rho = tuned_for / (spent + math.log(1.0 + spent))
    start = rho * math.log(rho) - _log_incomplete(rho, rho)
    shape = variation + rho

    def over(bound: float) -> float:
        at = bound + shape
        grown = _log_incomplete(shape, at) - shape * math.log(at) + bound + variation
        return start + grown + math.log(level)

    high = 1.0
    while over(high) < 0.0:
        high *= 2.0
    return float(optimize.brentq(over, 0.0, high, xtol=1e-12, rtol=1e-12))


def stitched(variation: float, level: float, least: float = 1.0) -> float:
    """Return the polynomial stitched boundary with scale 1, eta = 2 and s = 1.4."""
    eta, s, seen = 2.0, 1.4, max(variation, least)
    log = s * math.log(math.log(eta * seen / least))
    log += math.log(float(special.zeta(s)) / (level * math.log(eta) ** s))
    one, two = (eta**0.25 + eta**-0.25) / math.sqrt(2.0), (math.sqrt(eta) + 1.0) / 2.0
    return math.sqrt(one * one * seen * log + (two * log) ** 2) + two * log


def single_line(variation: float, level: float) -> float:
    """Return the best line for a V known in advance: a bound for all V pays for not knowing it."""

    def line(log_odds: float) -> float:
        slope = 1.0 / (1.0 + math.exp(-log_odds))
        return (-math.log(level) + (-math.log1p(-slope) - slope) * variation) / slope

    found = optimize.minimize_scalar(line, bounds=(-15.0, 15.0), method="bounded")
    return float(found.fun)
