"""When the constraint is checked next, and what it gains until then (paper section 4).

Checkpoints every T rounds, at known rounds, with a known smallest gap, or with gaps of a known law.
The last two are reported as they happen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Schedule:
    """At most one of the three is given; none of them: every round.

    ``gap`` is a smallest gap, a frozen law of scipy, or the law itself as an array.
    """

    every: int | None = None
    listed: Sequence[int] | None = None
    gap: Any = None

    def checkpoint(self, time: int, reported: Sequence[int], delta: float) -> int:
        """c, a round >= t before which no checkpoint from t on can lie.

        ``reported`` are the checkpoints so far, ``delta`` the probability that random gaps may be
        shorter than thought.
        """
        if self.every is not None:
            return -(-time // self.every) * self.every  # t / T rounded up, times T
        if self.listed is not None:
            return min((c for c in self.listed if c >= time), default=time)
        if self.gap is None:
            return time
        last = reported[-1] if reported else 0
        if isinstance(self.gap, int):
            return max(last + self.gap, time)
        return max(last + shortest(self.gap, len(reported) + 1, delta), time)

    @property
    def random(self) -> bool:
        """Whether gaps are random."""
        return self.gap is not None and not isinstance(self.gap, int)


def shortest(law: Any, k: int, delta: float) -> int:
    """q_k, the largest whole number with P(T >= q) >= 1 - delta_k, delta_k = 6 delta / (pi k)^2."""
    enough = 1 - 6 * delta / (math.pi * k) ** 2
    q = 0
    while at_least(law, q + 1) >= enough:
        q += 1
    return q


def at_least(law: Any, q: int) -> float:
    """P(T >= q)."""
    if not hasattr(law, "cdf"):
        sample = np.asarray(law, dtype=np.float64)
        return int(np.sum(sample >= q)) / len(sample)
    if hasattr(law.dist, "pmf"):
        # T = k + shift, k whole: P(T < q) sums the k below q - shift.
        *shapes, shift = law.args if len(law.args) > law.dist.numargs else (*law.args, 0.0)
        shift = law.kwds.get("loc", shift)
        return 1 - float(law.dist.cdf(math.ceil(q - Fraction(shift)) - 1, *shapes))
    return 1 - float(law.cdf(q))
