"""Decisions that may not have been carried out: what they count, and what that protects from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError, Policy
from handrail.testing.world import World
from oracle.beyond import ContextsUntold
from oracle.catalogue import Parts
from oracle.problems import Contexts, GaussianArms, LinearArms, arguments
from support import SETTINGS, make

PASTS = {
    "arms": ["arm-sums", "martingale", "larger", "oracle"],
    "features": ["self-normalised", "martingale", "larger", "oracle"],
    "contexts": ["self-normalised", "martingale", "larger"],
}


def two(name: str, **more: Any) -> Policy:
    """Arm 1 of two is the baseline; alpha = 1/2."""
    given: dict[str, Any] = {"arms": 2, "baseline": 1, "baseline_mean": 0.5, "alpha": 0.5}
    given |= {"delta": 0.1, "reward_range": (0.0, 1.0), "confirm": True}
    return handrail.make_policy(name, **{**given, **more})


def ledger(policy: Policy) -> dict[str, float]:
    row = policy._state.model.ledger[0]
    return {name: row[name].item() for name in row.dtype.names}


# ---------------------------------------------------------------- by hand


def test_an_oracle_by_hand() -> None:
    """mu = (0.8, 0.5): an unconfirmed round counts 0, the present one too, a confirmed one 0.8.

    t = 1: 0 - 0.5 (1 - 0.5) < 0, so the baseline: 0.5 (0.5 - 0) = 0.25.
    t = 2: 0 - 0.5 (1 - 1) = 0.
    t = 3, round 2 unconfirmed: 0 - 0.5 (2 - 1.5) < 0, so the baseline: 0.5 (1.5 - 1) = 0.25;
    confirmed: 0.8 - 0.5 (2 - 1.5) = 0.55.
    Held to be played as decided: 0.8 - 0.25 = 0.55 at t = 1, then 1.6 - 0.5 (2 - 1) = 1.1.
    """
    policy = two("CUCB-Or", true_means=[0.8, 0.5])
    held, first = policy.decide(), policy.decide()
    assert (held.action, first.action) == (1, 0)
    assert (held.margin, first.margin) == pytest.approx((0.25, 0.0))
    assert ledger(policy)["promised"] == 0.0
    waits = policy.explain()
    assert waits.action == 1
    assert waits.margin == pytest.approx(0.25)
    assert policy.learn(first, reward=1.0) == "learned"
    assert policy.explain().margin == pytest.approx(0.55)
    usual = two("CUCB-Or", true_means=[0.8, 0.5], confirm=False)
    assert usual.decide().margin == pytest.approx(0.55)
    assert usual.decide().margin == pytest.approx(1.1)


@pytest.mark.parametrize("name", ["CUCB-S", "CUCB2"])
def test_an_arm_that_is_known_to_be_better_by_hand(name: str) -> None:
    """Fifty rewards of 1 and a baseline of 0.2: the lower bound L of arm 0 is above 0.2.

    Two rounds without a reward count nothing; the need counts all s = 52 of them. Arm sums:
    50 L' - 0.2 (53 - 0.5 t), L' = L while nothing new is learned. A waived one is the 51st
    reward summed, of 0, and a confirmed one is one of 51 plays.
    """
    policy = two(name, baseline_mean=0.2)
    while ledger(policy)["rewards"] < 50:
        decision = policy.decide()
        if decision.awaits_reward:
            policy.learn(decision, reward=1.0)
    one, other = policy.decide(), policy.decide()
    assert (one.action, other.action) == (0, 0)
    assert one.lower == other.lower > 0.3
    assert ledger(policy)["promised"] == 0.0
    now = policy.explain()
    need = 0.2 * (53 - 0.5 * now.round)
    if name == "CUCB-S":
        assert now.margin == pytest.approx(50 * now.lower - need)
    assert policy.close(one) == "waived"
    assert (ledger(policy)["waived"], ledger(policy)["promised"]) == (0.0, 0.0)
    assert (ledger(policy)["rewards"], ledger(policy)["reward"]) == (51, 50.0)
    if name == "CUCB-S":
        assert policy.explain().margin == pytest.approx(now.margin)
    assert policy._state.model.arrays()["plays"].tolist() == [50, 0]
    assert policy.learn(other, reward=1.0) == "learned"
    assert policy._state.model.arrays()["plays"].tolist() == [51, 0]
    last = policy.explain()
    if name == "CUCB-S":
        assert last.margin == pytest.approx(51 * last.lower - need)


def test_features_of_unconfirmed_rounds_are_in_no_sum() -> None:
    policy = make("CLUCB-S", "dim", confirm=True, alpha=0.9)
    told: dict[str, Any] = {"features": np.eye(3), "baseline": 1, "baseline_mean": 0.05}
    for _ in range(3):
        policy.decide(**told, hold=True)
    first, second = policy.decide(**told), policy.decide(**told)
    assert first.action != 1
    assert second.action != 1
    total = policy._state.model.arrays()["total"]
    assert total.tolist() == [0.0, 0.0, 0.0]
    policy.learn(second, reward=1.0)
    assert total.tolist() == np.eye(3)[second.action].tolist()


def test_a_guard_counts_nothing_anyway() -> None:
    one, other = make("GUARD", "guard"), make("GUARD", "guard", confirm=True)
    rng = np.random.default_rng(160)
    for _ in range(200):
        reward = float(rng.random() < 0.7)
        decisions = [policy.decide(proposal="new") for policy in (one, other)]
        assert decisions[0].explanation == decisions[1].explanation
        if rng.random() < 0.5:
            one.learn(decisions[0], reward)
            other.learn(decisions[1], reward)


# ---------------------------------------------------------------- what stays the same


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_rewards_at_once_confirm_at_once(name: str, setting: str) -> None:
    """Then nothing waits between rounds, and every round of S is one with a reward."""
    if setting == "dim" and handrail.algorithm(name).past == "oracle":
        return  # refused
    policy = make(name, setting, confirm=True)
    world = World(policy, 4)
    for _ in range(120):
        decision = policy.decide(**world.round())
        policy.learn(decision, world.reward())
        after = ledger(policy)
        assert (after["pending"], after["waiting"], after["promised"]) == (0, 0, 0.0)
        assert after["rewards"] == after["plays"]


@pytest.mark.parametrize("setting", ["arms", "features", "dim"])
def test_what_promises_nothing_has_nothing_to_confirm(setting: str) -> None:
    name = "UCB" if setting == "arms" else "LinUCB"
    policies = [make(name, setting, confirm=confirm) for confirm in (False, True)]
    worlds = [World(policy, 5) for policy in policies]
    rng = np.random.default_rng(161)
    late: list[tuple[handrail.Decision, handrail.Decision, float]] = []
    for _ in range(150):
        one, other = (p.decide(**w.round()) for p, w in zip(policies, worlds, strict=True))
        assert one.explanation == other.explanation
        reward, _ = (world.reward() for world in worlds)
        late.append((one, other, reward))
        if rng.random() < 0.4:
            for mine, theirs, earned in late[:-2:2]:
                policies[0].learn(mine, earned)
                policies[1].learn(theirs, earned)
            late = late[-2:]


# ---------------------------------------------------------------- what it protects from


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("CUCB-S", "arms"),
        ("CUCB2", "arms"),
        ("HANDRAIL", "arms"),
        ("CLUCB2", "features"),
        ("LinHANDRAIL", "features"),
    ],
)
def test_answers_that_got_lost_break_the_plain_rule_and_not_this_one(
    name: str, setting: str
) -> None:
    """A good arm is learned, then the answers that name it get lost, then another takes its place.

    Arm 0 (0.9) is decided 400 times while the caller plays the baseline (0.2); what is left is arm
    2, worth nothing, whose rewards are outstanding. Played as decided, arm 0 would have earned far
    more. Rewards are the means, so that no bound can fail.
    """
    means = [0.9, 0.2, 0.0]
    rows = np.eye(3)
    more: dict[str, Any] = {"arms": 2}
    if setting == "features":
        more = {"features": rows[:2]}
    if name != "CLUCB2":
        more["arms_ever"] = 3
    lowest = {}
    for confirm in (False, True):
        policy = make(name, setting, baseline_mean=0.2, alpha=0.5, confirm=confirm, **more)
        budget, least, lost, last = 0.0, 0.0, 0, 0
        while last < 2000:
            decision = policy.decide()
            played = decision.action
            if played == 0 and ledger(policy)["rewards"] < 100:
                policy.learn(decision, reward=0.9)
            elif played == 0:
                played, lost = 1, lost + 1
            budget += means[played] - 0.5 * 0.2
            least = min(least, budget)
            last += lost > 400
            if lost == 400:
                lost += 1
                policy.add_arm(*([rows[2]] if setting == "features" else []))
                policy.retire_arm(0)
        lowest[confirm] = least
    assert lowest[False] < -10.0
    assert lowest[True] >= -1e-9


def _quiet(kind: str, told: str, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """A problem with little noise, and what is changed of its settings."""
    more: dict[str, Any] = {"delta": 1e-6, "alpha": 0.4}
    if kind == "arms":
        return GaussianArms(rng, arms=4, rank=2, noise=0.02), {**more, "width": "mixture"}
    more |= {"width": "determinant", "ridge": 0.1}
    if kind == "features":
        return LinearArms(rng, arms=6, dim=3, rank=3, noise=0.02), more
    world = ContextsUntold if told == "learned" else Contexts
    return world(rng, dim=2, noise=0.02, best=0.95), more


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("told", ["known", "learned"])
@pytest.mark.parametrize(
    ("kind", "past"), [(kind, past) for kind, pasts in PASTS.items() for past in pasts]
)
def test_whichever_decisions_were_lost(kind: str, past: str, told: str, schedule: str) -> None:
    """The true budget is no less than the margin for any set of lost decisions.

    At worst every unconfirmed round earned nothing at all. The present decision is taken as played,
    as its margin says. Some lost ones are reported, and are the baseline's from then on. False
    alarm: 4e-5, for 40 runs whose bounds may fail with 1e-6 each.
    """
    if past == "oracle" and told == "learned":
        return  # an oracle knows it
    rng = np.random.default_rng([162, len(kind), len(past)])
    problem, more = _quiet(kind, told, rng)
    if told == "learned":
        more["baseline_mean"] = "learned"
    if schedule == "checkpoints":
        more |= {"checkpoint_every": 7, "baseline_lower": 0.0 if told == "learned" else None}
    estimator = "means" if kind == "arms" else "linear"
    parts = Parts(estimator, past, "constrained", schedule)
    row = handrail.Algorithm("mine", *parts)
    settings = arguments(parts, {**problem.settings, **more})
    if kind == "contexts" and schedule == "checkpoints" and told == "known":
        settings["baseline_lower"] = problem.settings["baseline_lower"]
    policy = handrail.make_policy(row, **settings, confirm=True)
    alpha, low = settings["alpha"], float(policy._settings.rules["baseline_lower"][0])
    certain, explored = 0.0, 0
    waiting: list[float] = []
    for number in range(1, 1001):
        asked = problem.ask()
        means = problem.means
        decision = policy.decide(**asked)
        baseline = asked.get("baseline", problem.settings.get("baseline"))
        mine, theirs = float(means[decision.action]), float(means[baseline])
        until = -(-number // 7) * 7 if schedule == "checkpoints" else number
        worst = certain - (1 - alpha) * sum(waiting)
        slack = theirs if kind == "arms" else low  # one constant mean lasts until the checkpoint
        budget = worst + mine - (1 - alpha) * theirs + alpha * slack * (until - number)
        assert decision.margin is not None
        assert budget >= decision.margin - 1e-9, f"round {number}"
        if decision.event == "baseline":
            certain += alpha * theirs
            if decision.awaits_reward and rng.random() < 0.8:
                policy.learn(decision, problem.reward(baseline))
            continue
        explored += 1
        kind_of_end = rng.random()
        if kind_of_end < 0.5:
            policy.learn(decision, problem.reward(decision.action))
            certain += mine - (1 - alpha) * theirs
            continue
        if kind_of_end < 0.65:
            policy.fall_back(decision)
            certain += alpha * theirs
            if told == "learned" and rng.random() < 0.8:
                policy.learn(decision, problem.reward(baseline))
            continue
        waiting.append(theirs)
        if kind_of_end < 0.8:
            policy.close(decision)
    assert explored > 30
    assert len(waiting) > 10


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("value", [None, 0, 1, "yes"])
def test_confirm_is_true_or_false(value: Any) -> None:
    with pytest.raises(InputError) as error:
        two("CUCB2", confirm=value)
    assert error.value.field == "confirm"


def test_not_for_oracles_over_contexts() -> None:
    with pytest.raises(InputError, match="is not for an oracle with dim") as error:
        make("CLUCB-Or", "dim", confirm=True)
    assert error.value.field == "confirm"
    make("CLUCB-Or", "features", confirm=True)


def test_not_for_simulations() -> None:
    with pytest.raises(InputError, match="rewards come at once") as error:
        handrail.simulate("bernoulli", algorithms=["CUCB2"], rounds=10, confirm=True)
    assert error.value.field == "confirm"
