"""Promises that rest on a linear model: they say so, and do not lean on it more than they must."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError, NoGuaranteeWarning, Policy
from handrail.policies.notes import LINEAR, UNNAMED, UNNAMED_LEARNED
from support import FEATURES, MEANS, SETTINGS, make, state

CONTEXTS: dict[str, Any] = {"dim": 2, "alpha": 0.2, "delta": 0.1, "theta_bound": 1.0}
NAMES = ["LinHANDRAIL", "LinHANDRAIL-Or", "LinHANDRAILT"]


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_who_rests_on_a_linear_model_says_so(name: str, setting: str) -> None:
    """In its notes; and it does not warn of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoGuaranteeWarning)
        policy = make(name, setting)
    row = policy.algorithm
    rests = row.estimator == "linear" and row.past not in ("none", "oracle")
    assert (LINEAR in policy.notes) is rests
    assert "if means are not linear in the features, nothing is promised" in LINEAR
    described = "promised if means are linear in the features, else not" in row.description
    assert described is rests


def test_notes_are_read_only() -> None:
    policy = make("CLUCB2", "dim")
    policy.notes.clear()
    assert policy.notes
    with pytest.raises(AttributeError):
        policy.notes = []  # type: ignore[misc]


def test_what_voids_the_promise_warns_and_is_noted() -> None:
    with pytest.warns(NoGuaranteeWarning) as caught:
        policy = make("CUCB2", "arms", width="ucb1")
    assert [str(each.message) for each in caught] == policy.notes[:1]


def test_spending_more_than_delta_is_noted() -> None:
    for accounting in ("paper", "union"):
        policy = make("CUCB2", "arms", accounting=accounting, delta=0.05)
        said = any("more than delta" in note for note in policy.notes)
        assert said is (accounting == "paper")


@pytest.mark.parametrize(
    ("told", "note"), [(0.4, UNNAMED), ((0.3, 0.4), UNNAMED), ("learned", UNNAMED_LEARNED)]
)
def test_contexts_without_a_named_baseline_say_who_names_it(told: Any, note: str) -> None:
    """Each round does: what is promised is then no more than what its caller says."""
    assert note in _contexts("LinHANDRAIL", baseline_mean=told).notes
    named = _contexts("LinHANDRAIL", baseline_mean=told, baseline=0)
    assert not {UNNAMED, UNNAMED_LEARNED} & {*named.notes}


def _lesson(policy: Policy, **told: Any) -> int:
    """Say how many lessons a round of the baseline over contexts left."""
    if policy.algorithm.past == "oracle":
        told["true_means"] = [0.4, 0.4]
    policy.decide(features=[[0.5, 0.3], [0.2, 0.6]], baseline=0, hold=True, **told)
    return int(policy._state.model.ledger["lessons"][0])


def _contexts(name: str, **more: Any) -> Policy:
    if name.endswith("T"):
        more["checkpoint_every"] = 10
        more.setdefault("baseline_lower", 0.1)
    return handrail.make_policy(name, **CONTEXTS, noise=0.1, **more)


@pytest.mark.parametrize("name", NAMES)
def test_means_of_contexts_teach_nothing(name: str) -> None:
    """Unless it is asked for: who tells them may tell an average, which nobody can see."""
    constant = _contexts(name, baseline_mean=0.4)
    assert _lesson(constant) == 0
    assert any("the baseline's mean in every context" in note for note in constant.notes)
    assert _lesson(_contexts(name, baseline_mean=np.array(0.4))) == 0
    assert _lesson(_contexts(name, baseline_mean=0.4, learn_baseline="mean")) == 1
    told = _contexts(name)
    assert _lesson(told, baseline_mean=0.4) == 0
    assert not any("every context" in note for note in told.notes)
    assert _lesson(_contexts(name, learn_baseline="mean"), baseline_mean=0.4) == 1


@pytest.mark.parametrize("name", ["LinHANDRAIL", "LinHANDRAILT"])
def test_who_learns_means_told_round_by_round_says_what_they_have_to_be(name: str) -> None:
    def says(policy: Policy) -> bool:
        return any("is learned as that of its context" in note for note in policy.notes)

    assert says(_contexts(name, learn_baseline="mean"))
    assert not says(_contexts(name))
    assert not says(_contexts(name, baseline_mean=0.4))
    assert not says(_contexts(name, baseline_mean=0.4, learn_baseline="mean"))
    assert not says(_contexts(name, learn_baseline=False))
    assert not says(make(name, "features"))


