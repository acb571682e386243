"""The oracle: one round of a conservative bandit, computed from the whole history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from oracle import estimate, past, schedule, selection, widths
from oracle.answer import Answer, Floats
from oracle.catalogue import CATALOGUE, Parts
from oracle.estimate import Estimate
from oracle.history import History
from oracle.levels import levels
from oracle.units import Units


class Oracle:
    """An algorithm of the catalogue by its name, or four parts by hand.

    The names of the arguments are those of the library; everything goes in and out in the user's
    units and is turned to means in [0, 1] in between.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        arms: int | None = None,
        dim: int | None = None,
        features: ArrayLike | None = None,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float | None = None,
        delta: float | None = None,
        noise: float | None = None,
        reward_range: tuple[float, float] | None = None,
        mean_range: tuple[float, float] | None = None,
        theta_bound: float | None = None,
        feature_bound: float | None = None,
        ridge: float = 1.0,
        width: str | None = None,
        cumulative: str = "paper",
        accounting: str = "union",
        clip: str = "zero",
        checkpoint_every: int | None = None,
        baseline_lower: float | None = None,
        true_means: ArrayLike | None = None,
        window: int | None = None,
        default_reward: float | None = None,
        delta_weights: Mapping[str, float] | None = None,
        tightest_at: float = 1000.0,
        parts: Sequence[str] | None = None,
    ) -> None:
        self.parts = Parts(*parts) if parts is not None else CATALOGUE[str(name)]
        self.units = Units(*(reward_range or mean_range or (0.0, 1.0)))
        if noise is None:
            if reward_range is None:
                raise ValueError("noise or reward_range is needed")
            noise = self.units.span / 2
        self.noise = noise / self.units.span
        self.baseline = baseline
        self.baseline_mean = baseline_mean
        self.alpha = alpha
        self.clip = {"zero": True, "none": False}[clip]
        self.cumulative = cumulative
        self.proved = accounting == "union"
        self.tightest_at = tightest_at
        self.checkpoint_every = checkpoint_every
        self.baseline_lower = baseline_lower if baseline_lower is not None else baseline_mean
        self.true_means = true_means
        self.levels = levels(
            self.parts.past, math.nan if delta is None else delta, accounting, delta_weights
        )
        self.features: Floats | None = None
        if self.parts.estimator == "means":
            if arms is None:
                raise ValueError("means need arms")
            size, default_width = 0, "wu"
        else:
            if features is not None:
                rows = np.asarray(features, dtype=np.float64)
                self.features = self.units.features(rows)
                dim = rows.shape[1]
                if feature_bound is None:
                    feature_bound = float(np.max(np.linalg.norm(rows, axis=1)))
            if dim is None or theta_bound is None or feature_bound is None:
                raise ValueError("linear needs features or dim, and both bounds")
            theta_bound = self.units.theta_bound(theta_bound)
            feature_bound = self.units.feature_bound(feature_bound)
            size = dim if self.units.lo == 0 else dim + 1
            default_width = "paper" if size > 1 else "determinant"
        self.settings = estimate.Settings(
            width=width or default_width,
            noise=self.noise,
            level=self.levels["estimator"],
            proved=self.proved,
            tightest_at=tightest_at,
            arms=arms or 0,
            ridge=ridge,
            theta_bound=theta_bound or 0.0,
            feature_bound=feature_bound or 0.0,
        )
        default = None if default_reward is None else self.units.inward(default_reward)
        self.history = History(size, window, default)

    def learn(self, round: int, reward: float) -> None:
        """The reward of a round (1-based) has come."""
        self.history.learn(round, self.units.inward(reward))

    def close(self, round: int) -> None:
        """The reward of a round will not come."""
        self.history.close(round)

    def decide(
        self,
        features: ArrayLike | None = None,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        true_means: ArrayLike | None = None,
        force: int | None = None,
    ) -> Answer:
        """One round. With ``force`` that action is played, whatever the answer says."""
        time = self.history.length + 1
        self.history.start(time)
        baseline = self.baseline if baseline is None else baseline
        baseline_mean = self.baseline_mean if baseline_mean is None else baseline_mean
        truth = self._truth(true_means)
        rows = self._rows(features)
        bounds = self._bounds(rows, time)
        uppers, lowers = bounds.uppers.copy(), bounds.lowers.copy()
        margins = np.full(len(uppers), np.nan)
        baseline_margin: float | None = None
        magnitude = 0.0
        certified = self.parts.past != "none"
        mu_b = math.nan
        if certified:
            if baseline is None or baseline_mean is None or self.alpha is None:
                raise ValueError("baseline, its mean and alpha are needed")
            mu_b = self.units.inward(baseline_mean)
            fixed, magnitude = self._ledger(mu_b, time)
            alone, each = self._past(bounds, rows, truth)
            margins = fixed + each
            margins[baseline] = np.nan
            baseline_margin = fixed + alone + mu_b
            magnitude += abs(alone)
            uppers[baseline] = lowers[baseline] = mu_b
        rule = self.parts.selection
        action = selection.select(rule, uppers, lowers, margins, baseline, mu_b)
        margin = baseline_margin if certified and action == baseline else None
        if certified and action != baseline:
            margin = float(margins[action])
        played = action if force is None else force
        self.history.append(
            action=played,
            features=rows[played] if rows is not None else np.zeros(0),
            in_s=not certified or played != baseline,
            lower=float(lowers[played]),
            baseline_mean=mu_b,
            true_mean=float(truth[played]) if truth is not None else math.nan,
        )
        span = self.units.span
        return Answer(
            round=time,
            action=action,
            event=selection.event(action, uppers, baseline, rule),
            margin=None if margin is None else margin * span,
            upper=self.units.outward(float(uppers[action])),
            lower=self.units.outward(float(lowers[action])),
            uppers=uppers * span + self.units.lo,
            lowers=lowers * span + self.units.lo,
            margins=margins * span,
            baseline=baseline,
            baseline_mean=baseline_mean,
            baseline_margin=None if baseline_margin is None else baseline_margin * span,
            magnitude=magnitude * span,
            selection=rule,
        )

    def _rows(self, features: ArrayLike | None) -> Floats | None:
        if self.parts.estimator == "means":
            return None
        if features is not None:
            return self.units.features(np.asarray(features, dtype=np.float64))
        if self.features is None:
            raise ValueError("features are needed every round")
        return self.features

    def _truth(self, true_means: ArrayLike | None) -> Floats | None:
        given = self.true_means if true_means is None else true_means
        if given is None:
            return None
        return (np.asarray(given, dtype=np.float64) - self.units.lo) / self.units.span

    def _bounds(self, rows: Floats | None, time: int) -> Estimate:
        if rows is None:
            return estimate.means(self.history, self.settings, time)
        return estimate.linear(self.history, self.settings, rows)

    def _ledger(self, mu_b: float, time: int) -> tuple[float, float]:
        """sum of mu_b over S_b + slack - (1 - alpha) sum of mu_b up to now; and its magnitude."""
        alpha = self.alpha or 0.0
        history = self.history
        credit = float(np.sum(history.baseline_means[~history.in_s]))
        if self.parts.schedule == "checkpoints":
            if self.baseline_lower is None:
                raise ValueError("checkpoints need baseline_lower")
            credit += schedule.slack(
                self.parts.schedule,
                alpha,
                self.units.inward(self.baseline_lower),
                self.checkpoint_every,
                time,
            )
        need = (1 - alpha) * (float(np.sum(history.baseline_means)) + mu_b)
        return credit - need, credit + need

    def _past(self, bounds: Estimate, rows: Floats | None, truth: Floats | None) -> past.Bounds:
        """The certified reward of S alone, and of S with each action."""
        kind, history = self.parts.past, self.history
        if kind == "arm-sums":
            if rows is not None and self.features is None:
                raise ValueError("arm sums need fixed arms")
            return past.arm_sums(history, bounds.lowers, clip=self.clip)
        if kind == "self-normalised":
            if bounds.ellipsoid is None or rows is None:
                raise ValueError("the self-normalised bound needs the linear estimator")
            return past.self_normalised(history, bounds.ellipsoid, rows, clip=self.clip)
        if kind == "martingale":
            psi = widths.cumulative(
                self.cumulative,
                int(np.sum(history.in_s & history.learned)),
                self.noise,
                self.levels["martingale"],
                self.tightest_at,
                proved=self.proved,
            )
            return past.martingale(history, psi, bounds.lowers, clip=self.clip)
        if kind == "oracle":
            if truth is None:
                raise ValueError("the true means are needed")
            return past.known(history, truth)
        raise ValueError(f"unknown past {kind!r}")
