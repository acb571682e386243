"""Fixed arms with features and a linear mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from handrail import checks
from handrail.counter import child, normals, root, uniform
from handrail.environments.drawing import PROBLEMS, check_rank, dot, ranked, rescaled
from handrail.environments.problem import FixedProblem
from handrail.records import Floats

__all__ = ["Linear", "draw_theta"]


def draw_theta(key: np.uint64, dim: int, low: float = 0.5, high: float = 1.0) -> Floats:
    """Return a vector of random direction and a length drawn uniformly from [low, high]."""
    direction = np.empty(dim)
    normals(key, 1, direction)
    length = low + (high - low) * uniform(key, 0)
    return np.asarray(direction * (length / np.sqrt(dot(direction, direction))))


@dataclass(frozen=True, slots=True)
class Linear:
    """Fixed arms whose means are linear in their features; Gaussian rewards.

    Parameters
    ----------
    arms : int, default=30
        K, the baseline included; at least 2.
    dim : int, default=100
        Length of the features.
    baseline_rank : int, default=6
        The baseline is the arm with this rank, 1 being the best.
    noise : float, default=0.1
        Standard deviation of the rewards.

    Notes
    -----
    theta has a random direction and a length from U[1/2, 1]. Each feature vector is drawn from
    N(0, I), again until <phi, theta> > 0, and scaled by its own U[1/2, 1]; then all are divided by
    the largest norm. Then phi <- (phi - phi_worst) / (mu_best - mu_worst), which makes the best
    mean 1 and the worst 0, and norms larger than 1 (at K = 30 and d = 100 about 5 to 20). Policies
    are told B = |theta| and D = the largest norm.

    References
    ----------
    E. Garcelon et al. (2020), Improved algorithms for conservative exploration in bandits,
    section 5.

    Examples
    --------
    >>> problem = Linear(arms=4, dim=3, baseline_rank=2).problem(seed=0, index=0)
    >>> problem.means.round(3).tolist(), problem.baseline
    ([0.595, 0.0, 1.0, 0.099], 0)
    """

    arms: int = 30
    dim: int = 100
    baseline_rank: int = 6
    noise: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, least=2, most=100_000)
        checks.whole("dim", self.dim, least=2, most=10_000)
        check_rank(checks.whole("baseline_rank", self.baseline_rank), self.arms)
        checks.positive("noise", self.noise)

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        key = root(seed, PROBLEMS, index)
        theta = draw_theta(key, self.dim)
        features = np.empty((self.arms, self.dim))
        for arm in range(self.arms):
            own = np.uint64(child(key, arm))
            start = 1
            normals(own, start, features[arm])
            while not dot(features[arm], theta) > 0.0:
                start += self.dim
                normals(own, start, features[arm])
            features[arm] *= 0.5 + 0.5 * uniform(own, 0)
        features /= np.sqrt(max(dot(row, row) for row in features))
        features, means = rescaled(features, theta)
        return FixedProblem(
            means=means,
            features=features,
            baseline=ranked(means, self.baseline_rank),
            rewards="gaussian",
            noise=self.noise,
            theta_bound=float(np.sqrt(dot(theta, theta))),
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)
