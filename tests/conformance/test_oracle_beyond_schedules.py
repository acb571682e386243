"""The library against the oracle: checkpoints by a list, reported, or with random gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from oracle.beyond import ContextsInIntervals, Proposals, around
from oracle.catalogue import Parts
from oracle.compare import After, Plan
from oracle.guarding import guarded
from oracle.pair import by_hand
from oracle.problems import Bernoulli, Contexts, LinearArms, Problem

SCATTERED = Plan(longest=40, at_once=0.5)
LISTS = {
    "one": [40],
    "uneven": [1, 2, 10, 11, 60, 150, 230],
    "late": [400, 800],
}
LAWS: dict[str, Any] = {
    "smallest gap": 12,
    "adversarial": 1,
    "poisson": stats.poisson(20, loc=1),
    "1.25 to 30.25": stats.randint(1, 31, 0.25),
    "geometric": stats.geom(0.1),
    "gamma": stats.gamma(40),
    "sample": np.array([3, 8, 8, 9, 14, 20, 25, 30, 30, 31]),
}
KINDS = ["bernoulli", "interval", "linear", "learned", "contexts", "intervals"]
LONG = 75


def _reports(law: Any, seed: int) -> After:
    """Report checkpoints with gaps drawn from the law, each at least 1."""
    rng = np.random.default_rng([90, seed])

    def draw() -> int:
        if isinstance(law, int):
            return law + int(rng.integers(6))
        if isinstance(law, np.ndarray):
            return int(rng.choice(law))
        return max(1, int(np.ceil(law.rvs(random_state=rng))))

    left = draw()

    def after(time: int, policy: Any, oracle: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            policy.checkpoint()
            oracle.checkpoint()
            left = draw()

    return after


def _case(kind: str, seed: int) -> tuple[Parts, Problem, dict[str, Any]]:
    rng = np.random.default_rng([91, seed])
    selection = "constrained" if seed % 2 else "two-step"
    told: dict[str, Any] = {"checkpoint_every": None}
    if kind in ("bernoulli", "interval"):
        problem: Problem = Bernoulli(rng, arms=4, rank=1, alpha=0.1137)
        if kind == "interval":
            told["baseline_mean"] = around(problem.settings, 0.1, 0.05)
        return Parts("means", "larger", selection, "checkpoints"), problem, told
    if kind in ("linear", "learned"):
        problem = LinearArms(
            rng, arms=5, dim=3 - seed % 2, rank=1, alpha=0.2137, baseline_lower=0.05
        )
        if kind == "learned":
            told["baseline_mean"] = "learned"
        return Parts("linear", "martingale", selection, "checkpoints"), problem, told
    make = Contexts if kind == "contexts" else ContextsInIntervals
    problem = make(rng, dim=3, noise=0.2, alpha=0.2137)
    return Parts("linear", "self-normalised", selection, "checkpoints"), problem, told


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("kind", KINDS)
def test_known_list(kind: str, listed: str) -> None:
    """After the last of a list: every round."""
    for seed in range(2):
        parts, problem, told = _case(kind, seed)
        by_hand(parts, problem, LONG, seed=seed, checkpoints=LISTS[listed], **told)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_reported(kind: str, law: str) -> None:
    """A smallest gap, or random gaps, whose quantile is fixed for each gap."""
    gap = LAWS[law]
    for seed in range(2):
        parts, problem, told = _case(kind, seed)
        told |= {"checkpoint_gap": gap, "delta": 0.4}
        plan = SCATTERED if seed else Plan()
        by_hand(parts, problem, LONG, seed=seed, plan=plan, after=_reports(gap, seed), **told)


@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("kind", ["bernoulli", "linear", "contexts"])
def test_shares_of_random_gaps(kind: str, accounting: str) -> None:
    """Random gaps take part in delta, by weight or equally."""
    gap = stats.randint(1, 31)
    parts, problem, told = _case(kind, 1)
    parts = Parts(parts.estimator, "martingale", "constrained", "checkpoints")
    told |= {"checkpoint_gap": gap, "delta": 0.6, "accounting": accounting}
    if accounting == "union":
        told["delta_weights"] = {"estimator": 1.0, "martingale": 2.0, "schedule": 5.0}
    by_hand(parts, problem, LONG, after=_reports(gap, 7), **told)


@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("cut", [False, True], ids=["known mean", "interval that is learned"])
def test_random_gaps_of_a_known_past(cut: bool, accounting: str) -> None:
    """The gaps have all of delta, unless an interval is cut to what its arm is learned to be."""
    gap = stats.randint(1, 31)
    parts = Parts("means", "oracle", "constrained", "checkpoints")
    problem = Bernoulli(np.random.default_rng(94), arms=4, rank=1, alpha=0.1137)
    told: dict[str, Any] = {"checkpoint_every": None, "checkpoint_gap": gap, "delta": 0.5}
    if cut:
        pair = around(problem.settings, 0.2, 0.4)
        told |= {"baseline_mean": pair, "learn_baseline": True, "width": "kl"}
    by_hand(parts, problem, LONG, after=_reports(gap, 8), accounting=accounting, **told)


@pytest.mark.parametrize("told", ["known", "round", "once", "learned"])
def test_guards(told: str) -> None:
    """The same schedules for guards."""
    for seed, listed in enumerate(LISTS.values()):
        problem = Proposals(np.random.default_rng([92, seed]), told)
        guarded("GUARD-T", problem, LONG, seed=seed, checkpoints=listed)
    for seed, gap in enumerate(LAWS.values()):
        problem = Proposals(np.random.default_rng([93, seed]), told, delta=0.5)
        after = _reports(gap, seed)
        guarded("GUARD-T", problem, LONG, seed=seed, checkpoint_gap=gap, after=after)
