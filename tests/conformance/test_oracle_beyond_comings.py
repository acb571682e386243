"""The library against the oracle: arms that come and go."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import handrail
from oracle.beyond import LinearTurnover, Turnover, around
from oracle.catalogue import Parts
from oracle.compare import Plan
from oracle.pair import by_hand
from oracle.problems import arguments

SCATTERED = Plan(longest=40, at_once=0.5)
MEANS = ["arm-sums", "martingale", "larger"]
LINEAR = ["self-normalised", "martingale", "larger"]
LONG = 80


@pytest.mark.parametrize("ever", [12, "any"])
@pytest.mark.parametrize("width", ["wu", "mixture", "kl"])
@pytest.mark.parametrize("past", MEANS)
def test_arms(past: str, width: str, ever: int | str) -> None:
    """A share of delta for every arm there may be, retired or not."""
    parts = Parts("means", past, "constrained", "every-round")
    seen: Counter[str] = Counter()
    for seed, plan in enumerate([Plan(), SCATTERED]):
        problem = Turnover(np.random.default_rng([100, seed]), arms=3, rank=1, alpha=0.2137)
        more: dict[str, Any] = {"arms_ever": ever, "width": width}
        change = problem.after(20, 12)
        seen += by_hand(parts, problem, LONG, seed=seed, plan=plan, after=change, **more).events
    assert set(seen) >= {"optimistic", "baseline"}


@pytest.mark.parametrize("selection", ["two-step", "largest-lower", "constrained"])
@pytest.mark.parametrize("accounting", ["union", "paper"])
def test_selections(selection: str, accounting: str) -> None:
    """Retired arms are no leaders, and no safe actions."""
    parts = Parts("means", "larger", selection, "checkpoints")
    for ever in (10, "any"):
        problem = Turnover(np.random.default_rng(101), arms=4, rank=1, alpha=0.2137)
        more: dict[str, Any] = {"arms_ever": ever, "accounting": accounting}
        by_hand(parts, problem, LONG, after=problem.after(15, 10), **more)


@pytest.mark.parametrize("width", ["wu", "kl"])
def test_learned_baseline(width: str) -> None:
    """The baseline's arm is one of those that share."""
    parts = Parts("means", "larger", "constrained", "every-round")
    for ever in (10, "any"):
        problem = Turnover(np.random.default_rng(102), arms=3, rank=2, alpha=0.3137)
        more: dict[str, Any] = {"arms_ever": ever, "width": width, "baseline_mean": "learned"}
        by_hand(parts, problem, LONG, after=problem.after(25, 10), plan=SCATTERED, **more)


def test_interval() -> None:
    """An interval for the baseline's mean."""
    parts = Parts("means", "arm-sums", "constrained", "checkpoints")
    problem = Turnover(np.random.default_rng(103), arms=3, rank=1, alpha=0.2137)
    pair = around(problem.settings, 0.1, 0.05)
    by_hand(parts, problem, LONG, after=problem.after(20, 9), arms_ever=9, baseline_mean=pair)


@pytest.mark.parametrize("without", ["UCB", "CUCB"])
def test_goings_without_comings(without: str) -> None:
    """Arms may go where none may come; also where nothing is certified."""
    past = "none" if without == "UCB" else "arm-sums"
    selection = "optimistic" if without == "UCB" else "two-step"
    parts = Parts("means", past, selection, "none" if without == "UCB" else "every-round")
    problem = Turnover(np.random.default_rng(104), arms=7, rank=2, alpha=0.2137)
    by_hand(parts, problem, LONG, after=problem.after(30, 0))


@pytest.mark.parametrize("baseline", ["known", "interval", "learned"])
@pytest.mark.parametrize("past", LINEAR)
def test_arms_with_features(past: str, baseline: str) -> None:
    """A model needs no share for an arm."""
    parts = Parts("linear", past, "constrained", "checkpoints")
    for seed, plan in enumerate([Plan(), SCATTERED]):
        rng = np.random.default_rng([105, seed])
        more: dict[str, Any] = {"alpha": 0.2137, "feature_bound": 1.6}
        problem = LinearTurnover(rng, arms=5, dim=3 - seed, rank=1, **more)
        more = {}
        if baseline == "interval":
            more["baseline_mean"] = around(problem.settings, 0.1, 0.05)
        elif baseline == "learned":
            more["baseline_mean"] = "learned"
        by_hand(parts, problem, LONG, seed=seed, plan=plan, after=problem.after(20, 12), **more)


@pytest.mark.parametrize("ever", [12, "any"])
@pytest.mark.parametrize("past", LINEAR)
def test_arms_with_features_and_means(past: str, ever: int | str) -> None:
    """Beside a model each arm's own mean needs a share."""
    parts = Parts("linear", past, "constrained", "every-round")
    for seed, plan in enumerate([Plan(), SCATTERED]):
        rng = np.random.default_rng([106, seed])
        problem = LinearTurnover(rng, arms=4, dim=3, rank=1, alpha=0.2137, feature_bound=1.6)
        more: dict[str, Any] = {"width": "intersection", "arms_ever": ever}
        more |= {"cumulative": "mixture", "tightest_at": 30.0}
        by_hand(parts, problem, LONG, seed=seed, plan=plan, after=problem.after(20, 12), **more)


def test_intersection_needs_arms_ever() -> None:
    """Two arms share what is left to means; more that come must not take as much each."""
    rng = np.random.default_rng(107)
    problem = LinearTurnover(rng, arms=4, dim=3, rank=1, alpha=0.2137, feature_bound=1.6)
    parts = Parts("linear", "larger", "constrained", "every-round")
    settings = arguments(parts, {**problem.settings, "width": "intersection"})
    policy = handrail.make_policy(handrail.Algorithm("mine", *parts), **settings)
    with pytest.raises(handrail.InputError):
        policy.add_arm(features=problem.rows[0])
