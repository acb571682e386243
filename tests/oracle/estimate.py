"""Upper and lower bounds per action, from the rounds learned so far.

Not cut to [0, 1]. An arm never learned from: upper +inf, lower 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from oracle import widths
from oracle.answer import Floats
from oracle.bounded import arm_kl
from oracle.history import History

Interval = tuple[float, float]


@dataclass(frozen=True)
class Settings:
    """What the estimators need to know, for means in [0, 1]."""

    width: str
    noise: float
    level: float
    proved: bool
    tightest_at: float
    arms: int = 0
    arms_ever: int | str | None = None
    ridge: float = 1.0
    theta_bound: float = 0.0
    feature_bound: float = 0.0


@dataclass(frozen=True)
class Ellipsoid:
    """Theta_t = {theta : |theta - theta_hat|_V <= beta} (paper section 2, with V for its V^-1)."""

    theta: Floats
    gram: Floats
    beta: float

    def norms(self, rows: Floats) -> Floats:
        """|x|_{V^-1} = sqrt(x' V^-1 x) of every row x."""
        solved = np.linalg.solve(self.gram, rows.T).T
        return np.asarray(np.sqrt(np.sum(rows * solved, axis=1)))

    def smallest(self, rows: Floats) -> Floats:
        """min over Theta_t of <theta, x> = <theta_hat, x> - beta |x|_{V^-1} of every row x."""
        return rows @ self.theta - self.beta * self.norms(rows)

    def largest(self, rows: Floats) -> Floats:
        """max over Theta_t of <theta, x> of every row x."""
        return rows @ self.theta + self.beta * self.norms(rows)


@dataclass(frozen=True)
class Estimate:
    """Bounds of every action; ``ellipsoid`` is there for the linear estimator."""

    uppers: Floats
    lowers: Floats
    ellipsoid: Ellipsoid | None = None


def share(settings: Settings, arm: int) -> tuple[int, float]:
    """Among how many arms which level is shared equally, as far as this arm is concerned.

    All of the level among K arms, or K_max; where arms may come without end the j-th has
    6 level / (pi j)^2 for itself (j = 1, 2, ...).
    """
    if settings.arms_ever == "any":
        return 1, 6 * settings.level / (math.pi * (arm + 1)) ** 2
    if settings.arms_ever is not None:
        return int(settings.arms_ever), settings.level
    return settings.arms, settings.level


def interval(rewards: Floats, settings: Settings, arms: int, level: float, time: int) -> Interval:
    """Lower and upper bound of one mean; ``level`` is shared by ``arms`` of them."""
    count = len(rewards)
    if count == 0:
        return 0.0, np.inf
    if settings.width == "kl":
        return arm_kl(float(np.sum(rewards)), count, level / arms)
    if settings.width == "wu":
        width = widths.arm_wu(count, arms, settings.noise, level, proved=settings.proved)
    elif settings.width == "ucb1":
        width = widths.arm_ucb1(count, time)
    elif settings.width == "mixture":
        first = None
        if settings.arms_ever == "any":
            first = share(settings, 0)[1]
        width = widths.arm_mixture(count, arms, settings.noise, level, settings.tightest_at, first)
    else:
        raise ValueError(f"unknown width {settings.width!r} of a mean")
    mean = float(np.sum(rewards)) / count
    return mean - width, mean + width


def means(history: History, settings: Settings, time: int, arms: int) -> Estimate:
    """One mean per arm: sum of its rewards / N, and an interval around it. ``arms``: until now."""
    uppers = np.full(arms, np.inf)
    lowers = np.zeros(arms)
    for arm in range(arms):
        rewards = history.rewards[history.learned & (history.actions == arm)]
        lowers[arm], uppers[arm] = interval(rewards, settings, *share(settings, arm), time)
    return Estimate(uppers, lowers)


def linear(history: History, settings: Settings, features: Floats) -> Estimate:
    """Ridge regression: V = lambda I + sum phi phi', theta_hat = V^-1 sum phi r."""
    rows = history.features[history.learned]
    rewards = history.rewards[history.learned]
    count, dim = rows.shape
    gram = settings.ridge * np.eye(dim) + rows.T @ rows
    theta = np.asarray(np.linalg.solve(gram, rows.T @ rewards), dtype=np.float64)
    if settings.width == "paper":
        beta = widths.ellipsoid_paper(
            count,
            dim,
            settings.noise,
            settings.level,
            settings.ridge,
            settings.theta_bound,
            settings.feature_bound,
        )
    elif settings.width == "determinant":
        log_det = float(np.linalg.slogdet(gram)[1])
        beta = widths.ellipsoid_determinant(
            log_det, dim, settings.noise, settings.level, settings.ridge, settings.theta_bound
        )
    else:
        raise ValueError(f"unknown width {settings.width!r} of an ellipsoid")
    ellipsoid = Ellipsoid(theta, gram, beta)
    return Estimate(ellipsoid.largest(features), ellipsoid.smallest(features), ellipsoid)


def intersection(history: History, settings: Settings, features: Floats) -> Estimate:
    """Of two kinds of bounds, each at half of the level: `determinant` and each arm's `mixture`.

    An arm without a reward of its own has those of the ellipsoid.
    """
    half = replace(settings, level=settings.level / 2)
    model = linear(history, replace(half, width="determinant"), features)
    own = means(history, replace(half, width="mixture"), 0, len(features))
    seen = np.isfinite(own.uppers)
    uppers = np.where(seen, np.minimum(model.uppers, own.uppers), model.uppers)
    lowers = np.where(seen, np.maximum(model.lowers, own.lowers), model.lowers)
    return Estimate(uppers, lowers, model.ellipsoid)
