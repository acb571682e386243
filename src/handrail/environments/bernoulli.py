"""Arms that pay 0 or 1."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from handrail import checks
from handrail.counter import root
from handrail.environments.drawing import PROBLEMS, check_rank, dot, ranked, uniforms
from handrail.environments.problem import FixedProblem
from handrail.errors import InputError

__all__ = ["Bernoulli"]


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Bernoulli arms whose means are drawn uniformly from an interval.

    Parameters
    ----------
    arms : int, default=10
        K, the baseline included.
    low, high : float, default=0.25 and 0.75
        The interval, within [0, 1].
    baseline_rank : int, default=4
        The baseline is the arm with this rank, 1 being the best.

    Notes
    -----
    Rewards lie in [0, 1], so policies are told sigma = 1/2. For linear policies the arms are
    the canonical basis and B = |means|.

    References
    ----------
    E. Garcelon et al. (2020), Improved algorithms for conservative exploration in bandits,
    section 5.

    Examples
    --------
    >>> problem = Bernoulli(arms=3, baseline_rank=2).problem(seed=0, index=0)
    >>> problem.means.round(3).tolist(), problem.baseline
    ([0.41, 0.733, 0.729], 2)
    """

    arms: int = 10
    low: float = 0.25
    high: float = 0.75
    baseline_rank: int = 4

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, most=100_000)
        if not 0.0 <= checks.number("low", self.low) <= checks.number("high", self.high) <= 1.0:
            raise InputError(
                "low",
                f"[{self.low:g}, {self.high:g}] is no interval of means",
                "pass 0 <= low <= high <= 1",
            )
        check_rank(checks.whole("baseline_rank", self.baseline_rank), self.arms)

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        means = np.empty(self.arms)
        uniforms(root(seed, PROBLEMS, index), 0, means)
        means = self.low + (self.high - self.low) * means
        return FixedProblem(
            means=means,
            baseline=ranked(means, self.baseline_rank),
            rewards="bernoulli",
            noise=0.5,
            theta_bound=max(float(np.sqrt(dot(means, means))), 1e-9),
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)