@pytest.mark.parametrize(
    "mean",
    [(0.4, 0.4), [0.4, 0.4], np.array([0.4, 0.4]), Fraction(2, 5), Decimal("0.4"), (0.2, 0.4)],
    ids=["tuple", "list", "array", "fraction", "decimal", "interval"],
)
def test_one_mean_teaches_nothing_however_it_is_written(mean: Any) -> None:
    """Also an interval, of which `baseline_lower` leaves one number here."""
    constant = _contexts("LinHANDRAILT", baseline_mean=mean, baseline_lower=0.4)
    assert _lesson(constant) == 0
    assert any("the baseline's mean in every context" in note for note in constant.notes)
    assert constant.filled_in["learn_baseline"] is False
    asked = _contexts("LinHANDRAILT", baseline_mean=mean, baseline_lower=0.4, learn_baseline="mean")
    assert _lesson(asked) == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_of_a_fixed_arm_teaches(name: str) -> None:
    policy = make(name, "features")
    policy.decide(hold=True)
    assert int(policy._state.model.ledger["lessons"][0]) == 1


# ---------------------------------------------------------------- a wrong model, by ablation


def _interaction(rounds: int, told: str, **changes: Any) -> float:
    """Play contexts whose right action is the sign of x_1 x_2; return the true budget at the end.

    The baseline plays the right action where x_1 > -0.6, and its average is given as the mean of
    every round: when the policy is made, with every round, or as the average so far.
    """
    rng = np.random.default_rng(77)
    places = rng.uniform(-1.0, 1.0, (rounds, 2))
    right = (places[:, 0] * places[:, 1] > 0.0).astype(int)
    baseline = np.where(places[:, 0] > -0.6, right, 1 - right)
    means = np.where(baseline == right, 0.9, 0.1)
    average = float(means.mean())
    if told == "made":
        changes["baseline_mean"] = average
    given = CONTEXTS | {"dim": 6, "alpha": 0.1, "theta_bound": 2.0, "reward_range": (0, 1)}
    policy = handrail.make_policy("LinHANDRAIL", **given, **changes)
    budget = 0.0
    for t in range(rounds):
        rows = np.zeros((2, 6))
        rows[0, :3] = rows[1, 3:] = np.array([1.0, *places[t]]) / np.sqrt(3.0)
        asked: dict[str, Any] = {"features": rows, "baseline": int(baseline[t])}
        if told == "every round":
            asked["baseline_mean"] = average
        elif told == "so far":
            asked["baseline_mean"] = float(means[: max(t, 1)].mean())
        decision = policy.decide(**asked)
        mean = 0.9 if decision.action == right[t] else 0.1
        budget += mean - 0.9 * float(means[t])
        if decision.awaits_reward:
            policy.learn(decision, float(rng.random() < mean))
    return budget


@pytest.mark.parametrize("told", ["made", "every round", "so far"])
def test_an_average_over_contexts_is_not_learned_from(told: str) -> None:
    """Learned from, it broke the promise in 6 of 6 runs (`python -m benchmarks.misspecified`)."""
    assert _interaction(2_000, told) > 0.0
    assert _interaction(2_000, told, learn_baseline="mean") < -50.0


# ---------------------------------------------------------------- means that cannot be


