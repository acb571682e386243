"""The promise itself: over many short runs, the share with any violation is at most delta.

Each test counts, over RUNS independent runs, those in which the true budget was negative at any
round (at any checkpoint, for checkpoint algorithms), and fails if there are more than a policy that
fails with probability exactly delta would have but for one time in a million (FALSE_ALARM). There
are 14 algorithms in 2 or 3 settings here: the chance of a false alarm anywhere is below 1e-4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import handrail
from handrail import Policy
from support import CONSERVATIVE

RUNS, ROUNDS = 1200, 120
ALPHA, DELTA = 0.3, 0.2
FALSE_ALARM = 1e-6
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, DELTA))
TOLERANCE = 1e-9
"""Of the summed means, which are added up here one by one."""


def violated(
    policy: Policy,
    mean_of: Callable[[dict[str, Any], int], float],
    draw: Callable[[], dict[str, Any]],
    reward: Callable[[float], float],
    baseline_mean: float,
    every: int,
    delay: int,
) -> bool:
    """Play one run; rewards come `delay` rounds late."""
    budget = 0.0
    waiting: list[tuple[str, float]] = []
    for number in range(1, ROUNDS + 1):
        given = draw()
        decision = policy.decide(**given)
        mean = mean_of(given, decision.action)
        budget += mean - (1.0 - ALPHA) * given.get("baseline_mean", baseline_mean)
        if number % every == 0 and budget < -TOLERANCE:
            return True
        waiting.append((decision.id, reward(mean)))
        if len(waiting) > delay:
            policy.learn(*waiting.pop(0))
    return False


def common(name: str) -> dict[str, Any]:
    given: dict[str, Any] = {"delta": DELTA}
    if handrail.algorithm(name).conservative:
        given["alpha"] = ALPHA
    if name.endswith("T"):
        given["checkpoint_every"] = 12
    return given


def run_arms(name: str, rng: np.random.Generator, delay: int) -> bool:
    """Bernoulli arms, none as good as the baseline: whatever is explored costs."""
    means = np.array([0.6, 0.0, 0.4, 0.35])
    given = common(name) | {"arms": 4, "reward_range": (0.0, 1.0), "baseline": 0}
    if "alpha" in given:
        given["baseline_mean"] = means[0]
    if name.endswith("Or"):
        given["true_means"] = means
    return violated(
        handrail.make_policy(name, **given),
        lambda _, action: float(means[action]),
        dict,
        lambda mean: float(rng.random() < mean),
        means[0],
        given.get("checkpoint_every", 1),
        delay,
    )


def run_contexts(name: str, rng: np.random.Generator, delay: int) -> bool:
    """New features every round, Gaussian noise at its bound; the baseline's mean changes too."""
    theta = np.array([0.1, 0.0, 0.05, 0.9])
    given = common(name) | {"dim": 4, "noise": 0.3, "theta_bound": 0.92, "feature_bound": 1.1}
    if name.endswith("T"):
        given["baseline_lower"] = 0.5
    policy = handrail.make_policy(name, **given)

    def draw() -> dict[str, Any]:
        features = np.diag(rng.uniform(0.6, 1.0, 4)) + rng.uniform(0.0, 0.1, (4, 4)) / 2.0
        means = features @ theta
        told: dict[str, Any] = {"features": features, "baseline": 3}
        told["baseline_mean"] = float(means[3])
        if name.endswith("Or"):
            told["true_means"] = means
        return told

    return violated(
        policy,
        lambda told, action: float(told["features"][action] @ theta),
        draw,
        lambda mean: mean + 0.3 * float(rng.standard_normal()),
        0.0,
        given.get("checkpoint_every", 1),
        delay,
    )


def violations(name: str, delay: int = 0, runs: int = RUNS) -> int:
    rng = np.random.default_rng([7, delay])
    linear = handrail.algorithm(name).estimator == "linear"
    one = run_contexts if linear else run_arms
    return sum(one(name, rng, delay) for _ in range(runs))


@pytest.mark.parametrize("delay", [0, 9])
@pytest.mark.parametrize("name", CONSERVATIVE)
def test_at_most_delta_of_the_runs_are_violated(name: str, delay: int) -> None:
    count = violations(name, delay)
    assert count <= (0 if name.endswith("Or") else MOST)


@pytest.mark.parametrize("name", ["UCB", "LinUCB"])
def test_without_a_constraint_the_same_problems_are_violated(name: str) -> None:
    """The problems are hard enough for the test to fail."""
    assert violations(name, runs=200) > 0.9 * 200


def test_a_past_bound_that_is_too_large_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constraint checked against means that are not true breaks the promise here."""
    honest = handrail.make_policy

    def deceived(name: str, **given: Any) -> Policy:
        return honest(name, **{**given, "true_means": [0.6] * 4})

    monkeypatch.setattr(handrail, "make_policy", deceived)
    assert violations("CUCB-Or") > MOST
