"""How far theta can be from its ridge estimate, in the norm of the design matrix, by name.

The confidence set is { theta : ||theta - theta_hat||_V <= beta }.

References
----------
Y. Abbasi-Yadkori, D. Pal, C. Szepesvari (2011). Improved algorithms for linear stochastic
bandits, Theorem 2. E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved
algorithms for conservative exploration in bandits, Eq. (3).
"""

from __future__ import annotations

import math
from typing import Final

from handrail.compiled import lean
from handrail.records import Ledger, Rules

__all__ = [
    "DETERMINANT",
    "ELLIPSOID_WIDTHS",
    "INTERSECTION",
    "PAPER",
    "ellipsoid_radius",
    "radius_at",
]

PAPER: Final = 0
DETERMINANT: Final = 1
INTERSECTION: Final = 2
"""`determinant`, and over fixed arms each arm's own mean beside it."""

ELLIPSOID_WIDTHS: Final = {
    "paper": PAPER,
    "determinant": DETERMINANT,
    "intersection": INTERSECTION,
}


@lean
def ellipsoid_radius(rules: Rules, ledger: Ledger) -> float:
    """Return beta as of now: see `radius_at`."""
    return radius_at(rules, ledger.rows, ledger.log_det)


@lean
def radius_at(rules: Rules, rows: int, log_det: float) -> float:
    """Return beta: theta is in the ellipsoid at all times with probability 1 - level.

    Notes
    -----
    - `paper`: sigma sqrt( d log( (1 + D^2 (1 + rows) / lambda) / level ) ) + B sqrt(lambda). True
      for d >= 2 only: it pays log(1/level) d times, and two are needed.
    - `determinant`: sigma sqrt( 2 log(1/level) + log(det V / det lambda I) ) + B sqrt(lambda).
    """
    bias = rules.theta_bound * math.sqrt(rules.ridge)
    if rules.width == PAPER:
        growth = 1.0 + rules.feature_bound * rules.feature_bound * (1 + rows) / rules.ridge
        return rules.noise * math.sqrt(rules.dim * math.log(growth / rules.estimator_level)) + bias
    spread = log_det - 2.0 * math.log(rules.estimator_level)
    return rules.noise * math.sqrt(spread) + bias
