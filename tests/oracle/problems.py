"""Random problems to run the oracle and the library on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from oracle.answer import Floats
from oracle.catalogue import Parts

Arguments = dict[str, Any]


class Problem(Protocol):
    """What the world answers. ``settings`` is all that may be told when a policy is made."""

    settings: Arguments

    def ask(self) -> Arguments:
        """What is told at the start of one more round."""
        ...

    def reward(self, action: int) -> float:
        """The reward of an action in the current round."""
        ...


def arguments(parts: Parts, settings: Mapping[str, Any]) -> Arguments:
    """Those settings that an algorithm of these parts uses."""
    unused: set[str] = set()
    if parts.past == "none":
        unused |= {"alpha", "baseline_mean"}
    if parts.past != "oracle":
        unused.add("true_means")
    sums = parts.past in ("martingale", "larger")
    if not sums:
        unused |= {"cumulative", "delta_weights"}
    if parts.past in ("none", "oracle"):
        unused.add("clip")
    if parts.schedule != "checkpoints":
        unused |= {"checkpoint_every", "checkpoints", "checkpoint_gap", "baseline_lower"}
    if parts.estimator == "means":
        unused |= {"features", "dim", "theta_bound", "feature_bound", "ridge"}
    else:
        unused.add("arms")
    summed = settings.get("cumulative") if sums else None
    if "mixture" not in (settings.get("width"), summed):
        unused.add("tightest_at")
    return {
        key: value for key, value in settings.items() if key not in unused and value is not None
    }


class Bernoulli:
    """Fixed arms whose rewards are lo or hi; the baseline is the arm of a given rank (0 = best)."""

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        arms: int = 6,
        rank: int = 2,
        reward_range: tuple[float, float] = (0.0, 1.0),
        **more: Any,
    ) -> None:
        self.rng = rng
        lo, hi = reward_range
        self.chances: Floats = rng.uniform(0.05, 0.95, arms)
        self.reward_range = reward_range
        baseline = int(np.argsort(-self.chances)[rank])
        means = lo + (hi - lo) * self.chances
        self.settings: Arguments = {
            "arms": arms,
            "baseline": baseline,
            "baseline_mean": float(means[baseline]),
            "alpha": float(rng.uniform(0.1, 0.4)),
            "delta": 0.1,
            "reward_range": reward_range,
            "true_means": means,
            "checkpoint_every": 5,
            **more,
        }

    def ask(self) -> Arguments:
        """Nothing."""
        return {}

    def reward(self, action: int) -> float:
        """Hi with the arm's chance, else lo."""
        return self.reward_range[int(self.rng.random() < self.chances[action])]


class WanderingBaseline(Bernoulli):
    """Bernoulli arms, any of which may be the baseline of a round."""

    def ask(self) -> Arguments:
        """The baseline, its mean, or nothing: then those of the beginning hold."""
        if self.rng.random() < 0.5:
            return {}
        lo, hi = self.reward_range
        arm = int(self.rng.integers(len(self.chances)))
        return {"baseline": arm, "baseline_mean": float(lo + (hi - lo) * self.chances[arm])}


class GaussianArms:
    """Fixed arms with unbounded rewards whose means lie in a declared range."""

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        arms: int = 5,
        rank: int = 2,
        mean_range: tuple[float, float] | None = None,
        noise: float = 0.3,
        **more: Any,
    ) -> None:
        self.rng = rng
        lo, hi = mean_range or (0.0, 1.0)
        self.means: Floats = lo + (hi - lo) * rng.uniform(0.05, 0.95, arms)
        self.noise = noise * (hi - lo)
        baseline = int(np.argsort(-self.means)[rank])
        self.settings: Arguments = {
            "arms": arms,
            "baseline": baseline,
            "baseline_mean": float(self.means[baseline]),
            "alpha": float(rng.uniform(0.1, 0.4)),
            "delta": 0.05,
            "noise": self.noise,
            "true_means": self.means,
            "checkpoint_every": 5,
            **more,
        }
        if mean_range is not None:
            self.settings["mean_range"] = mean_range

    def ask(self) -> Arguments:
        """Nothing."""
        return {}

    def reward(self, action: int) -> float:
        """The mean and some noise."""
        return float(self.means[action] + self.noise * self.rng.standard_normal())


