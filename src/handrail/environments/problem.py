"""A problem: one drawn model, as the data that policies and the simulator need.

Means lie in [0, 1]. Which reward the j-th play of an arm earns is not the problem's business:
the simulator draws it from the problem's means (`handrail.environments.rewards`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from handrail import checks
from handrail.environments.rewards import REWARDS
from handrail.errors import InputError
from handrail.records import Floats, Ints

__all__ = [
    "ContextProblem",
    "Contexts",
    "Environment",
    "FixedProblem",
    "Problem",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedProblem:
    """Arms that stay the same: the baseline is one of them.

    Parameters
    ----------
    means : numpy.ndarray of shape (K,)
        The true means, in [0, 1].
    features : numpy.ndarray of shape (K, d), optional
        With <theta, phi_a> = means[a] for some theta. Left out, linear policies see the
        canonical basis.
    baseline : int
        The baseline's index.
    rewards : {"bernoulli", "gaussian"}
        How rewards are drawn around their means.
    noise : float
        Standard deviation of Gaussian rewards; the sub-Gaussian constant that policies are told.
    theta_bound : float
        B >= |theta|, which linear policies are told.
    """

    means: Floats
    features: Floats | None = None
    baseline: int
    rewards: str
    noise: float
    theta_bound: float

    def __post_init__(self) -> None:
        """Check the parts, and turn arrays into what compiled code expects."""
        means = checks.array("means", self.means, (None,))
        _check_means(means)
        object.__setattr__(self, "means", means)
        _check_scalars(self)
        if self.features is not None:
            features = checks.array("features", self.features, (means.size, None))
            checks.finite("features", features)
            object.__setattr__(self, "features", features)
        object.__setattr__(self, "baseline", checks.index("baseline", self.baseline, means.size))

    def rows(self) -> Floats:
        """Return the features linear policies see."""
        return np.eye(self.means.size) if self.features is None else self.features


class Contexts(NamedTuple):
    """What some consecutive rounds of a run bring."""

    features: Floats
    """(rounds, actions, d)."""
    means: Floats
    """(rounds, actions), in [0, 1]."""
    baselines: Ints
    """(rounds,): the baseline's action in each round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextProblem:
    """Actions whose features are new every round, and a baseline that changes with them.

    Parameters
    ----------
    actions, dim : int
        The number of actions and the length of their features.
    contexts : callable
        ``contexts(run, start, stop)`` returns the `Contexts` of the rounds start, ...,
        stop - 1 (the first round is 0) of a run. It must be a pure function: rounds are asked
        for again, in other portions, and from several threads.
    rewards, noise, theta_bound
        As for fixed arms.
    feature_bound : float
        D >= |phi| for every action of every round.
    baseline_lower : float
        A lower bound on the baseline's mean in every round.
    """

    actions: int
    dim: int
    contexts: Callable[[int, int, int], Contexts]
    rewards: str
    noise: float
    theta_bound: float
    feature_bound: float
    baseline_lower: float

    def __post_init__(self) -> None:
        """Check what can be checked before a round is brought."""
        checks.whole("actions", self.actions)
        checks.whole("dim", self.dim)
        checks.positive("feature_bound", self.feature_bound)
        if not 0.0 <= checks.number("baseline_lower", self.baseline_lower) <= 1.0:
            raise InputError("baseline_lower", f"{self.baseline_lower:g} is outside [0, 1]")
        _check_scalars(self)

    def bring(self, run: int, start: int, stop: int) -> Contexts:
        """Return `contexts(run, start, stop)`, checked, as what compiled code expects."""
        size = stop - start
        brought = self.contexts(run, start, stop)
        shape = (size, self.actions, self.dim)
        features = checks.finite("features", checks.array("features", brought[0], shape))
        means = checks.array("means", brought[1], shape[:2])
        _check_means(means)
        baselines = np.ascontiguousarray(brought[2], np.int64)
        inside = baselines.shape == shape[:1] and (0 <= baselines.min() <= baselines.max())
        if not inside or baselines.max() >= self.actions:
            raise InputError(
                "baselines", "are not one action for each round", f"bring {size} from 0 up"
            )
        return Contexts(features, means, baselines)


def _check_means(means: Floats) -> None:
    """Refuse means outside [0, 1]."""
    if not (means.min() >= 0.0 and means.max() <= 1.0):
        raise InputError("means", "lie outside [0, 1]", "shift and scale rewards to that range")


def _check_scalars(problem: FixedProblem | ContextProblem) -> None:
    checks.one_of("rewards", problem.rewards, REWARDS)
    checks.positive("noise", problem.noise)
    checks.positive("theta_bound", problem.theta_bound)


Problem: TypeAlias = FixedProblem | ContextProblem


class Environment(Protocol):
    """A family of problems with its parameters; `handrail.testing.check_environment` checks one.

    Environments are made once and asked for problems from several threads.
    """

    def problem(self, seed: int, index: int) -> Problem:
        """Return a problem, always the same one for the same seed and index."""

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index, ready for JSON."""
