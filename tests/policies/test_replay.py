"""A round from a log leaves the state that deciding it left, and its numbers can be checked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import handrail
from handrail.conservative.choice import ACTION, FLOOR, MEAN, PROMISE
from handrail.policies.decision import Decision
from handrail.policies.played import Played
from handrail.policies.policy import Policy

ROUNDS = 120
ROW = dict[str, Any]


def shapes(name: str) -> list[tuple[str, ROW]]:
    """Return the kinds of policies that an algorithm can be, by what its actions are."""
    row = handrail.algorithm(name)
    base: ROW = {"delta": 0.1}
    if row.conservative:
        base["alpha"] = 0.2
    if row.schedule == "checkpoints":
        base["checkpoint_every"] = 7
    baseline: ROW = {"baseline": 1} if row.conservative else {}
    rng = np.random.default_rng(3)
    if row.estimator == "none":
        return [("guard", base | {"baseline": "old"})]
    if row.estimator == "means":
        return [("arms", base | baseline | {"arms": 5})]
    linear = base | {"theta_bound": 4.0}
    fixed = [
        ("fixed", linear | baseline | {"features": rng.normal(size=(arms, 3)) / 4})
        for arms in (5, 12)
    ]
    contexts = (
        [] if row.past == "oracle" else [("contexts", linear | {"dim": 3, "feature_bound": 5.0})]
    )
    return fixed + contexts


def cases() -> list[Any]:
    """Return algorithms with what is known of their baselines, and with and without a window."""
    found = []
    for listed in handrail.algorithms():
        name = listed["name"]
        row = handrail.algorithm(name)
        for kind, parameters in shapes(name):
            knowledge: list[Any] = [0.5]
            if row.conservative and row.past != "oracle":
                knowledge += [(0.4, 0.6), "learned"]
            for mean in knowledge:
                for low, high in ((0.0, 1.0), (1.0, 3.0)):
                    for confirm in (False, True):
                        case = parameters | {"reward_range": (low, high), "confirm": confirm}
                        if low and "theta_bound" in case:
                            case["theta_bound"] = 12.0  # so that means of 2 are possible
                        if row.conservative:
                            case["baseline_mean"] = _outward(mean, low, high)
                        if row.past == "oracle":
                            arms = case.get("arms", len(case.get("features", ())))
                            case["true_means"] = [_outward(0.5, low, high)] * arms
                        if confirm:
                            case |= {"window": 12, "default_reward": low}
                        if row.schedule == "checkpoints":
                            case["baseline_lower"] = low
                        label = f"{name}-{kind}-{mean}-{low:g}-{confirm}"
                        found.append(pytest.param(name, kind, case, id=label))
    return found


def _outward(mean: Any, low: float, high: float) -> Any:
    if isinstance(mean, str):
        return mean
    if isinstance(mean, tuple):
        return tuple(_outward(each, low, high) for each in mean)
    return low + mean * (high - low)


def arguments(kind: str, round_: int, rng: np.random.Generator) -> ROW:
    if kind == "guard":
        return {"proposal": f"new-{round_ % 3}"}
    if kind == "contexts":
        return {"features": rng.uniform(0.1, 0.5, size=(6, 3)), "baseline": 2}
    return {}


def as_played(policy: Policy, decision: Decision, given: ROW, baseline: int) -> Played:
    """Return what a log would hold of a decision."""
    choice = decision.choice
    features = base = None
    if "features" in given:
        rows = given["features"]
        if policy.parameters["reward_range"][0] != 0.0:
            rows = np.column_stack([rows, np.ones(len(rows))])
        features, base = rows[choice[ACTION]], rows[baseline]
    identity = decision.identity
    assert identity is not None
    return Played(
        decision.round,
        identity.copy,
        choice[ACTION],
        decision.event == "baseline" and policy.algorithm.conservative,
        baseline,
        choice[FLOOR],
        choice[MEAN],
        choice[PROMISE],
        features,
        base,
    )


@pytest.mark.parametrize(("name", "kind", "parameters"), cases())
def test_replay_gives_the_same_bits(name: str, kind: str, parameters: ROW) -> None:
    rng = np.random.default_rng(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", handrail.NoGuaranteeWarning)
        policy = handrail.make_policy(name, **parameters)
        twin = handrail.make_policy(name, **parameters)
    policy.take_name("0123456789abcdef")
    twin.take_name("0123456789abcdef")
    waiting: list[Decision] = []
    low, high = parameters["reward_range"]
    for number in range(ROUNDS):
        given = arguments(kind, number, rng)
        own: Any = given.get("baseline", parameters.get("baseline", -1))
        baseline = 0 if kind == "guard" else int(own)
        decision = policy.decide(**given, hold=policy.algorithm.conservative and number % 10 == 9)
        played = as_played(policy, decision, given, baseline)
        examined = twin.examine(played)
        choice = decision.choice
        for found, answered in (
            (examined.margin, decision.margin),
            (examined.upper, decision.upper),
            (examined.lower, decision.lower),
            (examined.floor, choice[FLOOR]),
            (examined.mean, choice[MEAN]),
            (examined.promise, choice[PROMISE]),
        ):
            # Fewer actions beside it change no operation on this one.
            assert found == answered
        twin.replay(played)
        if decision.awaits_reward:
            waiting.append(decision)
        while waiting and rng.random() < 0.5:
            late = waiting.pop(int(rng.integers(len(waiting))))
            reward = float(rng.uniform(low, high))
            assert policy.learn(late.id, reward) == twin.learn(late.id, reward)
    assert policy.to_bytes() == twin.to_bytes()


def test_rounds_are_replayed_in_order() -> None:
    policy = handrail.make_policy(
        "CUCB2", arms=2, baseline=0, baseline_mean=0.5, alpha=0.1, delta=0.1, reward_range=(0, 1)
    )
    before = policy.to_bytes()
    with pytest.raises(handrail.InputError, match="does not follow round 0"):
        policy.replay(Played(2, "0" * 8, 0, True, 0, 0.5, 0.5, 0.0, None, None))
    assert policy.to_bytes() == before


def test_a_name_of_a_log_is_checked() -> None:
    policy = handrail.make_policy("UCB", arms=2, delta=0.1, reward_range=(0, 1))
    with pytest.raises(handrail.InputError, match="no policy's name"):
        policy.take_name("../etc")