class LinearArms:
    """Fixed arms with features; rewards are Gaussian, or cut to ``reward_range`` if that is given.

    Features are drawn until every mean <theta, phi> lies in [lo, hi].
    """

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        arms: int = 8,
        dim: int = 4,
        rank: int = 2,
        noise: float = 0.1,
        reward_range: tuple[float, float] | None = None,
        mean_range: tuple[float, float] | None = None,
        **more: Any,
    ) -> None:
        self.rng = rng
        self.reward_range = reward_range
        lo, hi = reward_range or mean_range or (0.0, 1.0)
        self.noise = noise * (hi - lo)
        theta = _direction(rng, dim) * max(abs(lo), abs(hi))
        self.rows = np.array([_row(rng, theta, lo, hi) for _ in range(arms)])
        self.means: Floats = self.rows @ theta
        baseline = int(np.argsort(-self.means)[rank])
        self.settings: Arguments = {
            "features": self.rows,
            "baseline": baseline,
            "baseline_mean": float(self.means[baseline]),
            "alpha": float(rng.uniform(0.1, 0.4)),
            "delta": 0.05,
            "theta_bound": float(np.linalg.norm(theta)),
            "ridge": 0.5,
            "true_means": self.means,
            "checkpoint_every": 5,
            **more,
        }
        if reward_range is not None:
            self.settings["reward_range"] = reward_range
        else:
            self.settings["noise"] = self.noise
        if mean_range is not None:
            self.settings["mean_range"] = mean_range

    def ask(self) -> Arguments:
        """Nothing."""
        return {}

    def reward(self, action: int) -> float:
        """The mean and some noise, symmetric about it even where the range ends."""
        return _noisy(self.rng, float(self.means[action]), self.noise, self.reward_range)


class WanderingLinear(LinearArms):
    """Fixed arms with features, any of which may be the baseline of a round."""

    def ask(self) -> Arguments:
        """The baseline, its mean, or nothing: then those of the beginning hold."""
        if self.rng.random() < 0.5:
            return {}
        arm = int(self.rng.integers(len(self.means)))
        return {"baseline": arm, "baseline_mean": float(self.means[arm])}


class Contexts:
    """Features, their number, the baseline and its mean are new every round."""

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        dim: int = 4,
        most: int = 7,
        noise: float = 0.1,
        best: float = 0.75,
        reward_range: tuple[float, float] | None = None,
        tell_truth: bool = False,
        **more: Any,
    ) -> None:
        self.rng = rng
        self.most = most
        self.best = best
        self.tell_truth = tell_truth
        self.reward_range = reward_range
        self.lo, self.hi = reward_range or (0.0, 1.0)
        self.noise = noise * (self.hi - self.lo)
        self.theta = _direction(rng, dim) * max(abs(self.lo), abs(self.hi))
        self.means: Floats = np.zeros(0)
        self.settings: Arguments = {
            "dim": dim,
            "alpha": float(rng.uniform(0.1, 0.4)),
            "delta": 0.05,
            "theta_bound": float(np.linalg.norm(self.theta)),
            "feature_bound": 1.5,
            "ridge": 0.7,
            "checkpoint_every": 5,
            "baseline_lower": self.lo + 0.1 * (self.hi - self.lo),
            **more,
        }
        if reward_range is not None:
            self.settings["reward_range"] = reward_range
        else:
            self.settings["noise"] = self.noise

    def ask(self) -> Arguments:
        """Two to ``most`` actions, most of them worse than the baseline, except now and then."""
        count = int(self.rng.integers(2, self.most + 1))
        span = self.hi - self.lo
        top = self.lo + self.best * span
        rows = np.array([_row(self.rng, self.theta, self.lo, top) for _ in range(count)])
        baseline = int(self.rng.integers(count))
        low, high = (0.1, 0.3) if self.rng.random() < 0.3 else (0.5, 0.9)
        rows[baseline] = _row(self.rng, self.theta, self.lo + low * span, self.lo + high * span)
        self.means = rows @ self.theta
        told: Arguments = {
            "features": rows,
            "baseline": baseline,
            "baseline_mean": float(self.means[baseline]),
        }
        if self.tell_truth:
            told["true_means"] = self.means
        return told

    def reward(self, action: int) -> float:
        """The mean and some noise."""
        return _noisy(self.rng, float(self.means[action]), self.noise, self.reward_range)


def _direction(rng: np.random.Generator, dim: int) -> Floats:
    vector = rng.standard_normal(dim)
    return np.asarray(vector / np.linalg.norm(vector))


def _row(rng: np.random.Generator, theta: Floats, lo: float, hi: float) -> Floats:
    """A feature vector of norm at most 1.5 with its mean in [lo, hi]: along theta, then across."""
    length = float(np.linalg.norm(theta))
    along = rng.uniform(lo, hi) / length
    across = rng.standard_normal(len(theta))
    across -= theta * float(across @ theta) / length**2
    size = float(np.linalg.norm(across))
    if size > 0:
        across *= rng.uniform(0.0, 1.0) / size
    return np.asarray(theta / length * along + across)


def _noisy(
    rng: np.random.Generator, mean: float, noise: float, limits: tuple[float, float] | None
) -> float:
    error = noise * float(rng.standard_normal())
    if limits is not None:
        room = min(mean - limits[0], limits[1] - mean)
        error = min(max(error, -room), room)
    return mean + error
