"""Fixed arms on which a bound that is too small gets caught.

A promise can only be broken while a policy plays arms that cost it something and believes to be
covered. These problems keep it doing so: next to nothing beside the baseline pays, and what it is
told about the arms is noise.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from handrail import checks
from handrail.counter import root
from handrail.environments.drawing import PROBLEMS, dot, uniforms
from handrail.environments.problem import FixedProblem
from handrail.errors import InputError
from handrail.records import Floats

__all__ = ["Extremes", "LongShots", "Loud", "Shortfalls", "TinyGaps"]


def _drawn(seed: int, index: int, arms: int) -> Floats:
    """Return a uniform number for each arm but the baseline, which is the last."""
    numbers = np.empty(arms - 1)
    uniforms(root(seed, PROBLEMS, index), 0, numbers)
    return numbers


def _arms(means: Floats, baseline_mean: float, rewards: str, noise: float) -> FixedProblem:
    """Return the arms with these means, and the baseline as the last of them."""
    every = np.append(means, baseline_mean)
    return FixedProblem(
        means=every,
        baseline=means.size,
        rewards=rewards,
        noise=noise,
        theta_bound=max(float(np.sqrt(dot(every, every))), 1e-9),
    )


def _check_mean(field: str, value: float) -> None:
    if not 0.0 <= checks.number(field, value) <= 1.0:
        raise InputError(field, f"{value:g} is outside [0, 1]", "means must lie in [0, 1]")


@dataclass(frozen=True, slots=True)
class Loud:
    """Arms that pay nothing, or next to it, under noise that drowns the baseline's mean.

    Parameters
    ----------
    arms : int, default=5
        K, the baseline included; at least 2.
    baseline_mean : float, default=0.05
        The baseline's mean.
    high : float, default=0.002
        The others' means are drawn uniformly from [0, high].
    noise : float, default=1.0
        Standard deviation of the rewards: the sub-Gaussian constant with equality.

    Notes
    -----
    The sharpest of the problems. Every play of another arm costs about mu_b, so the budget stays
    within mu_b of 0, and any lower bound that is above the truth by a fraction of mu_b is paid for
    with a violation.

    Examples
    --------
    >>> Loud(arms=3).problem(seed=0, index=0).means.round(4).tolist()
    [0.0006, 0.0019, 0.05]
    """

    arms: int = 5
    baseline_mean: float = 0.05
    high: float = 0.002
    noise: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, least=2, most=100_000)
        _check_mean("baseline_mean", self.baseline_mean)
        _check_mean("high", self.high)
        checks.positive("noise", self.noise)

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        means = self.high * _drawn(seed, index, self.arms)
        return _arms(means, self.baseline_mean, "gaussian", self.noise)

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LongShots:
    """Many Bernoulli arms that seldom pay, every other one never: early luck looks like a find.

    Parameters
    ----------
    arms : int, default=30
        K, the baseline included; at least 2.
    baseline_mean : float, default=0.3
        The baseline's mean.
    high : float, default=0.1
        The means of the arms that pay are drawn uniformly from [0, high].

    Examples
    --------
    >>> LongShots(arms=5).problem(seed=0, index=0).means.round(3).tolist()
    [0.032, 0.0, 0.096, 0.0, 0.3]
    """

    arms: int = 30
    baseline_mean: float = 0.3
    high: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, least=2, most=100_000)
        _check_mean("baseline_mean", self.baseline_mean)
        _check_mean("high", self.high)

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        means = self.high * _drawn(seed, index, self.arms)
        means[1::2] = 0.0
        return _arms(means, self.baseline_mean, "bernoulli", 0.5)

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Extremes:
    """Bernoulli arms at 0, just below 1, and in every other problem at 1; the baseline is at 1.

    Parameters
    ----------
    arms : int, default=20
        K, the baseline included; at least 3.
    spread : float, default=0.3
        The means of the arms below 1 are drawn uniformly from [1 - spread, 1].

    Notes
    -----
    Rewards of the baseline and of the arms at 0 and 1 never vary, those of the others seldom: a
    bound that trusts a variance it has not seen yet fails here.

    Examples
    --------
    >>> Extremes(arms=5).problem(seed=0, index=1).means.round(3).tolist()
    [0.0, 1.0, 0.884, 0.818, 1.0]
    """

    arms: int = 20
    spread: float = 0.3

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, least=3, most=100_000)
        _check_mean("spread", self.spread)

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        means = 1.0 - self.spread * _drawn(seed, index, self.arms)
        means[0] = 0.0
        if index % 2:
            means[1] = 1.0
        return _arms(means, 1.0, "bernoulli", 0.5)

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TinyGaps:
    """Bernoulli arms just below the baseline and one just above it, about 1/2.

    Parameters
    ----------
    arms : int, default=10
        K, the baseline included; at least 2.
    gap : float, default=0.02
        Means below the baseline's are drawn uniformly from gap to twice the gap below it.
    better : float, default=0.002
        How far the best arm is above the baseline. 0: the baseline is the best.

    Notes
    -----
    With (1 - alpha) / 2 > 1/2 - gap the arms below the baseline cost more than alpha allows, by so
    little that they take thousands of rounds to tell apart: the budget is spent down to what the
    bound keeps back. Rewards of 0 and 1 about 1/2 have the largest variance that rewards in [0, 1]
    can have.

    Examples
    --------
    >>> TinyGaps(arms=4).problem(seed=0, index=0).means.round(3).tolist()
    [0.502, 0.461, 0.461, 0.5]
    """

    arms: int = 10
    gap: float = 0.02
    better: float = 0.002

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, least=2, most=100_000)
        if not 0.0 <= checks.number("gap", self.gap) <= 0.25:
            raise InputError("gap", f"{self.gap:g} is outside [0, 1/4]", "means must lie in [0, 1]")
        if not 0.0 <= checks.number("better", self.better) <= 0.5:
            raise InputError("better", f"{self.better:g} is outside [0, 1/2]", "the same holds")

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        means = 0.5 - self.gap * (1.0 + _drawn(seed, index, self.arms))
        if self.better > 0.0:
            means[0] = 0.5 + self.better
        return _arms(means, 0.5, "bernoulli", 0.5)

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Shortfalls:
    """Bernoulli arms that are worth about the same, less than alpha leaves of the baseline.

    Parameters
    ----------
    arms : int, default=2
        K, the baseline included; at least 2.
    mean : float, default=0.9
        The largest mean of the other arms, which are drawn uniformly from [0.99 mean, mean].
    baseline_mean : float, default=1.0
        The baseline's mean.

    Notes
    -----
    A bound is crossed by luck, and luck turns. With (1 - alpha) baseline_mean far above the mean,
    the loss of many plays is on the books before it does, so that nearly every crossing breaks the
    promise. Near 1 a run of luck shows no variance.

    Examples
    --------
    >>> Shortfalls(arms=3, mean=0.6).problem(seed=0, index=0).means.round(3).tolist()
    [0.596, 0.6, 1.0]
    """

    arms: int = 2
    mean: float = 0.9
    baseline_mean: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        checks.whole("arms", self.arms, least=2, most=100_000)
        _check_mean("mean", self.mean)
        _check_mean("baseline_mean", self.baseline_mean)

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        means = self.mean * (0.99 + 0.01 * _drawn(seed, index, self.arms))
        return _arms(means, self.baseline_mean, "bernoulli", 0.5)

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return asdict(self)
