"""Arms that are added and retired on the way."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError, Policy
from handrail.bounds.kl import kl_interval
from support import FEATURES, make, play, state


def learn(policy: Policy, rounds: int, rewards: dict[int, float]) -> list[int]:
    played = []
    for _ in range(rounds):
        decision = policy.decide()
        played.append(decision.action)
        policy.learn(decision, rewards[decision.action])
    return played


def test_an_added_arm_is_explored_and_a_retired_one_is_not() -> None:
    policy = make("HANDRAIL", "arms", arms=3, arms_ever=5)
    worth = {0: 0.5, 1: 0.55, 2: 0.6, 3: 0.9, 4: 0.1}
    assert 3 not in learn(policy, 300, worth)
    assert policy.add_arm() == 3
    policy.retire_arm(2)
    later = learn(policy, 600, worth)
    assert later.count(3) > 400
    assert 2 not in later
    assert policy.add_arm() == 4
    with pytest.raises(InputError, match="arms_ever"):
        policy.add_arm()


def test_shares_of_delta_do_not_move() -> None:
    """The j-th arm ever created gets 6 / (pi j)^2 of the estimator's share, here half of 0.1."""
    policy = make("CUCB2", "arms", arms=2, arms_ever="any", width="kl", baseline=1, alpha=0.9)
    for _ in range(2):
        policy.add_arm()
    worth = {0: 0.2, 1: 0.5, 2: 0.3, 3: 0.8}
    learn(policy, 2000, worth)
    decision = policy.decide()
    assert decision.action == 3
    count = int(policy._state.model.arrays()["counts"][3])
    level = 0.05 * 6 / (math.pi * 4) ** 2
    assert (decision.lower, decision.upper) == pytest.approx(
        kl_interval(count, 0.8 * count, level), abs=1e-9
    )
    assert policy.failure_probability == pytest.approx(0.1)


def test_a_retired_arm_stays_in_the_past() -> None:
    policy = make("CUCB", "arms", arms=3, alpha=0.9, width="kl")
    learn(policy, 200, {0: 0.9, 1: 0.55, 2: 0.3})
    counts = policy._state.model.arrays()["plays"].copy()
    before = policy.explain()
    leader = before.explanation["most_optimistic"]["action"]
    policy.retire_arm(leader)
    after = policy.explain()
    assert after.action != leader
    ledger = policy._state.model.ledger[0]
    s, t = int(ledger["plays"]), int(ledger["rounds"]) + 1
    low = {
        arm: kl_interval(int(n), {0: 0.9, 1: 0.55, 2: 0.3}[arm] * int(n), 0.1 / 3)[0]
        for arm, n in enumerate(counts)
        if n
    }
    past = sum(int(counts[arm]) * max(low[arm], 0.0) for arm in low)
    other = after.explanation["most_optimistic"]
    own = low.get(other["action"], 0.0)
    wanted = past + max(own, 0.0) - 0.55 * (s + 1 - 0.9 * t)
    assert other["margin"] == pytest.approx(wanted, abs=1e-9)


def test_all_retired_leaves_the_baseline() -> None:
    policy = make("HANDRAIL", "arms", arms=3, alpha=0.9)
    policy.retire_arm(0)
    policy.retire_arm(2)
    assert {d.action for d in play(policy, 100)} == {1}


@pytest.mark.parametrize("width", ["determinant", "intersection"])
def test_an_added_linear_arm_is_as_if_it_had_been_there(width: str) -> None:
    """The regression does not ask how many arms there are; only the share of each arm's mean."""
    whole = make("CLUCB2", "features", width="determinant", alpha=0.6, feature_bound=2.0)
    few = make(
        "CLUCB2", "features", width=width, alpha=0.6, features=FEATURES[:4], feature_bound=2.0
    )
    whole.retire_arm(4)
    worth = dict(enumerate([0.45, 0.55, 0.65, 0.4, 0.8]))
    if width == "determinant":
        assert learn(whole, 200, worth) == learn(few, 200, worth)
        assert few.add_arm(FEATURES[4]) == 4
        gram = few._state.model.arrays()["gram"]
        np.testing.assert_allclose(gram, whole._state.model.arrays()["gram"], atol=1e-12)
    else:
        learn(few, 200, worth)
        with pytest.raises(InputError, match="arms_ever"):
            few.add_arm(FEATURES[4])


