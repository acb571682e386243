"""Linear problems on which a bound that is too small gets caught: fixed arms and contexts."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from handrail import checks
from handrail.counter import child, normals, root
from handrail.environments.drawing import PROBLEMS, uniforms
from handrail.environments.problem import ContextProblem, Contexts, FixedProblem
from handrail.errors import InputError
from handrail.records import Floats

__all__ = ["Echoes", "Lures", "Traps", "Wilderness"]

_CONTEXTS: Final = 2
"""The streams that features are drawn from, within those of a seed."""
_PAYS, _TAKES = 1.0 / 20.0, 4.0 / 20.0
"""Of theta, what makes lures look good and what makes them worthless: the features are long, so
that the former is soon learned, whatever the ridge."""


def _stream(key: np.uint64, part: int) -> np.uint64:
    return np.uint64(child(key, part))


def _reflect(vectors: Floats, mirror: Floats) -> Floats:
    """Reflect vectors in the plane orthogonal to another, so that no axis is special.

    Row by row: the same bits whatever rows are asked for together.
    """
    along = (vectors * mirror).sum(axis=-1, keepdims=True)
    return np.asarray(vectors - 2.0 * along * mirror)


def _units(key: np.uint64, shape: tuple[int, ...], first: int = 0) -> Floats:
    """Return vectors of length 1 in random directions, from the stream's numbers after some."""
    flat = np.empty(math.prod(shape))
    normals(key, first, flat)
    vectors = flat.reshape(shape)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _check_mean(field: str, value: float) -> None:
    if not 0.0 < checks.number(field, value) <= 1.0:
        raise InputError(field, f"{value:g} is outside (0, 1]", "means must lie in [0, 1]")


