"""The library against the oracle: policies that are saved and loaded all the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import handrail
from oracle.beyond import Fractions, Proposals, Turnover, around
from oracle.catalogue import Parts
from oracle.compare import After, Plan, run
from oracle.guarding import guarded
from oracle.oracle import Oracle
from oracle.pair import with_lines
from oracle.problems import Contexts, LinearArms, Problem, arguments

SCATTERED = Plan(longest=40, at_once=0.5)
LONG = 80
LAWS: dict[str, Any] = {
    "every 5": {"checkpoint_every": 5},
    "listed": {"checkpoints": [4, 50, 51, 120]},
    "gap": {"checkpoint_gap": 7},
    "law": {"checkpoint_gap": stats.randint(1, 31), "delta": 0.5},
    "sample": {"checkpoint_gap": np.array([3, 8, 9, 20, 31]), "delta": 0.5},
}


class Saved:
    """A policy that is written down and read again before every tenth call or so."""

    def __init__(self, policy: Any, folder: Path) -> None:
        self.policy = policy
        self.path = folder / "policy"
        self.rng = np.random.default_rng(130)

    def __getattr__(self, name: str) -> Any:
        if self.rng.random() < 0.1:
            self.policy.save(self.path)
            self.policy = handrail.load_policy(self.path)
        return getattr(self.policy, name)


def _reports(more: dict[str, Any]) -> After | None:
    if "checkpoint_gap" not in more:
        return None

    def after(time: int, policy: Any, oracle: Any) -> None:
        if time % 31 == 0:
            policy.checkpoint()
            oracle.checkpoint()

    return after


def _case(kind: str) -> tuple[str, Problem, dict[str, Any]]:
    rng = np.random.default_rng([131])
    told: dict[str, Any] = {"checkpoint_every": None, "learn_baseline": True}
    if kind in ("interval", "learned"):
        arms = Fractions(rng, arms=4, rank=1, alpha=0.2137)
        told["baseline_mean"] = around(arms.settings) if kind == "interval" else "learned"
        return "means", arms, {**told, "width": "kl", "cumulative": "bernstein"}
    if kind == "contexts":
        return "linear", Contexts(rng, dim=3, noise=0.2, alpha=0.2137), told
    features = LinearArms(rng, arms=5, dim=3, rank=1, alpha=0.2137)
    told |= {"width": "intersection", "cumulative": "mixture"}
    told["baseline_mean"] = "learned"
    return "linear", features, told


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", ["interval", "learned", "contexts", "features"])
def test_saved(kind: str, law: str, tmp_path: Path) -> None:
    """Nothing is forgotten."""
    estimator, problem, told = _case(kind)
    parts = Parts(estimator, "larger", "constrained", "checkpoints")
    settings = arguments(parts, {**problem.settings, **told, **LAWS[law]})
    policy = handrail.make_policy(handrail.Algorithm("mine", *parts), **settings)
    oracle = Oracle(parts=parts, **with_lines(settings))
    rng = np.random.default_rng(132)
    run(Saved(policy, tmp_path), oracle, problem, LONG, rng, SCATTERED, _reports(LAWS[law]))


@pytest.mark.parametrize("ever", [9, "any"])
def test_saved_arms_that_come_and_go(ever: int | str, tmp_path: Path) -> None:
    """Neither are arms."""
    parts = Parts("means", "larger", "constrained", "every-round")
    problem = Turnover(np.random.default_rng(133), arms=3, rank=1, alpha=0.2137)
    settings = arguments(parts, {**problem.settings, "arms_ever": ever})
    policy = handrail.make_policy(handrail.Algorithm("mine", *parts), **settings)
    oracle = Oracle(parts=parts, **settings)
    rng = np.random.default_rng(134)
    run(Saved(policy, tmp_path), oracle, problem, LONG, rng, SCATTERED, problem.after(20, 9))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("told", ["known", "round", "once", "learned"])
def test_saved_guards(told: str, law: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what guards have seen, by names that are words or numbers."""
    make = handrail.make_policy
    monkeypatch.setattr(handrail, "make_policy", lambda *a, **k: Saved(make(*a, **k), tmp_path))
    problem = Proposals(np.random.default_rng(135), told)
    more = LAWS[law]
    guarded("GUARD-T", problem, LONG, plan=SCATTERED, after=_reports(more), **more)
