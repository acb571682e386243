"""Normal-mixture boundaries: time-uniform bounds on a sub-Gaussian martingale.

References
----------
H. Robbins (1970). Statistical methods related to the law of the iterated logarithm.
S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon (2021). Time-uniform, nonparametric,
nonasymptotic confidence sequences. Annals of Statistics 49(2).
"""

from __future__ import annotations

import math

from handrail.compiled import lean

__all__ = ["mixture_rho", "one_sided_mixture", "two_sided_mixture"]

_SMALLEST_LEVEL = 1e-150
"""Below it the level's square underflows; a boundary tuned for it is tuned well enough."""


@lean
def two_sided_mixture(variance: float, rho: float, level: float) -> float:
    """Bound |sum of noise| at all times, with probability 1 - level.

    Notes
    -----
    sqrt( (v + rho) log( (v + rho) / (rho level^2) ) ), v the summed variance proxy.
    """
    total = variance + rho
    return math.sqrt(total * (math.log(total / rho) - 2.0 * math.log(level)))


@lean
def one_sided_mixture(variance: float, rho: float, level: float) -> float:
    """Bound the sum of noise from above at all times, with probability 1 - level.

    Notes
    -----
    sqrt( 2 (v + rho) log( 1 + sqrt((v + rho) / rho) / (2 level) ) ), the closed form of Howard
    et al. (2021) for the one-sided normal mixture.
    """
    total = variance + rho
    return math.sqrt(2.0 * total * math.log(1.0 + math.sqrt(total / rho) / (2.0 * level)))


def mixture_rho(variance: float, level: float) -> float:
    """Return the rho that makes the two-sided boundary tightest where v = variance.

    Parameters
    ----------
    variance : float
        The summed variance proxy v* at which the boundary shall be tightest.
    level : float
        The probability with which the boundary may be crossed.

    Returns
    -------
    float
        rho = v* / (-W_{-1}(-level^2 / e) - 1), W_{-1} the lower branch of Lambert's function.

    Examples
    --------
    >>> rho = mixture_rho(100.0, 0.05)
    >>> at = [two_sided_mixture(100.0, factor * rho, 0.05) for factor in (0.9, 1.0, 1.1)]
    >>> at[1] < at[0] and at[1] < at[2]
    True
    """
    from scipy.special import lambertw

    square = max(level, _SMALLEST_LEVEL) ** 2
    return variance / (-float(lambertw(-square / math.e, -1).real) - 1.0)