@pytest.mark.parametrize(
    ("mean", "changes", "fine"),
    [
        (0.5, {}, True),
        (0.51, {}, False),
        ((0.49, 0.9), {}, True),
        ((0.51, 0.9), {}, False),
        # Means are <theta, phi> in the user's units, wherever the range begins.
        (0.5, {"reward_range": (-1.0, 1.0)}, True),
        (0.51, {"reward_range": (-1.0, 1.0)}, False),
        (-0.5, {"reward_range": (-1.0, 1.0)}, True),
        (-0.51, {"reward_range": (-1.0, 1.0)}, False),
        ((-0.9, -0.49), {"reward_range": (-1.0, 1.0)}, True),
        ((-0.9, -0.51), {"reward_range": (-1.0, 1.0)}, False),
        (0.51, {"mean_range": (-1.0, 1.0), "reward_range": None, "noise": 0.5}, False),
        (1.5, {"reward_range": (1.0, 2.0)}, False),
        (1.0, {"reward_range": (1.0, 2.0)}, False),
        (1.5, {"reward_range": (1.0, 2.0), "theta_bound": 3.0}, True),
        (1.51, {"reward_range": (1.0, 2.0), "theta_bound": 3.0}, False),
        (5.0, {"reward_range": (0.0, 10.0), "theta_bound": 10.0}, True),
        (5.1, {"reward_range": (0.0, 10.0), "theta_bound": 10.0}, False),
    ],
)
@pytest.mark.parametrize("name", ["CLUCB2", "LinHANDRAIL", "LinHANDRAIL-Or"])
def test_an_impossible_mean_is_refused(
    name: str, mean: Any, changes: dict[str, Any], fine: bool
) -> None:
    """|theta| <= 1 and |phi_b| = 0.5: the baseline cannot earn more than 0.5."""
    given = CONTEXTS | {"reward_range": (0.0, 1.0), "feature_bound": 1.0} | changes
    rows = np.array([[0.3, 0.4], [0.6, 0.8]])
    over_contexts = handrail.make_policy(name, **given)
    fixed = {key: value for key, value in given.items() if key != "dim"}
    fixed |= {"features": rows, "baseline": 0, "baseline_mean": mean}
    told: dict[str, Any] = {"features": rows, "baseline": 0, "baseline_mean": mean}
    if name.endswith("-Or"):
        lowest = (given["reward_range"] or given["mean_range"])[0]
        fixed["true_means"] = told["true_means"] = [lowest, lowest]
    before = state(over_contexts)
    if fine:
        handrail.make_policy(name, **fixed)
        over_contexts.check(**told)
        over_contexts.decide(**told)
        return
    for attempt in (
        lambda: handrail.make_policy(name, **fixed),
        lambda: over_contexts.check(**told),
        lambda: over_contexts.decide(**told),
        lambda: over_contexts.explain(**told),
    ):
        with pytest.raises(InputError, match="impossible") as caught:
            attempt()
        assert caught.value.field == "baseline_mean"
    assert state(over_contexts) == before


@pytest.mark.parametrize("range_", [(-0.1, 0.2), (-0.3, 0.7), (-1e6, 3.3), (0.0, 0.3)])
def test_features_of_0_allow_a_mean_of_0_up_to_rounding(range_: tuple[float, float]) -> None:
    policy = handrail.make_policy("CLUCB2", **CONTEXTS, feature_bound=1.0, reward_range=range_)
    rows = [[0.0, 0.0], [0.6, 0.8]]
    policy.check(features=rows, baseline=0, baseline_mean=0.0)
    with pytest.raises(InputError, match="0 at most"):
        policy.check(features=rows, baseline=0, baseline_mean=0.1 * range_[1])


def test_a_learned_mean_is_not_held_to_be_impossible() -> None:
    """Nobody told it: the range alone says that it is 1 at least, and the bound .5 at most."""
    given = CONTEXTS | {"reward_range": (1.0, 2.0), "feature_bound": 1.0}
    policy = handrail.make_policy("CLUCB2", **given, baseline_mean="learned")
    policy.check(features=[[0.3, 0.4], [0.6, 0.8]], baseline=0)


def test_an_impossible_mean_of_another_fixed_arm_is_refused() -> None:
    policy = make("CLUCB2", "features", theta_bound=0.8)
    assert policy.add_arm([0.1, 0.1, 0.1]) == len(FEATURES)
    before = state(policy)
    with pytest.raises(InputError, match=r"allow 0\.138564 at most"):
        policy.decide(baseline=len(FEATURES), baseline_mean=MEANS[1])
    assert state(policy) == before
    policy.decide(baseline=len(FEATURES), baseline_mean=0.13)


def test_nothing_is_impossible_to_those_without_a_promise() -> None:
    make("LinUCB", "dim").decide(features=[[0.1, 0.0, 0.0]], baseline=0, baseline_mean=0.9)
