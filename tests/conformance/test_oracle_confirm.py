"""The library against the oracle: decisions that may not have been carried out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import handrail
from oracle.beyond import ContextsInIntervals, ContextsUntold, Proposals, around
from oracle.catalogue import CATALOGUE, Parts
from oracle.compare import Plan
from oracle.guarding import guarded
from oracle.pair import by_hand, by_name
from oracle.problems import (
    Bernoulli,
    Contexts,
    LinearArms,
    Problem,
    WanderingBaseline,
    WanderingLinear,
)

# A window without a default, and a default without a window, are used here knowingly; what warns of
# them is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(window|default_reward) without:handrail.errors.NoGuaranteeWarning"
)

LOSSY = Plan(longest=30, at_once=0.5, lost=0.3, closed=0.5)
FALLING = Plan(longest=30, at_once=0.5, lost=0.3, closed=0.5, fallen=0.3, choice=0.5, said=0.8)
PLANS = {"lossy": LOSSY, "falling": FALLING}
SCHEDULES = ["every-round", "checkpoints"]
MEANS = ["arm-sums", "martingale", "larger", "oracle"]
LINEAR = ["self-normalised", "martingale", "larger"]
LONG = 70


def _problem(kind: str, seed: int, **more: Any) -> Problem:
    rng = np.random.default_rng([150, seed])
    more = {"alpha": 0.3137, **more}
    if kind == "arms":
        return Bernoulli(rng, arms=4, rank=1, **more)
    if kind == "features":
        return LinearArms(rng, arms=6, dim=3, rank=1, **more)
    if kind == "catalogue":  # more arms than arm space takes
        return LinearArms(rng, arms=7, dim=2, rank=1, **more)
    return Contexts(rng, dim=3, **more)


@pytest.mark.parametrize("kind", ["arms", "features", "catalogue", "contexts"])
@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("plan", PLANS)
def test_the_catalogue(plan: str, name: str, kind: str) -> None:
    """Rewards come late or never; UCB and LinUCB are as they were."""
    parts = CATALOGUE[name]
    if (parts.estimator == "means") != (kind == "arms"):
        return
    if parts.past == "oracle" and kind in ("catalogue", "contexts"):
        return  # refused: see test_confirm.py
    seen: Counter[str] = Counter()
    for seed in range(2):
        problem = _problem(kind, seed)
        seen += by_name(name, problem, LONG, plan=PLANS[plan], seed=seed, confirm=True).events
    assert seen["optimistic"] + seen["safe"] > 5


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("told", ["known", "interval", "learned"])
@pytest.mark.parametrize("past", MEANS)
@pytest.mark.parametrize("plan", PLANS)
def test_arms(plan: str, past: str, told: str, schedule: str) -> None:
    if past == "oracle" and told == "learned":
        return  # an oracle knows it
    parts = Parts("means", past, "constrained", schedule)
    for seed, clip in enumerate(("zero", "none")):
        problem = _problem("arms", seed)
        more: dict[str, Any] = {"clip": clip}
        if told != "known":
            more["baseline_mean"] = "learned" if told == "learned" else around(problem.settings)
        by_hand(parts, problem, LONG, plan=PLANS[plan], seed=seed, confirm=True, **more)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("told", ["known", "interval", "learned", "lessons", "mean"])
@pytest.mark.parametrize("past", LINEAR)
@pytest.mark.parametrize("kind", ["features", "catalogue", "contexts"])
@pytest.mark.parametrize("plan", PLANS)
def test_linear(plan: str, kind: str, past: str, told: str, schedule: str) -> None:
    parts = Parts("linear", past, "constrained", schedule)
    for seed, clip in enumerate(("zero", "none")):
        problem = _problem(kind, seed, noise=0.1)
        more: dict[str, Any] = {"clip": clip}
        if told == "learned":
            more["baseline_mean"] = "learned"
        elif told == "interval" and kind != "contexts":
            more["baseline_mean"] = around(problem.settings)
        elif told in ("lessons", "mean"):
            more["learn_baseline"] = True if told == "lessons" else "mean"
        if kind == "contexts" and told in ("interval", "learned"):
            world = ContextsInIntervals if told == "interval" else ContextsUntold
            problem = world(np.random.default_rng([151, seed]), dim=3, alpha=0.3137)
        by_hand(parts, problem, LONG, plan=PLANS[plan], seed=seed, confirm=True, **more)


@pytest.mark.parametrize("past", LINEAR)
@pytest.mark.parametrize("plan", PLANS)
def test_a_learned_mean_is_put_to_use(plan: str, past: str) -> None:
    """A run long enough for exploration to begin."""
    parts = Parts("linear", past, "constrained", "every-round")
    more: dict[str, Any] = {"baseline_mean": "learned", "width": "determinant", "confirm": True}
    if past != "self-normalised":
        more["cumulative"] = "mixture"
    seen: Counter[str] = Counter()
    for world in (LinearArms, ContextsUntold):
        rng = np.random.default_rng(152)
        told: dict[str, Any] = {"arms": 4, "rank": 1} if world is LinearArms else {}
        problem = world(rng, dim=2, noise=0.02, alpha=0.6, **told)
        seen += by_hand(parts, problem, 600, plan=PLANS[plan], **{**more, "ridge": 0.1}).events
    assert set(seen) >= {"optimistic", "baseline"}


@pytest.mark.parametrize("kind", ["arms", "features"])
@pytest.mark.parametrize("plan", PLANS)
def test_a_baseline_that_wanders(plan: str, kind: str) -> None:
    """A fallback goes by the mean of the round's own baseline."""
    for past in ("arm-sums" if kind == "arms" else "self-normalised", "martingale", "larger"):
        rng = np.random.default_rng(153)
        parts = Parts("means" if kind == "arms" else "linear", past, "constrained", "every-round")
        world = WanderingBaseline if kind == "arms" else WanderingLinear
        by_hand(parts, world(rng, rank=1, alpha=0.3137), LONG, plan=PLANS[plan], confirm=True)


