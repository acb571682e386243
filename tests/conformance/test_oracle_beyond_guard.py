"""The library against the oracle: guards of whatever is proposed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from oracle.beyond import Proposals
from oracle.compare import Plan
from oracle.guarding import guarded

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore::handrail.errors.NoGuaranteeWarning")

TOLD = ["known", "round", "once", "learned"]
SCATTERED = Plan(longest=40, at_once=0.5)
LOSSY = Plan(longest=30, at_once=0.4, lost=0.2, closed=0.7)
LONG = 90


@pytest.mark.parametrize("cumulative", ["paper", "subgaussian", "mixture", "bernstein"])
@pytest.mark.parametrize("name", ["GUARD", "GUARD-T"])
@pytest.mark.parametrize("told", TOLD)
def test_guards(told: str, name: str, cumulative: str) -> None:
    """A known mean, intervals, a learned one; every round and at checkpoints."""
    seen: Counter[str] = Counter()
    for seed in range(2):
        problem = Proposals(np.random.default_rng([110, seed]), told)
        more: dict[str, Any] = {"cumulative": cumulative}
        if name == "GUARD-T":
            more["checkpoint_every"] = 9
        seen += guarded(name, problem, LONG, seed=seed, **more).events
    assert set(seen) == {"optimistic", "baseline"}


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("told", TOLD)
def test_options(told: str, accounting: str, clip: str) -> None:
    """Shares of delta, the cut at 0, the width of a learned mean, units."""
    for seed, width in enumerate(("mixture", "kl")):
        for reward_range in ((0.0, 1.0), (-10.0, 10.0)):
            rng = np.random.default_rng([111, seed])
            problem = Proposals(rng, told, reward_range=reward_range)
            more: dict[str, Any] = {"accounting": accounting, "clip": clip}
            more |= {"cumulative": "mixture", "tightest_at": 50.0}
            if told == "learned":
                more["width"] = width
                if accounting == "union" and seed:
                    more["delta_weights"] = {"martingale": 1.0, "baseline": 3.0}
            elif told == "once":
                more["baseline_delta"] = 0.03
            guarded("GUARD", problem, LONG, seed=seed, **more)


@pytest.mark.parametrize("plan", [SCATTERED, LOSSY], ids=["scattered", "lossy"])
@pytest.mark.parametrize("told", TOLD)
def test_late_rewards(told: str, plan: Plan) -> None:
    """A round without a reward is worth nothing."""
    for seed, cumulative in enumerate(("mixture", "bernstein")):
        for name, more in (("GUARD", {}), ("GUARD-T", {"checkpoint_every": 7})):
            problem = Proposals(np.random.default_rng([112, seed]), told)
            chosen: dict[str, Any] = {"cumulative": cumulative, **more}
            guarded(name, problem, LONG, seed=seed, plan=plan, **chosen)


@pytest.mark.parametrize("default", [None, 0.0, 0.25])
@pytest.mark.parametrize("told", TOLD)
def test_window(told: str, default: float | None) -> None:
    """Rewards are taken in the order of decisions, missing ones as the default."""
    for window in (1, 12):
        problem = Proposals(np.random.default_rng(113), told)
        more: dict[str, Any] = {"window": window, "cumulative": "bernstein"}
        if default is not None:
            more["default_reward"] = default
        guarded("GUARD", problem, LONG, plan=LOSSY, **more)


@pytest.mark.parametrize("mean_range", [(0.0, 1.0), (-3.0, 5.0)])
@pytest.mark.parametrize("told", TOLD)
def test_rewards_without_a_range(told: str, mean_range: tuple[float, float]) -> None:
    """Means lie in a range, rewards anywhere."""
    span = mean_range[1] - mean_range[0]
    for seed in range(2):
        rng = np.random.default_rng([114, seed])
        problem = Proposals(rng, told, reward_range=mean_range, noise=0.2 * span)
        assert guarded("GUARD", problem, LONG, plan=SCATTERED, seed=seed).events["optimistic"]
