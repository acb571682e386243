"""How far a sum of rewards can be above the sum of their means, by name.

The differences r_i - mu_{a_i} are a martingale difference sequence whatever chose the actions,
so the bounds need neither arms nor linearity.

References
----------
D. A. Freedman (1975). On tail probabilities for martingales. E. Garcelon, M. Ghavamzadeh,
A. Lazaric, M. Pirotta (2020). Improved algorithms for conservative exploration in bandits, Eq. (5).
"""

from __future__ import annotations

import math
from typing import Final

from handrail.bounds.mixture import one_sided_mixture
from handrail.compiled import lean

__all__ = [
    "BERNSTEIN",
    "CUMULATIVE_BOUNDS",
    "MIXTURE",
    "PAPER",
    "SPENT_ONE_SIDED",
    "SUBGAUSSIAN",
    "cumulative",
]

PAPER: Final = 0
SUBGAUSSIAN: Final = 1
MIXTURE: Final = 2
BERNSTEIN: Final = 3
"""Rests on the rewards' variation rather than on their number: `handrail.bounds.bernstein`."""

CUMULATIVE_BOUNDS: Final = {
    "paper": PAPER,
    "subgaussian": SUBGAUSSIAN,
    "mixture": MIXTURE,
    "bernstein": BERNSTEIN,
}

SPENT_ONE_SIDED: Final = math.pi**2 / 18.0
"""sum over s of 1/(3 s^2): what `paper` and `subgaussian` spend of the level put into them."""


@lean
def cumulative(bound: int, count: int, noise: float, level: float, rho: float) -> float:
    """Return psi(s): with s rewards summed, their sum exceeds that of their means by at most this.

    Notes
    -----
    - `paper`: sigma sqrt(2 s L) + 2 L / 3, L = log(3 max(s, 1)^2 / level).
    - `subgaussian`: the same without the second term, which Freedman's inequality needs for
      bounded noise of known variance and sub-Gaussian noise does not. Both hold for all s with
      probability 1 - 0.55 level.
    - `mixture`: the one-sided normal mixture with v = s sigma^2; 0 at s = 0.
    """
    if bound == MIXTURE:
        return one_sided_mixture(count * noise * noise, rho, level) if count > 0 else 0.0
    seen = float(max(count, 1))
    log = math.log(3.0 * seen * seen / level)
    root = noise * math.sqrt(2.0 * count * log)
    return root + 2.0 * log / 3.0 if bound == PAPER else root
