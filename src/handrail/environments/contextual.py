"""Actions with new features every round, and a baseline that looks at them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from handrail import checks
from handrail.compiled import compiled, inlined
from handrail.counter import child, quantiles, root, shares, uniform
from handrail.environments.drawing import PROBLEMS, dot
from handrail.environments.linear import draw_theta
from handrail.environments.problem import ContextProblem, Contexts
from handrail.errors import InputError
from handrail.records import Floats, Ints

__all__ = ["ContextualLinear"]

_CONTEXTS: Final = 2
"""The streams that features are drawn from, within those of a seed."""
_HALF: Final = math.sqrt(0.5)


@inlined
def _inner_products(rows: Floats, vector: Floats, result: Floats) -> None:
    """Fill in every row's inner product, summed in order; four rows at a time hide the waiting."""
    whole = len(rows) // 4 * 4
    for a in range(0, whole, 4):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(vector.size):
            s0 += rows[a, j] * vector[j]
            s1 += rows[a + 1, j] * vector[j]
            s2 += rows[a + 2, j] * vector[j]
            s3 += rows[a + 3, j] * vector[j]
        result[a], result[a + 1], result[a + 2], result[a + 3] = s0, s1, s2, s3
    for a in range(whole, len(rows)):
        result[a] = dot(rows[a], vector)


@inlined
def _squared_lengths(rows: Floats, result: Floats) -> None:
    """Fill in every row's squared length, in the same way."""
    whole = len(rows) // 4 * 4
    for a in range(0, whole, 4):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(rows.shape[1]):
            s0 += rows[a, j] * rows[a, j]
            s1 += rows[a + 1, j] * rows[a + 1, j]
            s2 += rows[a + 2, j] * rows[a + 2, j]
            s3 += rows[a + 3, j] * rows[a + 3, j]
        result[a], result[a + 1], result[a + 2], result[a + 3] = s0, s1, s2, s3
    for a in range(whole, len(rows)):
        result[a] = dot(rows[a], rows[a])


@inlined
def _fill_shares(key: np.uint64, rows: Floats) -> None:
    """Fill in what a round's features are the quantiles of; where the constant will be, of 0."""
    last = rows.shape[1] - 1
    for a in range(len(rows)):
        shares(child(key, a), 1, rows[a, :last])
        rows[a, last] = 0.5


@inlined
def _finish_round(
    key: np.uint64, theta: Floats, guess: Floats, rows: Floats, means: Floats, guessed: Floats
) -> int:
    """Scale a round's directions, fill in the means, and return the baseline's action."""
    actions, dim = rows.shape
    _squared_lengths(rows, means)
    for a in range(actions):
        scale = _HALF * (0.5 + 0.5 * uniform(child(key, a), 0)) / math.sqrt(means[a])
        for j in range(dim - 1):
            rows[a, j] *= scale
        rows[a, dim - 1] = _HALF
    _inner_products(rows, theta, means)
    _inner_products(rows, guess, guessed)
    best = 0
    for a in range(actions):
        means[a] = min(max(means[a], 0.0), 1.0)
        if guessed[a] > guessed[best]:
            best = a
    return best


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
    guessed = np.empty(means.shape[1])
    for i in range(len(features)):
        _fill_shares(child(key, start + i), features[i])
    quantiles(features.reshape(-1))
    for i in range(len(features)):
        now = child(key, start + i)
        baselines[i] = _finish_round(now, theta, guess, features[i], means[i], guessed)


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