@pytest.mark.parametrize(("name", "setting"), [("HANDRAIL", "arms"), ("CLUCB2", "features")])
def test_comings_and_goings_are_saved(name: str, setting: str, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"arms_ever": "any"} if setting == "arms" else {"feature_bound": 2.0}
    policy = make(name, setting, **changes)
    play(policy, 100)
    policy.add_arm(*([] if setting == "arms" else [FEATURES[0] * 0.5]))
    policy.retire_arm(0)
    play(policy, 100)
    policy.save(tmp_path / "p")
    again = handrail.load_policy(tmp_path / "p")
    assert state(again) == state(policy)
    assert [d.margin for d in play(again, 50)] == [d.margin for d in play(policy, 50)]
    assert again.add_arm(*([] if setting == "arms" else [FEATURES[0] * 0.5])) == 6


def test_what_cannot_come_or_go() -> None:
    policy = make("HANDRAIL", "arms")
    cases: list[tuple[Any, str]] = [
        (policy.add_arm, "arm"),
        (lambda: policy.retire_arm(1), "arm"),
        (lambda: policy.retire_arm(9), "arm"),
        (lambda: make("HANDRAIL", "arms", arms_ever=3), "arms_ever"),
        (lambda: make("HANDRAIL", "arms", arms_ever="many"), "arms_ever"),
        (lambda: make("CLUCB2", "dim").add_arm(FEATURES[0]), "arm"),
        (lambda: make("CLUCB2", "features").add_arm(FEATURES[0] * 9), "features"),
        (lambda: make("CLUCB2", "features").add_arm(), "features"),
        (lambda: make("HANDRAIL-Or", "arms", arms_ever=9).add_arm(), "arm"),
        (lambda: policy.is_retired("0"), "arm"),  # type: ignore[arg-type]
        (lambda: policy.is_retired(0.5), "arm"),  # type: ignore[arg-type]
    ]
    before = state(policy)
    for call, field in cases:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.field == field
    assert state(policy) == before


def test_the_last_arm_stays_and_a_retired_baseline_is_refused() -> None:
    free = handrail.make_policy("UCB", arms=2, delta=0.1, reward_range=(0, 1))
    free.retire_arm(0)
    with pytest.raises(InputError, match="last one"):
        free.retire_arm(1)
    assert {d.action for d in play(free, 20)} == {1}
    policy = make("CUCB2", "arms")
    policy.retire_arm(2)
    with pytest.raises(InputError, match="was retired") as caught:
        policy.decide(baseline=2, baseline_mean=0.4)
    assert caught.value.field == "baseline"


def test_reasons_when_only_the_baseline_is_left() -> None:
    policy = make("HANDRAIL", "arms", arms=2)
    policy.retire_arm(0)
    decision = policy.decide()
    assert decision.explanation["most_optimistic"] is None
    assert "is the only one" in decision.reason


def test_many_arms_in_few_dimensions_keep_their_own_means() -> None:
    """More arms than squared dimensions: where arms are stored changes no bound."""
    features = np.random.default_rng(0).uniform(0.1, 0.9, (10, 2))
    changes: dict[str, Any] = {"features": features, "alpha": 0.9, "theta_bound": 5.0}
    cut = make("LinHANDRAIL", "features", **changes)
    whole = make("LinHANDRAIL", "features", width="determinant", **changes)
    for policy in (cut, whole):
        learn(policy, 400, dict.fromkeys(range(10), 0.7))
    one, two = cut.decide(), whole.decide()
    assert one.upper - one.lower < two.upper - two.lower
