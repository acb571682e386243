"""With rewards equal to their means every bound holds, so no margin may exceed the true budget.

To be exact, the true budget at the next checkpoint if the baseline is played from the next round
on. All actions are looked at, not only the one played; rewards come at once, late or never.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import GuardOracle, Oracle
from oracle.beyond import ContextsInIntervals, ContextsUntold, around
from oracle.catalogue import Parts
from oracle.problems import Bernoulli, LinearArms, arguments

ROUNDS = 70
ROUNDING = 1e-9
SCHEDULES: dict[str, dict[str, Any]] = {
    "every round": {},
    "every 7": {"checkpoint_every": 7},
    "listed": {"checkpoints": [3, 20, 21, 60]},
    "reported": {"checkpoint_gap": 6},
}


class _Late:
    """Rewards to be told: most of them, after a while."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.waiting: list[tuple[int, float]] = []

    def tell(self, oracle: Oracle | GuardOracle, number: int, reward: float) -> None:
        """The reward of a round, and others that are due."""
        if self.rng.random() < 0.9:
            self.waiting.append((number, reward))
        while self.waiting and self.rng.random() < 0.7:
            oracle.learn(*self.waiting.pop(int(self.rng.integers(len(self.waiting)))))


def _reported(oracle: Oracle | GuardOracle, time: int) -> None:
    """Gaps of 6, 7, 8, ..."""
    last, k = 0, 6
    while last < time:
        last, k = last + k, k + 1
    if last == time:
        oracle.checkpoint()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("told", ["known", "interval", "learned"])
@pytest.mark.parametrize("past", ["arm-sums", "martingale", "larger"])
def test_arms(past: str, told: str, schedule: str) -> None:
    """With every width and cumulative bound."""
    for seed, width in enumerate(["wu", "mixture", "kl"]):
        rng = np.random.default_rng([1, seed])
        problem = Bernoulli(rng, arms=4, rank=seed, alpha=0.3)
        more: dict[str, Any] = {"width": width, "learn_baseline": bool(seed % 2)}
        if past != "arm-sums":
            more["cumulative"] = ["subgaussian", "mixture", "bernstein"][seed]
            more["bernstein_grid"] = [(0.5, 0.3), (0.1, 0.3), (0.02, 0.4)]
        means = dict.fromkeys(["interval"], around(problem.settings, 0.2, 0.1))
        if told != "known":
            more["baseline_mean"] = means.get(told, told)
        oracle = _oracle("means", past, schedule, {**problem.settings, **more})
        budget, late = 0.0, _Late(rng)
        for time in range(1, ROUNDS + 1):
            answer = oracle.decide()
            floor = float(problem.chances[answer.baseline or 0])
            budget = _check(oracle, answer, budget, problem.chances, floor, time)
            late.tell(oracle, time, float(problem.chances[answer.action]))
            _reported(oracle, time)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("told", ["known", "interval", "learned"])
@pytest.mark.parametrize("past", ["self-normalised", "martingale", "larger"])
def test_arms_with_features(past: str, told: str, schedule: str) -> None:
    """One mean, over fixed arms."""
    for seed in range(3):
        rng = np.random.default_rng([2, seed])
        problem = LinearArms(rng, arms=5, dim=3, rank=seed, alpha=0.3, noise=0.02)
        problem.settings["noise"] = 0.1
        more: dict[str, Any] = {"learn_baseline": bool(seed)}
        if seed == 2:
            more |= {"width": "intersection", "ridge": "balanced", "tightest_at": 20.0}
        if told != "known":
            pair = around(problem.settings, 0.2, 0.1)
            more["baseline_mean"] = pair if told == "interval" else told
        oracle = _oracle("linear", past, schedule, {**problem.settings, **more})
        budget, late = 0.0, _Late(rng)
        for time in range(1, ROUNDS + 1):
            answer = oracle.decide()
            floor = float(problem.means[answer.baseline or 0])
            budget = _check(oracle, answer, budget, problem.means, floor, time)
            late.tell(oracle, time, float(problem.means[answer.action]))
            _reported(oracle, time)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("told", ["interval", "learned"])
@pytest.mark.parametrize("past", ["self-normalised", "martingale", "larger"])
def test_contexts(past: str, told: str, schedule: str) -> None:
    """Means that change; future ones of the baseline are at least 0.1."""
    for seed in range(2):
        rng = np.random.default_rng([3, seed])
        make = ContextsInIntervals if told == "interval" else ContextsUntold
        problem = make(rng, dim=3, noise=0.02, alpha=0.3)
        problem.settings["noise"] = 0.1
        more: dict[str, Any] = {} if told == "interval" else {"baseline_mean": "learned"}
        oracle = _oracle("linear", past, schedule, {**problem.settings, **more})
        budget, late = 0.0, _Late(rng)
        for time in range(1, ROUNDS + 1):
            answer = oracle.decide(**problem.ask())
            budget = _check(oracle, answer, budget, problem.means, 0.1, time)
            late.tell(oracle, time, float(problem.means[answer.action]))
            _reported(oracle, time)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("told", ["known", "interval", "learned"])
def test_guards(told: str, schedule: str) -> None:
    """Proposals are worth 0.5 to 1, the baseline 0.5, or 0.3 to 0.5 where it may vary."""
    mean: Any = {"known": 0.5, "interval": (0.3, 0.5), "learned": "learned"}[told]
    settings: dict[str, Any] = {"baseline": "old", "alpha": 0.3, "delta": 0.1}
    settings |= {"reward_range": (0.0, 1.0), "cumulative": "mixture", **SCHEDULES[schedule]}
    oracle = GuardOracle(
        "GUARD-T" if SCHEDULES[schedule] else "GUARD", baseline_mean=mean, **settings
    )
    rng = np.random.default_rng(4)
    budget, late, played = 0.0, _Late(rng), 0
    for time in range(1, 3 * ROUNDS + 1):
        answer = oracle.decide("new")
        old = float(rng.uniform(0.3, 0.5)) if told == "interval" else 0.5
        new = float(rng.uniform(0.5, 1.0))
        slack = 0.3 * (0.3 if told == "interval" else 0.5) * (oracle._next(time) - time)
        assert answer.proposed <= budget + new - 0.7 * old + slack + ROUNDING
        assert answer.baseline_margin <= budget + 0.3 * old + slack + ROUNDING
        gained = new if answer.action == "new" else old
        budget += gained - 0.7 * old
        played += answer.action == "new"
        late.tell(oracle, time, gained)
        _reported(oracle, time)
    assert 0 < played < 3 * ROUNDS


def _oracle(estimator: str, past: str, schedule: str, settings: dict[str, Any]) -> Oracle:
    checked = "checkpoints" if SCHEDULES[schedule] else "every-round"
    parts = Parts(estimator, past, "constrained", checked)
    settings = {**settings, "checkpoint_every": None, **SCHEDULES[schedule]}
    return Oracle(parts=parts, **arguments(parts, settings))


def _check(
    oracle: Oracle, answer: Any, budget: float, means: Any, floor: float, time: int
) -> float:
    """The budget after this round."""
    alpha, baseline = oracle.alpha or 0.0, answer.baseline
    slack = alpha * floor * (oracle._next(time) - time)
    after = budget + means - (1 - alpha) * means[baseline]
    others = np.arange(len(means)) != baseline
    assert np.all(answer.margins[others] <= after[others] + slack + ROUNDING)
    assert answer.baseline_margin <= after[baseline] + slack + ROUNDING
    return float(after[answer.action])
