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
from handrail.records import Floats, Ints

__all__ = ["ContextProblem", "Contexts", "Environment", "FixedProblem", "Problem"]


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
        """Check the shapes, and turn arrays into what compiled code expects."""
        means = checks.array("means", self.means, (None,))
        object.__setattr__(self, "means", means)
        if self.features is not None:
            features = checks.array("features", self.features, (means.size, None))
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


@dataclass(frozen=True, slots=True)
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


Problem: TypeAlias = FixedProblem | ContextProblem


class Environment(Protocol):
    """A family of problems with its parameters; `handrail.testing.check_environment` checks one.

    Environments are made once and asked for problems from several threads.
    """

    def problem(self, seed: int, index: int) -> Problem:
        """Return a problem, always the same one for the same seed and index."""

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index, ready for JSON."""