@pytest.mark.parametrize("reward_range", [(0.0, 5.0), (-10.0, 10.0)])
@pytest.mark.parametrize("default", [None, 0.25])
@pytest.mark.parametrize("kind", ["arms", "features", "contexts"])
@pytest.mark.parametrize("plan", PLANS)
def test_windows_and_units(
    plan: str, kind: str, default: float | None, reward_range: tuple[float, float]
) -> None:
    """Missing at the close: the lowest reward, or the default where word came, else nothing."""
    own = "arm-sums" if kind == "arms" else "self-normalised"
    for past in (own, "martingale", "larger"):
        parts = Parts("means" if kind == "arms" else "linear", past, "constrained", "checkpoints")
        for window in (1, 12):
            problem = _problem(kind, window, reward_range=reward_range)
            more: dict[str, Any] = {"window": window, "default_reward": default}
            more["clip"] = "zero" if window == 1 else "none"
            by_hand(parts, problem, LONG // 2, plan=PLANS[plan], confirm=True, **more)


SAID = Plan(
    longest=12, at_once=0.6, lost=0.4, closed=0.5, held=0.2, fallen=0.15, choice=0.5, said=0.7
)


@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("told", ["known", "interval", "learned", "lessons"])
@pytest.mark.parametrize("kind", ["arms", "features", "catalogue", "contexts"])
def test_word_apart_from_rewards(kind: str, told: str, window: int | None) -> None:
    """With a default: word before rewards, after them, alone, or never; saved on the way."""
    own = "arm-sums" if kind == "arms" else "self-normalised"
    more: dict[str, Any] = {"window": window, "default_reward": 0.25, "clip": "none"}
    seen: Counter[str] = Counter()
    for seed, past in enumerate((own, "martingale", "larger")):
        parts = Parts("means" if kind == "arms" else "linear", past, "constrained", "every-round")
        problem = _problem(kind, seed, noise=0.1) if kind != "arms" else _problem(kind, seed)
        if told == "learned":
            more["baseline_mean"] = "learned"
        elif told == "interval" and kind != "contexts":
            more["baseline_mean"] = around(problem.settings)
        elif told == "lessons":
            more["learn_baseline"] = True
        if kind == "contexts" and told in ("interval", "learned"):
            world = ContextsInIntervals if told == "interval" else ContextsUntold
            problem = world(np.random.default_rng([158, seed]), dim=3, alpha=0.3137)
        seen += by_hand(parts, problem, LONG, plan=SAID, seed=seed, confirm=True, **more).events
    assert told == "learned" or seen["optimistic"] + seen["safe"] > 30


@pytest.mark.parametrize("name", ["UCB", "LinUCB", "CUCB-Or", "CLUCB-Or"])
@pytest.mark.parametrize("window", [None, 8])
def test_word_where_nothing_is_bounded(window: int | None, name: str) -> None:
    """To UCB an unsaid round teaches nothing; to those who know the past it counts nothing."""
    kind = "arms" if CATALOGUE[name].estimator == "means" else "features"
    more: dict[str, Any] = {"window": window, "default_reward": 0.25}
    by_name(name, _problem(kind, 5), LONG, plan=SAID, confirm=True, **more)


@pytest.mark.parametrize("name", ["GUARD", "GUARD-T"])
@pytest.mark.parametrize("told", ["known", "round", "once", "learned"])
def test_guards_with_windows(told: str, name: str) -> None:
    """With a default word is needed, for proposals and for a baseline that is learned."""
    more: dict[str, Any] = {"checkpoint_every": 9} if name == "GUARD-T" else {}
    for window, default in ((None, 0.0), (8, 0.25), (8, None)):
        problem = Proposals(np.random.default_rng([159, window or 0]), told)
        changes: dict[str, Any] = {"window": window, "default_reward": default}
        changes = {key: value for key, value in changes.items() if value is not None}
        guarded(name, problem, LONG, plan=SAID, confirm=True, **changes, **more)


@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("told", ["known", "interval"])
@pytest.mark.parametrize("past", [*(past for past in MEANS if past != "oracle"), "guard"])
def test_by_reward(past: str, told: str, window: int | None) -> None:
    """A reward confirms and silence takes the lowest one: no word is asked for."""
    more: dict[str, Any] = {"confirm": "by-reward", "window": window}
    if past == "guard":
        proposals = Proposals(np.random.default_rng(160), "known" if told == "known" else "once")
        more = {key: value for key, value in more.items() if value is not None}
        guarded("GUARD", proposals, LONG, plan=SAID, default_reward=0.0, **more)
        return
    problem = _problem("arms", 6, reward_range=(-10.0, 10.0))
    if told == "interval":
        more["baseline_mean"] = around(problem.settings)
    parts = Parts("means", past, "constrained", "every-round")
    by_hand(parts, problem, LONG, plan=SAID, default_reward=-10.0, **more)


@pytest.mark.parametrize("name", ["GUARD", "GUARD-T"])
@pytest.mark.parametrize("told", ["known", "round", "once", "learned"])
@pytest.mark.parametrize("plan", PLANS)
def test_guards(plan: str, told: str, name: str) -> None:
    """A proposal is worth nothing until its reward comes, with or without."""
    more: dict[str, Any] = {"checkpoint_every": 9} if name == "GUARD-T" else {}
    for seed in range(2):
        problem = Proposals(np.random.default_rng([154, seed]), told)
        guarded(name, problem, LONG, plan=PLANS[plan], seed=seed, confirm=True, **more)


class Saved:
    """A policy that is written down and read again before every tenth call or so."""

    def __init__(self, policy: handrail.Policy) -> None:
        self.policy = policy
        self.rng = np.random.default_rng(155)

    def __getattr__(self, name: str) -> Any:
        if self.rng.random() < 0.1:
            self.policy = handrail.Policy.from_bytes("saved", self.policy.to_bytes())
        return getattr(self.policy, name)


@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("told", ["known", "learned", "lessons"])
@pytest.mark.parametrize("kind", ["arms", "features", "catalogue", "contexts"])
def test_saved(kind: str, told: str, window: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is forgotten of decisions that are not confirmed, said or chosen otherwise."""
    make = handrail.make_policy
    monkeypatch.setattr(handrail, "make_policy", lambda *a, **k: Saved(make(*a, **k)))
    parts = Parts("means" if kind == "arms" else "linear", "larger", "constrained", "checkpoints")
    problem = _problem(kind, 3)
    more: dict[str, Any] = {"learn_baseline": True} if told == "lessons" else {}
    if told == "learned":
        more = {"baseline_mean": "learned"}
        if kind == "contexts":
            problem = ContextsUntold(np.random.default_rng(156), dim=3, alpha=0.3137)
    if window is not None:
        more |= {"window": window, "default_reward": 0.25}
    by_hand(parts, problem, LONG, plan=FALLING, confirm=True, **more)


@pytest.mark.parametrize("told", ["known", "learned"])
@pytest.mark.parametrize("default", [None, 0.25])
def test_saved_guards(default: float | None, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = handrail.make_policy
    monkeypatch.setattr(handrail, "make_policy", lambda *a, **k: Saved(make(*a, **k)))
    problem = Proposals(np.random.default_rng(157), told)
    more: dict[str, Any] = {} if default is None else {"default_reward": default}
    assert guarded("GUARD", problem, 2 * LONG, plan=FALLING, confirm=True, **more).fallen > 3
