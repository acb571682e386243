"""The library against the oracle: a baseline whose mean lies in an interval, or is learned."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from oracle.beyond import ContextsInIntervals, ContextsUntold, Fractions, around
from oracle.catalogue import Parts
from oracle.compare import Plan
from oracle.pair import KINDS, by_hand
from oracle.problems import Bernoulli, GaussianArms, LinearArms, Problem

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore::handrail.errors.NoGuaranteeWarning")

SELECTIONS = ["two-step", "largest-lower", "largest-lower-literal", "constrained"]
SCATTERED = Plan(longest=40, at_once=0.5)
LOSSY = Plan(longest=30, at_once=0.4, lost=0.2, closed=0.7)
PLANS = {"at once": Plan(), "scattered": SCATTERED, "lossy": LOSSY}
MEANS = ["arm-sums", "martingale", "larger"]
LINEAR = ["self-normalised", "martingale", "larger"]
LONG = 75


def _arms(kind: str, seed: int, **more: Any) -> Problem:
    rng = np.random.default_rng([80, seed])
    more = {"alpha": 0.2137, **more}
    if kind == "bernoulli":
        return Bernoulli(rng, arms=4, rank=seed % 3, **more)
    if kind == "fractions":
        return Fractions(rng, arms=4, rank=seed % 3, **more)
    if kind == "gaussian":
        return GaussianArms(rng, arms=4, rank=seed % 3, noise=0.2, **more)
    # The library keeps arms apart where there are at most d^2 of them.
    return LinearArms(rng, arms=6, dim=3 - seed % 2, rank=seed % 3, **more)


# ---------------------------------------------------------------- an interval


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("past", [*MEANS, "oracle"])
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
def test_one_mean_of_an_arm(kind: str, past: str, selection: str, schedule: str) -> None:
    """One constant mean somewhere in an interval."""
    parts = Parts("means", past, selection, schedule)
    seen: Counter[str] = Counter()
    for seed in range(2):
        problem = _arms(kind, seed)
        pair = around(problem.settings, 0.05 * seed, 0.1)
        seen += by_hand(parts, problem, LONG, seed=seed, baseline_mean=pair).events
    assert set(seen) >= KINDS[selection] - {"safe"}


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("past", [*MEANS, "oracle"])
@pytest.mark.parametrize("width", ["kl", "mixture", "wu"])
def test_one_mean_of_an_arm_that_is_learned_too(width: str, past: str, schedule: str) -> None:
    """The interval is cut to the arm's own, as soon as that is the narrower one."""
    parts = Parts("means", past, "constrained", schedule)
    told: dict[str, Any] = {"learn_baseline": True, "alpha": 0.4863, "width": width}
    for seed, kind in enumerate(["bernoulli", "gaussian" if width != "kl" else "fractions"]):
        problem = _arms(kind, seed)
        pair = around(problem.settings, 0.5, 0.5)
        tally = by_hand(parts, problem, 200, seed=seed, baseline_mean=pair, **told)
        assert set(tally.events) >= {"baseline", "optimistic"}


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("past", [*LINEAR, "oracle"])
def test_one_mean_of_an_arm_with_features(past: str, selection: str, schedule: str) -> None:
    """The same with a linear model over fixed arms."""
    parts = Parts("linear", past, selection, schedule)
    for seed in range(2):
        problem = _arms("linear", seed)
        pair = around(problem.settings, 0.05 * seed, 0.1)
        by_hand(parts, problem, LONG, seed=seed, baseline_mean=pair, learn_baseline=bool(seed % 2))


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("past", LINEAR)
def test_interval_of_every_round(past: str, selection: str, schedule: str) -> None:
    """Contexts: an interval, a number or nothing is told, and then the first interval holds."""
    parts = Parts("linear", past, selection, schedule)
    for seed in range(2):
        rng = np.random.default_rng([81, seed])
        problem = ContextsInIntervals(rng, dim=3, noise=0.2, alpha=0.2137)
        more: dict[str, Any] = {"learn_baseline": seed == 1}
        if seed:
            problem.usual = (0.1, 0.95)
            more["baseline_mean"] = problem.usual
        if seed == 2:
            more["baseline_lower"] = None  # then it is the lower end of the usual interval
        by_hand(parts, problem, LONG, seed=seed, **more)


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("kind", ["bernoulli", "linear"])
def test_interval_that_may_be_wrong(kind: str, accounting: str, clip: str) -> None:
    """The other events share what is left of delta."""
    estimator, own = ("means", "arm-sums") if kind == "bernoulli" else ("linear", "self-normalised")
    for past in (own, "martingale", "larger"):
        parts = Parts(estimator, past, "constrained", "every-round")
        problem = _arms(kind, 1, delta=0.1)
        more: dict[str, Any] = {"baseline_mean": around(problem.settings), "clip": clip}
        by_hand(parts, problem, 200, accounting=accounting, baseline_delta=0.04, **more)


