"""Actions with new features every round, and a baseline that looks at them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from handrail import checks
from handrail.compiled import compiled
from handrail.counter import child, normal, root, uniform
from handrail.environments.drawing import PROBLEMS, dot
from handrail.environments.linear import draw_theta
from handrail.environments.problem import ContextProblem, Contexts
from handrail.errors import InputError
from handrail.records import Floats, Ints

__all__ = ["ContextualLinear"]

_CONTEXTS: Final = 2
"""The streams that features are drawn from, within those of a seed."""
_HALF: Final = math.sqrt(0.5)


@compiled
def _fill(
    key: np.uint64,
    start: int,
    theta: Floats,
    guess: Floats,
    features: Floats,
    means: Floats,
    baselines: Ints,
) -> None:
    rounds, actions, dim = features.shape
    for i in range(rounds):
        now = child(key, start + i)
        best = -math.inf
        for a in range(actions):
            own = child(now, a)
            row = features[i, a]
            square = 0.0
            for j in range(dim - 1):
                row[j] = normal(own, j + 1)
                square += row[j] * row[j]
            scale = _HALF * (0.5 + 0.5 * uniform(own, 0)) / math.sqrt(square)
            for j in range(dim - 1):
                row[j] *= scale
            row[dim - 1] = _HALF
            means[i, a] = min(max(dot(row, theta), 0.0), 1.0)
            guessed = dot(row, guess)
            if guessed > best:
                best = guessed
                baselines[i] = a


@dataclass(frozen=True, slots=True)
class ContextualLinear:
    """Linear means over features that are new every round; Gaussian rewards.

    Parameters
    ----------
    actions : int, default=20
        Actions in each round.
    dim : int, default=20
        Length of the features, one of them constant; at least 2.
    signal : float, default=0.4
        How far means can be from 1/2, at most 1/2.
    perturbation : float, default=1.0
        The baseline's error: the length of what is added to the direction it believes in,
        relative to the true one.
    noise : float, default=0.1
        Standard deviation of the rewards.

    Notes
    -----
    phi = (x, 1) / sqrt 2 with x of random direction and a length from U[1/2, 1], and
    theta = sqrt 2 (w, 1/2) with w of random direction and length `signal`: the means are
    1/2 + <w, x>. The baseline is the greedy policy of w + `perturbation` |w| u, u a random
    direction drawn once a problem: its action, and the mean of it, change with the context. Its
    mean is at least 1/2 - `signal`, which checkpoint algorithms are told. Features are functions of
    (seed, problem, run, round, action).

    Examples
    --------
    >>> problem = ContextualLinear(actions=3, dim=4).problem(seed=0, index=0)
    >>> rounds = problem.contexts(0, 10, 12)  # run 0, its 11th and 12th round
    >>> rounds.features.shape, rounds.baselines.tolist()
    ((2, 3, 4), [1, 0])
    """

    actions: int = 20
    dim: int = 20
    signal: float = 0.4
    perturbation: float = 1.0
    noise: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("actions", self.actions, most=100_000)
        checks.whole("dim", self.dim, least=2, most=10_000)
        checks.number("signal", self.signal)
        if not 0.0 < self.signal <= 0.5:
            raise InputError(
                "signal", f"{self.signal:g} is outside (0, 1/2]", "means must lie in [0, 1]"
            )
        if checks.number("perturbation", self.perturbation) < 0.0:
            raise InputError("perturbation", f"{self.perturbation:g} is below 0")
        checks.positive("noise", self.noise)

    def problem(self, seed: int, index: int) -> ContextProblem:
        """Return a problem, always the same one for the same seed and index."""
        key = root(seed, PROBLEMS, index)
        direction = draw_theta(np.uint64(child(key, 0)), self.dim - 1, 1.0, 1.0)
        error = draw_theta(np.uint64(child(key, 1)), self.dim - 1, 1.0, 1.0)
        theta = np.append(self.signal * direction, 0.5) / _HALF
        guess = np.append(direction + self.perturbation * error, 0.0)
        streams = root(seed, _CONTEXTS, index)

        def contexts(run: int, start: int, stop: int) -> Contexts:
            features = np.empty((stop - start, self.actions, self.dim))
            means = np.empty((stop - start, self.actions))
            baselines = np.zeros(stop - start, np.int64)
            own = np.uint64(child(streams, run))
            _fill(own, start, theta, guess, features, means, baselines)
            return Contexts(features, means, baselines)

        return ContextProblem(
            actions=self.actions,
            dim=self.dim,
            contexts=contexts,
            rewards="gaussian",
            noise=self.noise,
            theta_bound=float(np.sqrt(dot(theta, theta))),
            feature_bound=1.0,
            baseline_lower=0.5 - self.signal,
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)
