"""How far one arm's empirical mean can be from its mean, by name.

References
----------
P. Auer, N. Cesa-Bianchi, P. Fischer (2002). Finite-time analysis of the multiarmed bandit
problem. Y. Wu, R. Shariff, T. Lattimore, C. Szepesvari (2016). Conservative bandits.
"""

from __future__ import annotations

import math
from typing import Final

from handrail.bounds.mixture import two_sided_mixture
from handrail.compiled import lean

__all__ = [
    "ARM_WIDTHS",
    "KL",
    "MIXTURE",
    "TWO_ZETA_3",
    "UCB1",
    "WU",
    "arm_width",
    "ucb1_growth",
    "ucb1_width",
]

WU: Final = 0
UCB1: Final = 1
MIXTURE: Final = 2
KL: Final = 3
"""An interval that is not symmetric: `handrail.bounds.kl`."""

ARM_WIDTHS: Final = {"wu": WU, "ucb1": UCB1, "mixture": MIXTURE, "kl": KL}

TWO_ZETA_3: Final = 2.4041138063191885
"""Two sides times zeta(3) = sum 1/N^3: by how much `wu` as printed overspends its delta."""


@lean
def ucb1_growth(now: int) -> float:
    """Return 2 log t, the part of `ucb1` that moves with the round."""
    return 2.0 * math.log(now)


@lean
def ucb1_width(growth: float, count: float) -> float:
    """Return sqrt( 2 log t / N ), given 2 log t."""
    return math.sqrt(growth / count)


@lean
def arm_width(
    width: int, plays: int, now: int, arms: float, noise: float, level: float, rho: float
) -> float:
    """Return the half-width of the confidence interval of an arm played N >= 1 times.

    Notes
    -----
    - `wu`: sigma sqrt( 2 log(K N^3 / level) / N ); all K arms, all N, both sides hold together
      with probability 1 - 2 zeta(3) level.
    - `ucb1`: sqrt( 2 log t / N ), t the current round. It has no delta and no proved level
      here: for reference only.
    - `mixture`: the two-sided boundary at level / K, divided by N.

    Where arms may be added, K is the number of which this arm's share of the level is one.
    """
    count = float(plays)
    if width == WU:
        return noise * math.sqrt(2.0 * math.log(arms * count * count * count / level) / count)
    if width == UCB1:
        return ucb1_width(ucb1_growth(now), count)
    return two_sided_mixture(count * noise * noise, rho, level / arms) / count