@pytest.mark.parametrize("reward_range", [(0.0, 5.0), (-10.0, 10.0), (3.0, 7.0)])
@pytest.mark.parametrize("kind", ["bernoulli", "linear", "contexts"])
def test_interval_in_units(kind: str, reward_range: tuple[float, float]) -> None:
    """In the user's units, with and without a constant feature."""
    estimator = "means" if kind == "bernoulli" else "linear"
    for schedule in ("every-round", "checkpoints"):
        parts = Parts(estimator, "larger", "constrained", schedule)
        if kind == "contexts":
            rng = np.random.default_rng(82)
            by_hand(parts, ContextsInIntervals(rng, dim=3, reward_range=reward_range), 200)
        else:
            problem = _arms(kind, 2, reward_range=reward_range)
            by_hand(parts, problem, 200, baseline_mean=around(problem.settings, 0.03, 0.05))


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("kind", ["bernoulli", "linear", "contexts"])
def test_interval_and_late_rewards(kind: str, plan: str) -> None:
    """Pending rounds count in s, and promise what they did when they were decided."""
    estimator, own = ("means", "arm-sums") if kind == "bernoulli" else ("linear", "self-normalised")
    for past in (own, "martingale", "larger"):
        parts = Parts(estimator, past, "constrained", "checkpoints")
        if kind == "contexts":
            rng = np.random.default_rng(83)
            problem: Problem = ContextsInIntervals(rng, dim=3, noise=0.2, alpha=0.2137)
            by_hand(parts, problem, LONG, plan=PLANS[plan])
        else:
            problem = _arms(kind, 1 if past == "larger" else 2)
            pair = around(problem.settings, 0.03, 0.05)
            by_hand(parts, problem, LONG, plan=PLANS[plan], baseline_mean=pair)


# ---------------------------------------------------------------- learned


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("past", MEANS)
def test_learned_mean_of_an_arm(past: str, selection: str, schedule: str) -> None:
    """The interval is the arm's own, with every width."""
    parts = Parts("means", past, selection, schedule)
    seen: Counter[str] = Counter()
    for seed, (kind, width) in enumerate(
        [("bernoulli", "kl"), ("fractions", "kl"), ("bernoulli", "mixture"), ("gaussian", "wu")]
    ):
        problem = _arms(kind, seed)
        more: dict[str, Any] = {"baseline_mean": "learned", "width": width}
        seen += by_hand(parts, problem, LONG, seed=seed, **more).events
    assert set(seen) >= KINDS[selection] - {"safe"}


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("past", LINEAR)
@pytest.mark.parametrize("kind", ["linear", "contexts"])
def test_learned_mean_in_a_model(kind: str, past: str, selection: str, schedule: str) -> None:
    """Two expressions, alone and the larger of them."""
    parts = Parts("linear", past, selection, schedule)
    for seed in range(2):
        more: dict[str, Any] = {"width": "determinant" if seed else "paper"}
        if kind == "linear":
            problem = _arms("linear", seed, alpha=0.4863)
            by_hand(parts, problem, LONG, seed=seed, baseline_mean="learned", **more)
            continue
        rng = np.random.default_rng([84, seed])
        contexts = ContextsUntold(rng, dim=3, noise=0.1, alpha=0.4863)
        if seed == 2:
            more["baseline_lower"] = None  # then it is 0
        by_hand(parts, contexts, LONG, seed=seed, baseline_mean="learned", **more)


def test_learned_mean_in_a_model_is_put_to_use() -> None:
    """A run long enough for exploration to begin."""
    seen: Counter[str] = Counter()
    for past in LINEAR:
        parts = Parts("linear", past, "constrained", "every-round")
        problem = LinearArms(
            np.random.default_rng(85), arms=4, dim=2, rank=1, noise=0.02, alpha=0.6, ridge=0.1
        )
        more: dict[str, Any] = {"baseline_mean": "learned", "width": "determinant"}
        if past != "self-normalised":
            more["cumulative"] = "mixture"
        seen += by_hand(parts, problem, 800, **more).events
    assert set(seen) >= {"optimistic", "baseline"}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "linear", "contexts"])
def test_learned_and_late_rewards(kind: str, plan: str) -> None:
    """Rewards of the baseline, too, come late or never."""
    estimator = "means" if kind in ("bernoulli", "gaussian") else "linear"
    for past in MEANS if estimator == "means" else LINEAR:
        parts = Parts(estimator, past, "constrained", "checkpoints")
        problem: Problem = _arms(kind, 2, alpha=0.4863)
        if kind == "contexts":
            problem = ContextsUntold(np.random.default_rng(86), dim=3, noise=0.1, alpha=0.4863)
        by_hand(parts, problem, LONG, plan=PLANS[plan], baseline_mean="learned")


@pytest.mark.parametrize("default", [None, 0.25])
@pytest.mark.parametrize("kind", ["bernoulli", "linear", "contexts"])
def test_learned_within_a_window(kind: str, default: float | None) -> None:
    """Baseline rounds settle like others."""
    parts = Parts(
        "means" if kind == "bernoulli" else "linear", "larger", "constrained", "checkpoints"
    )
    for window in (1, 12):
        problem: Problem = _arms(kind, 1, alpha=0.4863)
        if kind == "contexts":
            problem = ContextsUntold(np.random.default_rng(87), dim=3, noise=0.1, alpha=0.4863)
        more: dict[str, Any] = {"window": window, "default_reward": default}
        by_hand(parts, problem, 200, plan=LOSSY, baseline_mean="learned", **more)


@pytest.mark.parametrize("reward_range", [(0.0, 5.0), (-10.0, 10.0), (3.0, 7.0)])
@pytest.mark.parametrize("kind", ["bernoulli", "linear", "contexts"])
def test_learned_in_units(kind: str, reward_range: tuple[float, float]) -> None:
    """In the user's units, with and without a constant feature."""
    for clip in ("zero", "none"):
        parts = Parts(
            "means" if kind == "bernoulli" else "linear", "larger", "constrained", "checkpoints"
        )
        problem: Problem = _arms(kind, 1, alpha=0.4863, reward_range=reward_range)
        if kind == "contexts":
            rng = np.random.default_rng(88)
            problem = ContextsUntold(rng, dim=3, alpha=0.4863, reward_range=reward_range)
        by_hand(parts, problem, 200, baseline_mean="learned", clip=clip)
