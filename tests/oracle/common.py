"""What oracles of policies and of guards have in common: units, levels, schedule, history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from oracle import baseline as ledgers
from oracle import widths
from oracle.baseline import Ledger
from oracle.bounded import Grid, bernstein
from oracle.catalogue import Parts
from oracle.estimate import Interval
from oracle.history import History
from oracle.levels import events, levels
from oracle.schedule import Schedule
from oracle.units import Units

BaselineMean = float | tuple[float, float] | Literal["learned"] | None


class Common:
    """Told in the user's units, in terms of means in [0, 1] from here on."""

    fixed = True
    """Whether actions stay the same."""

    constant = False
    """Whether the baseline has one constant mean that is not known exactly."""

    learn_baseline: bool
    """Whether the estimator learns from the rewards of baseline rounds."""

    cut: bool
    """Whether the baseline's interval is cut to that of its arm, which its rewards narrow."""

    teach_mean: bool
    """Whether it learns from the mean, where that is known exactly, as if it were the reward."""

    def __init__(
        self,
        parts: Parts,
        *,
        baseline_mean: BaselineMean = None,
        baseline_delta: float = 0.0,
        learn_baseline: bool | str = False,
        alpha: float | None = None,
        delta: float | None = None,
        noise: float | None = None,
        reward_range: tuple[float, float] | None = None,
        mean_range: tuple[float, float] | None = None,
        cumulative: str = "paper",
        bernstein_grid: Grid | None = None,
        accounting: str = "union",
        clip: str = "zero",
        checkpoint_every: int | None = None,
        checkpoints: Sequence[int] | None = None,
        checkpoint_gap: Any = None,
        baseline_lower: float | None = None,
        window: int | None = None,
        default_reward: float | None = None,
        confirm: bool | str = False,
        edition: int = 2,
        delta_weights: Mapping[str, float] | None = None,
        tightest_at: float = 1000.0,
        size: int = 0,
    ) -> None:
        self.parts = parts
        self.units = Units(*(reward_range or mean_range or (0.0, 1.0)))
        if noise is None:
            if reward_range is None:
                raise ValueError("noise or reward_range is needed")
            noise = self.units.span / 2
        self.noise = noise / self.units.span
        self.alpha = alpha
        self.learned = baseline_mean == "learned"
        self.learn_baseline = learn_baseline is True or self.learned
        self.teach_mean = learn_baseline == "mean" and not self.learned
        self.interval = self._interval(baseline_mean)
        lo, hi = self.interval or (0.0, 0.0)
        self.cut = parts.estimator == "means" and learn_baseline is True and lo < hi
        self.lowest = lo
        if baseline_lower is not None:
            self.lowest = self.units.inward(baseline_lower)
        self.clip = {"zero": True, "none": False}[clip]
        self.cumulative = cumulative
        self.grid = bernstein_grid
        self.proved = accounting == "union"
        self.tightest_at = tightest_at
        self.schedule = Schedule(checkpoint_every, checkpoints, checkpoint_gap)
        if parts.schedule != "checkpoints":
            self.schedule = Schedule()
        self.reported: list[int] = []
        self.levels = levels(
            events(
                parts.past,
                parts.estimator,
                learned=self.learned,
                cut=self.cut,
                random_gaps=self.schedule.random,
            ),
            math.nan if delta is None else delta,
            accounting,
            delta_weights,
            baseline_delta,
        )
        default = None if default_reward is None else self.units.inward(default_reward)
        self.history = History(size, window, default, confirm, edition)

    def learn(self, round: int, reward: float) -> str:
        """The reward of a round (1-based) has come."""
        return self.history.learn(round, self.units.inward(reward))

    def played(self, round: int) -> str:
        """What was decided in a round was played."""
        return self.history.played(round)

    def close(self, round: int) -> None:
        """The reward of a round will not come."""
        self.history.close(round)

    def fall_back(self, round: int, because: str = "no-answer") -> str:
        """The baseline was played in a round, whatever was decided.

        Where one mean stands for all users, a choice that may depend on the user leaves S as it is.
        """
        if because == "choice" and self.stays_in_s:
            return self.history.choose(round)
        return self.history.fall_back(round, self.parts.past == "none", self.awaits_baseline)

    @property
    def stays_in_s(self) -> bool:
        """Whether a fallback by choice does: one mean was agreed on, and something is promised."""
        return self.parts.past != "none" and (self.learned or self.interval is not None)

    @property
    def awaits_baseline(self) -> bool:
        """Whether the baseline's reward is used then.

        What promises nothing has the baseline among its actions, as long as these stay the same.
        Never where word of what was played is needed, since none is given of such a round.
        """
        if self.history.needs_word:
            return False
        return self.learn_baseline or (self.parts.past == "none" and self.fixed)

    def checkpoint(self) -> None:
        """The round decided last was a checkpoint."""
        self.reported.append(self.history.length)

    def psi(self) -> float:
        """How far the rewards of S summed so far may exceed their means."""
        level = self.levels["martingale"]
        taken = self.history.taken
        if self.cumulative == "bernstein":
            if self.grid is None:
                raise ValueError("bernstein needs a grid")
            return bernstein(taken, level, self.grid)
        return widths.cumulative(
            self.cumulative, len(taken), self.noise, level, self.tightest_at, proved=self.proved
        )

    def _interval(self, told: BaselineMean) -> Interval | None:
        """Where the baseline's mean lies, if that is told."""
        if told is None or isinstance(told, str):
            return None
        lo, hi = told if isinstance(told, tuple) else (told, told)
        return self.units.inward(lo), self.units.inward(hi)

    def _next(self, time: int) -> int:
        """c, the next checkpoint."""
        return self.schedule.checkpoint(time, self.reported, self.levels.get("schedule", 0.0))

    def _slack(self, time: int) -> float:
        """alpha mu_l (c - t)."""
        return (self.alpha or 0.0) * self.lowest * (self._next(time) - time)

    def _ledger(self, interval: Interval, time: int) -> Ledger:
        """All of the margins but past_and_now."""
        if self.alpha is None:
            raise ValueError("alpha is needed")
        if self.constant:
            rounds = int(np.sum(self.history.in_s))
            return ledgers.constant(interval, self.alpha, self._next(time), rounds)
        return ledgers.varying(self.history, interval, self.alpha, self._slack(time))
