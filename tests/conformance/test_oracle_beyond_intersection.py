"""The library against the oracle: a model's ellipsoid and each arm's own mean together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle.beyond import around
from oracle.catalogue import Parts
from oracle.compare import Plan
from oracle.pair import by_hand
from oracle.problems import LinearArms

SCATTERED = Plan(longest=40, at_once=0.5)
LOSSY = Plan(longest=30, at_once=0.4, lost=0.2, closed=0.7)
PASTS = ["self-normalised", "martingale", "larger"]
LONG = 80


@pytest.mark.parametrize("baseline", ["known", "interval", "learned"])
@pytest.mark.parametrize("past", PASTS)
def test_baselines(past: str, baseline: str) -> None:
    """At half the level each; late rewards, both accountings."""
    parts = Parts("linear", past, "constrained", "checkpoints")
    for seed, plan in enumerate([Plan(), SCATTERED, LOSSY]):
        rng = np.random.default_rng([140, seed])
        problem = LinearArms(rng, arms=6, dim=3, rank=seed, alpha=0.2137)
        more: dict[str, Any] = {"width": "intersection", "ridge": ["balanced", 0.3, 1.0][seed]}
        more |= {"accounting": "paper" if seed == 2 else "union"}
        more |= {"cumulative": "mixture", "tightest_at": 30.0}
        if baseline == "interval":
            more["baseline_mean"] = around(problem.settings)
        elif baseline == "learned":
            more["baseline_mean"] = "learned"
        by_hand(parts, problem, LONG, seed=seed, plan=plan, **more)


@pytest.mark.parametrize("past", ["none", *PASTS])
def test_a_model_that_knows_little(past: str) -> None:
    """With a large bound on theta it is the arms' own means that count."""
    parts = Parts("linear", past, "constrained", "every-round")
    if past == "none":
        parts = Parts("linear", past, "optimistic", "none")
    for seed in range(2):
        rng = np.random.default_rng([141, seed])
        problem = LinearArms(rng, arms=6, dim=3, rank=1, alpha=0.4137, theta_bound=20.0)
        by_hand(
            parts,
            problem,
            LONG,
            seed=seed,
            width="intersection",
            learn_baseline=None if past == "none" else True,
        )


@pytest.mark.parametrize("reward_range", [(0.0, 5.0), (-2.0, 3.0)])
def test_units(reward_range: tuple[float, float]) -> None:
    """With and without a constant feature."""
    parts = Parts("linear", "larger", "constrained", "every-round")
    rng = np.random.default_rng(142)
    more: dict[str, Any] = {"alpha": 0.1137, "reward_range": reward_range}
    problem = LinearArms(rng, arms=5, dim=3, rank=1, **more)
    by_hand(parts, problem, LONG, width="intersection", ridge="balanced")


@pytest.mark.parametrize(("arms", "dim"), [(2, 1), (6, 2)])
def test_more_arms_than_squared_dimensions(arms: int, dim: int) -> None:
    """How a policy stores its arms is its own affair, and nothing that its bounds depend on."""
    parts = Parts("linear", "larger", "constrained", "every-round")
    rng = np.random.default_rng([143, arms])
    problem = LinearArms(rng, arms=arms, dim=dim, rank=1, alpha=0.4137, theta_bound=20.0)
    by_hand(parts, problem, LONG, width="intersection")