@dataclass(frozen=True, slots=True)
class Traps:
    """Fixed arms with features, all worth nothing but the baseline; loud Gaussian rewards.

    Parameters
    ----------
    arms : int, default=20
        K, the baseline included; at least 2.
    dim : int, default=5
        Length of the features; at least 3.
    baseline_mean : float, default=0.05
        The baseline's mean.
    noise : float, default=1.0
        Standard deviation of the rewards: the sub-Gaussian constant with equality.

    Notes
    -----
    theta has length 1; the baseline's feature is baseline_mean theta, all others are of length 1
    and orthogonal to theta. What is learned of one trap is believed of its neighbours.

    Examples
    --------
    >>> problem = Traps(arms=3, dim=4).problem(seed=0, index=0)
    >>> problem.means.round(12).tolist(), problem.features.shape
    ([0.0, 0.0, 0.05], (3, 4))
    """

    arms: int = 20
    dim: int = 5
    baseline_mean: float = 0.05
    noise: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, least=2, most=100_000)
        checks.whole("dim", self.dim, least=3, most=10_000)
        _check_mean("baseline_mean", self.baseline_mean)
        checks.positive("noise", self.noise)

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        key = root(seed, PROBLEMS, index)
        features = np.zeros((self.arms, self.dim))
        features[:-1, 1:] = _units(_stream(key, 0), (self.arms - 1, self.dim - 1))
        features[-1, 0] = self.baseline_mean
        means = np.zeros(self.arms)
        means[-1] = self.baseline_mean
        return FixedProblem(
            means=means,
            features=_reflect(features, _units(_stream(key, 1), (self.dim,))),
            baseline=self.arms - 1,
            rewards="gaussian",
            noise=self.noise,
            theta_bound=1.0,
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Wilderness:
    """Contexts worth nothing, all much alike for a while and then elsewhere; loud rewards.

    Parameters
    ----------
    actions : int, default=6
        Actions in each round, the baseline included; at least 2.
    dim : int, default=6
        Length of the features; at least 3.
    baseline_mean : float, default=0.05
        The largest mean of the baseline; it changes from round to round, down to half of it.
    dwell : int, default=40
        Rounds for which the features of all actions stay near one direction.
    noise : float, default=1.0
        Standard deviation of the rewards: the sub-Gaussian constant with equality.

    Notes
    -----
    `Traps` with contexts: what was learned in one direction says nothing about the next one, where
    the ellipsoid is as wide as it was at first.

    Examples
    --------
    >>> rounds = Wilderness().problem(seed=0, index=0).contexts(0, 0, 2)
    >>> rounds.features.shape, rounds.means[:, 1:].max().item()
    ((2, 6, 6), 0.0)
    """

    actions: int = 6
    dim: int = 6
    baseline_mean: float = 0.05
    dwell: int = 40
    noise: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("actions", self.actions, least=2, most=100_000)
        checks.whole("dim", self.dim, least=3, most=10_000)
        _check_mean("baseline_mean", self.baseline_mean)
        checks.whole("dwell", self.dwell)
        checks.positive("noise", self.noise)

    def problem(self, seed: int, index: int) -> ContextProblem:
        """Return a problem, always the same one for the same seed and index."""
        mirror = _units(root(seed, PROBLEMS, index), (self.dim,))
        streams = root(seed, _CONTEXTS, index)

        def contexts(run: int, start: int, stop: int) -> Contexts:
            size = stop - start
            own = _stream(streams, run)
            share = np.empty(size)
            uniforms(_stream(own, 0), start, share)
            others = (self.actions - 1, self.dim - 1)
            near = 0.5 * _units(_stream(own, 1), (size, *others), start * math.prod(others))
            place = np.arange(size)
            near[place, :, (start + place) // self.dwell % (self.dim - 1)] += 1.0
            near /= np.linalg.norm(near, axis=-1, keepdims=True)
            means = np.zeros((size, self.actions))
            means[:, 0] = self.baseline_mean * (0.5 + 0.5 * share)
            features = np.zeros((size, self.actions, self.dim))
            features[:, 0, 0] = means[:, 0]
            features[:, 1:, 1:] = near
            return Contexts(_reflect(features, mirror), means, np.zeros(stop - start, np.int64))

        return ContextProblem(
            actions=self.actions,
            dim=self.dim,
            contexts=contexts,
            rewards="gaussian",
            noise=self.noise,
            theta_bound=1.0,
            feature_bound=1.0 + 1e-9,
            baseline_lower=0.5 * self.baseline_mean,
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Lures:
    """Contexts that look like what has paid so far, and pay nothing for a reason not seen yet.

    Parameters
    ----------
    actions : int, default=4
        Actions in each round, the baseline included; at least 2.
    lures : int, default=8
        Directions that take the reward away, one after the other; at least 1.
    early : int, default=100
        Rounds before the first of them.
    dwell : int, default=2
        Rounds with one of them before the next.
    baseline_mean : float, default=0.5
        The baseline's mean.
    noise : float, default=0.001
        Standard deviation of the rewards: small, so that it is the bound on theta that decides.

    Notes
    -----
    theta = (1, -4, ..., -4) / 20. Early actions are (20 p, 0, ..., 0), worth p, which is about as
    much as the baseline; later ones are (20 p, 0, ..., 5 p, ..., 0), worth 0, with the second entry
    where nothing has been learned yet: ridge regression takes theta for 0 there and believes the
    action to be worth p. Only B sqrt(lambda) in the ellipsoid's radius stands against it.
    All of it is reflected in a plane drawn for each problem.

    Examples
    --------
    >>> rounds = Lures(early=1).problem(seed=0, index=0).contexts(0, 0, 2)
    >>> rounds.means.round(2).tolist()
    [[0.5, 0.49, 0.51, 0.51], [0.5, 0.0, 0.0, 0.0]]
    """

    actions: int = 4
    lures: int = 8
    early: int = 100
    dwell: int = 2
    baseline_mean: float = 0.5
    noise: float = 0.001

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("actions", self.actions, least=2, most=100_000)
        checks.whole("lures", self.lures, most=10_000)
        checks.whole("early", self.early, least=0)
        checks.whole("dwell", self.dwell)
        _check_mean("baseline_mean", self.baseline_mean)
        checks.positive("noise", self.noise)

    def problem(self, seed: int, index: int) -> ContextProblem:
        """Return a problem, always the same one for the same seed and index."""
        dim = 1 + self.lures
        most = min(1.05 * self.baseline_mean, 1.0)
        mirror = _units(root(seed, PROBLEMS, index), (dim,))
        streams = root(seed, _CONTEXTS, index)

        def contexts(run: int, start: int, stop: int) -> Contexts:
            size, others = stop - start, self.actions - 1
            share = np.empty(size * others)
            uniforms(_stream(streams, run), start * others, share)
            paid = np.minimum(self.baseline_mean * (0.95 + 0.1 * share.reshape(size, others)), 1.0)
            now = np.arange(start, stop)
            lured = now >= self.early
            direction = 1 + (now - self.early)[lured] // self.dwell % self.lures
            means = np.full((size, self.actions), self.baseline_mean)
            means[:, 1:] = np.where(lured[:, None], 0.0, paid)
            features = np.zeros((size, self.actions, dim))
            features[:, 0, 0] = self.baseline_mean / _PAYS
            features[:, 1:, 0] = paid / _PAYS
            features[np.flatnonzero(lured), 1:, direction] = paid[lured] / _TAKES
            return Contexts(_reflect(features, mirror), means, np.zeros(stop - start, np.int64))

        return ContextProblem(
            actions=self.actions,
            dim=dim,
            contexts=contexts,
            rewards="gaussian",
            noise=self.noise,
            theta_bound=math.sqrt(_PAYS**2 + self.lures * _TAKES**2),
            feature_bound=most * math.hypot(1.0 / _PAYS, 1.0 / _TAKES) + 1e-9,
            baseline_lower=self.baseline_mean,
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Echoes:
    """Contexts in which another baseline had the features of what costs a little now.

    Parameters
    ----------
    small : float, default=0.3
        The baseline's mean in every other round.
    large : float, default=1.0
        Its mean in the rounds between.
    loss : float, default=0.15
        How far the other action is below the baseline, as a share of its mean; up to a hundredth
        more, from round to round.
    noise : float, default=0.01
        Standard deviation of the rewards.

    Notes
    -----
    theta = (1, 1). In even rounds the baseline is (small, 0), in odd ones (0, large); the other
    action is about (1 - loss) times that long, always along the first axis. An interval for the
    baseline's mean is cut at 1: in odd rounds nothing is in doubt, in even ones much is. Whoever
    learns the upper end as the mean there takes the first entry of theta for more than it is. All
    of it is reflected in a plane drawn for each problem.

    Examples
    --------
    >>> rounds = Echoes(loss=0.5).problem(seed=0, index=0).contexts(0, 0, 2)
    >>> rounds.means.round(2).tolist()
    [[0.3, 0.15], [1.0, 0.5]]
    """

    small: float = 0.3
    large: float = 1.0
    loss: float = 0.15
    noise: float = 0.01

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check_mean("small", self.small)
        _check_mean("large", self.large)
        checks.share("loss", self.loss)
        checks.positive("noise", self.noise)

    def problem(self, seed: int, index: int) -> ContextProblem:
        """Return a problem, always the same one for the same seed and index."""
        mirror = _units(root(seed, PROBLEMS, index), (2,))
        streams = root(seed, _CONTEXTS, index)

        def contexts(run: int, start: int, stop: int) -> Contexts:
            odd = np.arange(start, stop) % 2
            features = np.zeros((odd.size, 2, 2))
            features[:, 0, 0] = np.where(odd, 0.0, self.small)
            features[:, 0, 1] = np.where(odd, self.large, 0.0)
            share = np.empty(odd.size)
            uniforms(_stream(streams, run), start, share)
            kept = 1.0 - self.loss - 0.01 * share * (1.0 - self.loss)
            features[:, 1, 0] = kept * np.where(odd, self.large, self.small)
            means = features.sum(axis=-1)
            return Contexts(_reflect(features, mirror), means, np.zeros(odd.size, np.int64))

        return ContextProblem(
            actions=2,
            dim=2,
            contexts=contexts,
            rewards="gaussian",
            noise=self.noise,
            theta_bound=math.sqrt(2.0),
            feature_bound=max(self.small, self.large) + 1e-9,
            baseline_lower=min(self.small, self.large),
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)
