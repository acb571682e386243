"""Problems beyond the paper's: baselines known by intervals, arms that come and go, proposals."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracle.answer import Floats
from oracle.compare import After
from oracle.problems import Arguments, Bernoulli, Contexts, LinearArms


def around(settings: Arguments, below: float = 0.1, above: float = 0.1) -> tuple[float, float]:
    """An interval about the baseline's mean, in shares of the range and within it."""
    lo, hi = settings.get("reward_range") or settings.get("mean_range") or (0.0, 1.0)
    mean, span = settings["baseline_mean"], hi - lo
    return max(mean - below * span, lo), min(mean + above * span, hi)


class Fractions(Bernoulli):
    """Arms whose rewards are anywhere between lo and hi."""

    def reward(self, action: int) -> float:
        """Beta with the arm's mean, in a few steps so that equal sums happen."""
        mean = float(self.chances[action])
        lo, hi = self.reward_range
        share = round(float(self.rng.beta(4 * mean, 4 * (1 - mean))) * 8) / 8
        return lo + (hi - lo) * share


class ContextsInIntervals(Contexts):
    """The baseline's mean is told by an interval, exactly, or not at all: then ``usual`` holds."""

    usual: tuple[float, float] | None = None

    def ask(self) -> Arguments:
        """As for contexts, but for the baseline's mean."""
        told = super().ask()
        mean, span = told["baseline_mean"], self.hi - self.lo
        kind = float(self.rng.random())
        if kind < 0.6:
            low, high = self.rng.uniform(0.0, 0.15, 2) * span
            floor = self.lo + 0.1 * span  # what `baseline_lower` says
            told["baseline_mean"] = (max(mean - low, floor), min(mean + high, self.hi))
        elif kind < 0.8 and self.usual is not None:
            del told["baseline_mean"]
        return told


class ContextsUntold(Contexts):
    """Nothing is told of the baseline's mean."""

    def ask(self) -> Arguments:
        """As for contexts, but for the baseline's mean."""
        told = super().ask()
        del told["baseline_mean"]
        return told


class Turnover(Bernoulli):
    """Arms that come and go; the first ones are as in `Bernoulli`."""

    def after(self, every: int, most: int) -> After:
        """Every so many rounds one arm goes and another comes, until there have been ``most``."""

        def change(time: int, policy: Any, oracle: Any) -> None:
            if time % every:
                return
            there = set(range(len(self.chances))) - oracle.retired - {self.settings["baseline"]}
            if len(there) > 1 and self.rng.random() < 0.7:
                arm = int(self.rng.choice(sorted(there)))
                policy.retire_arm(arm)
                oracle.retire_arm(arm)
            if len(self.chances) < most:
                self.chances = np.append(self.chances, self.rng.uniform(0.05, 0.95))
                assert policy.add_arm() == oracle.add_arm() == len(self.chances) - 1

        return change


class LinearTurnover(LinearArms):
    """Arms with features that come and go."""

    def after(self, every: int, most: int) -> After:
        """As for `Turnover`; one that comes is a blend of two that were there at the beginning."""
        first = self.rows.copy()

        def change(time: int, policy: Any, oracle: Any) -> None:
            if time % every:
                return
            there = set(range(len(self.rows))) - oracle.retired - {self.settings["baseline"]}
            if len(there) > 1 and self.rng.random() < 0.7:
                arm = int(self.rng.choice(sorted(there)))
                policy.retire_arm(arm)
                oracle.retire_arm(arm)
            if len(self.rows) < most:
                one, other = first[self.rng.choice(len(first), size=2, replace=False)]
                share = self.rng.uniform()
                row: Floats = share * one + (1 - share) * other
                # Means are linear in features, so that of a blend is the blend of means.
                theta = np.linalg.lstsq(first, self.means[: len(first)], rcond=None)[0]
                self.means = np.append(self.means, row @ theta)
                self.rows = np.vstack([self.rows, row])
                new = policy.add_arm(features=row)
                assert new == oracle.add_arm(features=row) == len(self.rows) - 1

        return change


class Proposals:
    """What somebody's policy proposes: names whose chances drift, and now and then the baseline.

    ``told``: ``known`` (a number, once), ``round`` (an interval or a number every round), ``once``
    (an interval, once; the mean moves within it) or ``learned``. With ``noise`` it is means that
    lie in ``reward_range``.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        told: str = "known",
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        noise: float | None = None,
        best: float = 0.9,
        **more: Any,
    ) -> None:
        self.rng = rng
        self.told = told
        self.best = best
        self.reward_range = reward_range
        self.noise = noise
        lo, hi = reward_range
        self.usual = float(rng.uniform(0.3, 0.6))
        self.mean = self.usual
        self.chances: dict[str | int, float] = {}
        self.settings: Arguments = {
            "baseline": "old",
            "alpha": 0.2137,
            "delta": 0.1,
            **more,
        }
        if noise is None:
            self.settings["reward_range"] = reward_range
        else:
            self.settings |= {"noise": noise, "mean_range": reward_range}
        means: dict[str, Any] = {
            "known": self._outward(self.usual),
            "once": (self._outward(self.usual - 0.1), self._outward(self.usual + 0.05)),
            "learned": "learned",
        }
        if told in means:
            self.settings["baseline_mean"] = means[told]
        else:
            self.settings["baseline_lower"] = lo + 0.1 * (hi - lo)

    def _outward(self, share: float) -> float:
        lo, hi = self.reward_range
        return lo + (hi - lo) * share

    def ask(self) -> Arguments:
        """A proposal, the baseline's name or none, and what is told of its mean."""
        names: list[str | int] = ["new", "newer", 3, 4]
        self.chances = {name: float(self.rng.uniform(0.3, self.best)) for name in names}
        asked: Arguments = {"proposal": names[int(self.rng.integers(4))]}
        if self.told in ("round", "once"):
            self.mean = self.usual + float(self.rng.uniform(-0.1, 0.05))
        if self.rng.random() < 0.1:
            asked["proposal"] = "old"
        if self.told == "round":
            low, high = self.rng.uniform(0.0, 0.1, 2)
            asked["baseline_mean"] = self._outward(self.mean)
            if self.rng.random() < 0.8:
                pair = (self._outward(self.mean - low), self._outward(self.mean + high))
                asked["baseline_mean"] = pair
            if self.rng.random() < 0.5:
                asked["baseline"] = 99  # another name for what was there before
        return asked

    def reward(self, action: str | int) -> float:
        """Lo or hi, or with noise anywhere."""
        chance = self.chances.get(action, self.mean)
        if self.noise is not None:
            return self._outward(chance) + self.noise * float(self.rng.standard_normal())
        return self.reward_range[int(self.rng.random() < chance)]
