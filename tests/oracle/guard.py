"""The oracle of a guard: it knows the rewards of what was proposed, and nothing about actions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from oracle import past
from oracle.catalogue import GUARDS, Parts
from oracle.common import BaselineMean, Common
from oracle.estimate import Interval, Settings, interval

Name = str | int


class GuardAnswer(NamedTuple):
    """The decision of one round, in the user's units.

    ``margin`` belongs to what is played; ``proposed`` is the margin of the proposal, nan where it
    is the baseline itself. ``baseline_mean`` is an interval.
    """

    round: int
    action: Name
    event: str
    margin: float
    proposed: float
    baseline_margin: float
    baseline_mean: Interval
    magnitude: float


class GuardOracle(Common):
    """GUARD or GUARD-T; ``width`` is that of the baseline's mean where it is learned."""

    def __init__(
        self,
        name: str = "GUARD",
        *,
        baseline: Name | None = None,
        baseline_mean: BaselineMean = None,
        width: str = "mixture",
        parts: Parts | None = None,
        **common: Any,
    ) -> None:
        super().__init__(parts or GUARDS[name], baseline_mean=baseline_mean, **common)
        self.baseline = baseline
        self.constant = self.learned
        self.settings = Settings(
            width=width,
            noise=self.noise,
            level=self.levels.get("baseline", math.nan),
            proved=self.proved,
            tightest_at=self.tightest_at,
        )

    def decide(
        self,
        proposal: Name,
        baseline: Name | None = None,
        baseline_mean: BaselineMean = None,
        force: Name | None = None,
    ) -> GuardAnswer:
        """One round. With ``force`` that action is played, whatever the answer says."""
        time = self.history.length + 1
        self.history.start(time)
        baseline = self.baseline if baseline is None else baseline
        if baseline is None:
            raise ValueError("a baseline is needed")
        told = self.interval if baseline_mean is None else self._interval(baseline_mean)
        mean = self._own_interval(time) if told is None else told
        ledger = self._ledger(mean, time)
        alone = past.promised_nothing(self.history, self.psi(), clip=self.clip)
        proposed = math.nan if proposal == baseline else ledger.action + alone
        safe = proposed >= 0
        played = (proposal if safe else baseline) if force is None else force
        self.history.append(
            action=0,
            features=np.zeros(0),
            in_s=played != baseline,
            awaits=played != baseline or self.learn_baseline,
            lower=0.0,
            baseline_mean=mean,
            baseline_features=np.zeros(0),
            true_mean=math.nan,
        )
        span = self.units.span
        baseline_margin = ledger.baseline + alone
        return GuardAnswer(
            round=time,
            action=proposal if safe else baseline,
            event="optimistic" if safe else "baseline",
            margin=(proposed if safe else baseline_margin) * span,
            proposed=proposed * span,
            baseline_margin=baseline_margin * span,
            baseline_mean=(self.units.outward(mean[0]), self.units.outward(mean[1])),
            magnitude=(ledger.magnitude + abs(alone)) * span,
        )

    def _own_interval(self, time: int) -> Interval:
        """The interval of the baseline's rewards, cut to [0, 1]; all of it while there are none."""
        if not self.learned:
            raise ValueError("the baseline's mean is needed")
        history = self.history
        rewards = history.rewards[history.learned & ~history.in_s]
        lo, hi = interval(rewards, self.settings, 1, self.settings.level, time)
        return min(max(lo, 0.0), 1.0), min(max(hi, 0.0), 1.0)
