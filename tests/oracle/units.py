"""From the user's units to means in [0, 1] and back (docs/algorithms.md, "Units").

With means in [lo, hi], r' = (r - lo) / (hi - lo) has its mean in [0, 1]. The noise shrinks with the
unit, noise' = noise / (hi - lo). For a linear mean <theta, phi> = mu,

    mu' = <theta / (hi - lo), phi> - lo / (hi - lo) = <theta', phi'>

with phi' = phi where lo = 0, else phi' = (phi, 1) and theta' = (theta, -lo) / (hi - lo). Hence
|theta'| <= sqrt(B^2 + lo^2) / (hi - lo) and |phi'| <= sqrt(D^2 + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oracle.answer import Floats


@dataclass(frozen=True)
class Units:
    """Where means lie, in the user's units."""

    lo: float
    hi: float

    @property
    def span(self) -> float:
        """The length of one unit of [0, 1] in the user's units."""
        return self.hi - self.lo

    def inward(self, value: float) -> float:
        """(value - lo) / (hi - lo)."""
        return (value - self.lo) / self.span

    def outward(self, value: float) -> float:
        """The inverse of `inward`."""
        return value * self.span + self.lo

    def features(self, rows: Floats) -> Floats:
        """phi', with a constant last column where lo is not 0."""
        if self.lo == 0:
            return rows
        return np.hstack([rows, np.ones((len(rows), 1))])

    def theta_bound(self, bound: float) -> float:
        """A bound on |theta'|."""
        return math.sqrt(bound**2 + self.lo**2) / self.span

    def feature_bound(self, bound: float) -> float:
        """A bound on |phi'|."""
        return bound if self.lo == 0 else math.sqrt(bound**2 + 1)
