"""The library against the oracle: past bounds, widths and learning beyond the paper's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from oracle.beyond import ContextsInIntervals, Fractions, around
from oracle.catalogue import Parts
from oracle.compare import Plan
from oracle.pair import KINDS, by_hand
from oracle.problems import (
    Bernoulli,
    Contexts,
    GaussianArms,
    LinearArms,
    Problem,
    WanderingBaseline,
    WanderingLinear,
)

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore::handrail.errors.NoGuaranteeWarning")

SELECTIONS = ["two-step", "largest-lower", "constrained"]
SCATTERED = Plan(longest=40, at_once=0.5)
LOSSY = Plan(longest=30, at_once=0.4, lost=0.2, closed=0.7)
LONG = 75


def _problem(kind: str, seed: int, **more: Any) -> Problem:
    rng = np.random.default_rng([70, seed])
    more = {"alpha": 0.1137, **more}
    if kind == "bernoulli":
        return Bernoulli(rng, arms=4, rank=seed % 2, **more)
    if kind == "gaussian":
        return GaussianArms(rng, arms=4, rank=seed % 2, noise=0.2, **more)
    if kind == "linear":
        # The library keeps arms apart where there are at most d^2 of them.
        return LinearArms(rng, arms=6, dim=3 - seed % 2, rank=seed % 2, **more)
    make = ContextsInIntervals if kind == "intervals" else Contexts
    return make(rng, dim=4, noise=0.3, **more)


def _estimator(kind: str) -> str:
    return "linear" if kind in ("linear", "contexts", "intervals") else "means"


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "linear", "contexts"])
def test_larger(kind: str, selection: str, schedule: str) -> None:
    """The larger of two past bounds."""
    parts = Parts(_estimator(kind), "larger", selection, schedule)
    seen: Counter[str] = Counter()
    for seed in range(2):
        seen += by_hand(parts, _problem(kind, seed), LONG, seed=seed).events
    assert set(seen) >= KINDS[selection] - {"safe"}


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "linear", "contexts"])
def test_larger_options(kind: str, accounting: str, clip: str) -> None:
    """Shares of delta are those of `martingale`; each bound is cut, or not, in its own way."""
    parts = Parts(_estimator(kind), "larger", "constrained", "every-round")
    for cumulative in ("paper", "subgaussian", "mixture"):
        for seed in range(2):
            more: dict[str, Any] = {"clip": clip, "cumulative": cumulative, "delta": 0.3}
            if accounting == "union" and seed:
                more["delta_weights"] = {"estimator": 1.0, "martingale": 4.0}
            by_hand(parts, _problem(kind, seed), LONG, seed=seed, accounting=accounting, **more)


@pytest.mark.parametrize("past", ["own", "martingale", "larger"])
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "linear", "contexts"])
def test_learning_from_baseline_rounds(kind: str, past: str) -> None:
    """Rewards of baseline rounds move the estimator alone; some come late, some never."""
    estimator = _estimator(kind)
    own = "arm-sums" if estimator == "means" else "self-normalised"
    parts = Parts(estimator, own if past == "own" else past, "constrained", "every-round")
    width = "mixture" if estimator == "means" else "determinant"
    for seed, plan in enumerate([Plan(), SCATTERED, LOSSY]):
        problem = _problem(kind, seed)
        by_hand(parts, problem, LONG, seed=seed, plan=plan, learn_baseline=True)
        problem = _problem(kind, seed)
        by_hand(parts, problem, LONG, seed=seed, plan=plan, learn_baseline=True, width=width)


@pytest.mark.parametrize("past", ["own", "martingale", "larger"])
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "linear", "contexts", "intervals"])
def test_learning_from_known_means(kind: str, past: str) -> None:
    """A mean known exactly is as good as a reward, at once; one in an interval teaches nothing."""
    estimator = _estimator(kind)
    own = "arm-sums" if estimator == "means" else "self-normalised"
    parts = Parts(estimator, own if past == "own" else past, "constrained", "checkpoints")
    for seed, plan in enumerate([Plan(), SCATTERED, LOSSY]):
        problem = _problem(kind, seed)
        by_hand(parts, problem, LONG, seed=seed, plan=plan, learn_baseline="mean")
    if kind not in ("contexts", "intervals"):
        pair = around(problem.settings)
        by_hand(parts, problem, LONG, baseline_mean=pair, learn_baseline="mean")


@pytest.mark.parametrize("past", ["own", "larger"])
@pytest.mark.parametrize("kind", ["means", "linear"])
def test_learning_where_any_arm_may_be_the_baseline(kind: str, past: str) -> None:
    """Rewards of an arm come from rounds of S and from baseline rounds."""
    rng = np.random.default_rng(71)
    problem: Problem
    if kind == "means":
        problem = WanderingBaseline(rng, rank=1, alpha=0.2137)
        own = "arm-sums"
    else:
        problem = WanderingLinear(rng, arms=5, dim=3, rank=1, noise=0.3, alpha=0.2137)
        own = "self-normalised"
    parts = Parts(kind, own if past == "own" else past, "constrained", "every-round")
    tally = by_hand(parts, problem, 400, learn_baseline=True)
    assert set(tally.events) >= {"optimistic", "baseline"}


@pytest.mark.parametrize("default", [None, 0.25])
@pytest.mark.parametrize("window", [1, 15])
@pytest.mark.parametrize("kind", ["bernoulli", "linear", "contexts"])
def test_learning_within_a_window(kind: str, window: int, default: float | None) -> None:
    """Baseline rounds settle like others, with the default if it comes to that."""
    parts = Parts(_estimator(kind), "larger", "constrained", "every-round")
    more: dict[str, Any] = {"window": window, "default_reward": default}
    for seed in range(2):
        problem = _problem(kind, seed)
        by_hand(parts, problem, 200, seed=seed, plan=LOSSY, learn_baseline=True, **more)


@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-10.0, 10.0), (3.0, 7.0)])
@pytest.mark.parametrize("past", ["none", "arm-sums", "martingale", "larger"])
def test_kl(past: str, reward_range: tuple[float, float]) -> None:
    """Rewards at both ends of the range, and anywhere in it."""
    selection = "optimistic" if past == "none" else "constrained"
    parts = Parts("means", past, selection, "none" if past == "none" else "every-round")
    for seed in range(2):
        for make in (Bernoulli, Fractions):
            rng = np.random.default_rng([72, seed])
            problem = make(rng, arms=4, rank=1, alpha=0.1137, reward_range=reward_range)
            for accounting in ("union", "paper"):
                by_hand(parts, problem, 150, seed=seed, width="kl", accounting=accounting)


@pytest.mark.parametrize("plan", [SCATTERED, LOSSY], ids=["scattered", "lossy"])
def test_kl_late(plan: Plan) -> None:
    """Late rewards, learning from baseline rounds as well."""
    parts = Parts("means", "larger", "constrained", "every-round")
    for seed in range(2):
        problem = Fractions(np.random.default_rng([73, seed]), arms=4, rank=1, alpha=0.1137)
        by_hand(parts, problem, LONG, seed=seed, plan=plan, width="kl", learn_baseline=True)


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("past", ["martingale", "larger"])
@pytest.mark.parametrize("kind", ["bernoulli", "fractions", "linear", "contexts"])
def test_bernstein(kind: str, past: str, clip: str) -> None:
    """Rewards at once, late in any order, and in the order of decisions in a window."""
    for seed, (plan, window) in enumerate([(Plan(), None), (SCATTERED, None), (LOSSY, 10)]):
        for reward_range in ((0.0, 1.0), (-2.0, 3.0)):
            problem = _within(kind, seed, reward_range)
            parts = Parts(_estimator(kind), past, "constrained", "every-round")
            more: dict[str, Any] = {"cumulative": "bernstein", "clip": clip}
            if window is not None:
                more |= {"window": window, "default_reward": reward_range[0]}
            by_hand(parts, problem, LONG, seed=seed, plan=plan, **more)


def _within(kind: str, seed: int, reward_range: tuple[float, float]) -> Problem:
    rng = np.random.default_rng([74, seed])
    more: dict[str, Any] = {"alpha": 0.1137, "reward_range": reward_range}
    if kind == "bernoulli":
        return Bernoulli(rng, arms=4, rank=1, **more)
    if kind == "fractions":
        return Fractions(rng, arms=4, rank=1, **more)
    if kind == "linear":
        return LinearArms(rng, arms=5, dim=3 - seed % 2, rank=1, **more)
    return Contexts(rng, dim=3, **more)
