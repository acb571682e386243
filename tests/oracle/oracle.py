"""The oracle: one round of a conservative bandit, computed from the whole history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle import baseline as ledgers
from oracle import estimate, past, selection
from oracle.answer import Answer, Floats
from oracle.catalogue import CATALOGUE, Parts
from oracle.common import BaselineMean, Common
from oracle.estimate import Estimate, Interval


class Oracle(Common):
    """An algorithm of the catalogue by its name, or four parts by hand.

    The names of the arguments are those of the library; everything goes in and out in the user's
    units and is turned to means in [0, 1] in between. ``bernstein_grid`` is the oracle's own.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        arms: int | None = None,
        dim: int | None = None,
        features: ArrayLike | None = None,
        baseline: int | None = None,
        baseline_mean: BaselineMean = None,
        theta_bound: float | None = None,
        feature_bound: float | None = None,
        ridge: float | str = 1.0,
        width: str | None = None,
        true_means: ArrayLike | None = None,
        arms_ever: int | str | None = None,
        parts: Sequence[str] | None = None,
        **common: Any,
    ) -> None:
        chosen = Parts(*parts) if parts is not None else CATALOGUE[str(name)]
        linear = chosen.estimator == "linear"
        rows = None if features is None else np.asarray(features, dtype=np.float64)
        if rows is not None:
            dim = rows.shape[1]
        lo = (common.get("reward_range") or common.get("mean_range") or (0.0, 1.0))[0]
        size = (dim or 0) + (0 if lo == 0 else 1) if linear else 0
        super().__init__(chosen, baseline_mean=baseline_mean, size=size, **common)
        self.baseline = baseline
        self.true_means = true_means
        self.retired: set[int] = set()
        self.features: Floats | None = None
        self.arms = arms or 0
        default_width = "wu"
        if linear:
            if rows is not None:
                self.features = self.units.features(rows)
                if feature_bound is None:
                    feature_bound = float(np.max(np.linalg.norm(rows, axis=1)))
            if dim is None or theta_bound is None or feature_bound is None:
                raise ValueError("linear needs features or dim, and both bounds")
            theta_bound = self.units.theta_bound(theta_bound)
            feature_bound = self.units.feature_bound(feature_bound)
            default_width = "paper" if size > 1 else "determinant"
            if ridge == "balanced":  # B sqrt(lambda) = sigma
                ridge = (self.noise / theta_bound) ** 2
        elif arms is None:
            raise ValueError("means need arms")
        self.fixed = not linear or self.features is not None
        self.constant = self.fixed and isinstance(baseline_mean, tuple)
        self.constant |= not linear and self.learned
        self.settings = estimate.Settings(
            width=width or default_width,
            noise=self.noise,
            level=self.levels["estimator"],
            proved=self.proved,
            tightest_at=self.tightest_at,
            arms=self.arms if self.features is None else len(self.features),
            arms_ever=arms_ever,
            ridge=float(ridge),
            theta_bound=theta_bound or 0.0,
            feature_bound=feature_bound or 0.0,
        )

    def add_arm(self, features: ArrayLike | None = None) -> int:
        """One more arm, with its features if arms have them.

        An arm's own mean needs a share of delta, which a model by itself does not.
        """
        if self.settings.arms_ever is None and self.settings.width not in ("paper", "determinant"):
            raise ValueError("how many arms there may ever be is needed")
        if self.features is None:
            self.arms += 1
            return self.arms - 1
        row = self.units.features(np.atleast_2d(np.asarray(features, dtype=np.float64)))
        self.features = np.vstack([self.features, row])
        return len(self.features) - 1

    def retire_arm(self, arm: int) -> None:
        """An arm that is not played any more; what it was played counts as before."""
        self.retired.add(arm)

    def decide(
        self,
        features: ArrayLike | None = None,
        baseline: int | None = None,
        baseline_mean: BaselineMean = None,
        true_means: ArrayLike | None = None,
        force: int | None = None,
    ) -> Answer:
        """One round. With ``force`` that action is played, whatever the answer says."""
        time = self.history.length + 1
        self.history.start(time)
        baseline = self.baseline if baseline is None else baseline
        told = self.interval if baseline_mean is None else self._interval(baseline_mean)
        truth = self._truth(true_means)
        rows = self._rows(features)
        bounds = self._bounds(rows, time)
        uppers, lowers = bounds.uppers.copy(), bounds.lowers.copy()
        margins = np.full(len(uppers), np.nan)
        baseline_margin: float | None = None
        magnitude = 0.0
        certified = self.parts.past != "none"
        mean = (math.nan, math.nan)
        if certified:
            if baseline is None or self.alpha is None:
                raise ValueError("baseline, its mean and alpha are needed")
            mean = self._mean(told, bounds, baseline)
            lowers[baseline], uppers[baseline] = mean
            if self.learned and rows is not None:
                margins, magnitude = self._learned(bounds, rows, baseline, time)
                baseline_margin = float(margins[baseline])
            else:
                ledger = self._ledger(mean, time)
                alone, each = self._past(bounds, rows, truth)
                margins = ledger.action + each
                baseline_margin = ledger.baseline + alone
                magnitude = ledger.magnitude + abs(alone)
            margins[[baseline, *self.retired]] = np.nan
        rule, retired = self.parts.selection, frozenset(self.retired)
        action = selection.select(rule, uppers, lowers, margins, baseline, mean, retired)
        margin = baseline_margin if certified and action == baseline else None
        if certified and action != baseline:
            margin = float(margins[action])
        played = action if force is None else force
        in_s = not certified or played != baseline
        nothing = np.zeros(self.history.features.shape[1])
        self.history.append(
            action=played,
            features=rows[played] if rows is not None else nothing,
            in_s=in_s,
            awaits=in_s or self.learn_baseline,
            lower=float(lowers[played]),
            baseline_mean=mean,
            baseline_features=nothing if rows is None or baseline is None else rows[baseline],
            true_mean=float(truth[played]) if truth is not None else math.nan,
            baseline=-1 if baseline is None else baseline,
        )
        if self.teach_mean and not in_s and mean[0] == mean[1]:
            self.history.teach(time, mean[0])
        span, outward = self.units.span, self.units.outward
        return Answer(
            round=time,
            action=action,
            event=selection.event(action, uppers, baseline, rule, retired),
            margin=None if margin is None else margin * span,
            upper=outward(float(uppers[action])),
            lower=outward(float(lowers[action])),
            uppers=uppers * span + self.units.lo,
            lowers=lowers * span + self.units.lo,
            margins=margins * span,
            baseline=baseline,
            baseline_mean=(outward(mean[0]), outward(mean[1])) if certified else None,
            baseline_margin=None if baseline_margin is None else baseline_margin * span,
            magnitude=magnitude * span,
            selection=rule,
            retired=retired,
        )

    def _mean(self, told: Interval | None, bounds: Estimate, baseline: int) -> Interval:
        """Where the baseline's mean lies: told, as the estimator has it, cut to [0, 1], or both."""
        if told is not None and self.cut:
            lo, hi = float(bounds.lowers[baseline]), float(bounds.uppers[baseline])
            return max(told[0], min(lo, 1.0)), min(told[1], max(hi, 0.0))
        if told is not None:
            return told
        if not self.learned:
            raise ValueError("the baseline's mean is needed")
        lo, hi = float(bounds.lowers[baseline]), float(bounds.uppers[baseline])
        return min(max(lo, 0.0), 1.0), min(max(hi, 0.0), 1.0)

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
            return estimate.means(self.history, self.settings, time, self.arms)
        if self.settings.width == "intersection":
            return estimate.intersection(self.history, self.settings, rows)
        return estimate.linear(self.history, self.settings, rows)

    def _past(self, bounds: Estimate, rows: Floats | None, truth: Floats | None) -> past.Bounds:
        """The certified reward of S alone, and of S with each action."""
        kind, history = self.parts.past, self.history
        if kind == "larger":
            model = self._past_by_model(bounds, rows)
            sums = past.martingale(history, self.psi(), bounds.lowers, clip=self.clip)
            return past.larger(model, sums)
        if kind in ("arm-sums", "self-normalised"):
            if (kind == "arm-sums") != (rows is None):
                raise ValueError("arm sums are for means, self-normalised sums for linear ones")
            return self._past_by_model(bounds, rows)
        if kind == "martingale":
            return past.martingale(history, self.psi(), bounds.lowers, clip=self.clip)
        if kind == "oracle":
            if truth is None:
                raise ValueError("the true means are needed")
            return past.known(history, truth)
        raise ValueError(f"unknown past {kind!r}")

    def _past_by_model(self, bounds: Estimate, rows: Floats | None) -> past.Bounds:
        """Arm sums for means, self-normalised for a linear model."""
        if rows is None:
            return past.arm_sums(self.history, bounds.lowers, clip=self.clip)
        if bounds.ellipsoid is None:
            raise ValueError("the self-normalised bound needs the linear estimator")
        return past.self_normalised(self.history, bounds.ellipsoid, rows, clip=self.clip)

    def _learned(
        self, bounds: Estimate, rows: Floats, baseline: int, time: int
    ) -> tuple[Floats, float]:
        """Margins by a linear model that knows the baseline's mean no better than others."""
        kind, history = self.parts.past, self.history
        if bounds.ellipsoid is None or self.alpha is None:
            raise ValueError("an ellipsoid and alpha are needed")
        told = (history, bounds.ellipsoid, rows, baseline, self.alpha)
        slack = self._slack(time)
        margins = []
        if kind in ("self-normalised", "larger"):
            margins.append(ledgers.differences(*told) + slack)
        if kind in ("martingale", "larger"):
            # The rewards of S are no difference: their bound may be cut at 0.
            alone = past.martingale(history, self.psi(), bounds.lowers, clip=self.clip)[0]
            margins.append(alone + ledgers.rewards_and_differences(*told) + slack)
        if not margins:
            raise ValueError(f"past {kind!r} does not learn the baseline's mean")
        return np.max(margins, axis=0), slack + float(np.sum(np.abs(history.features)))
