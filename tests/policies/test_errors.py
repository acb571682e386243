"""Bad input gets a clear error that names the field, and changes nothing.

What a policy is made with is checked here, one wrong value at a time; what it is used with is also
checked, for every algorithm, by `handrail.testing.check_policy`.
"""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import Algorithm, InputError, NoGuaranteeWarning
from handrail.conservative.past import PASTS
from handrail.conservative.schedule import SCHEDULES
from handrail.conservative.selection import SELECTIONS
from handrail.policies.algorithm import PART_NAMES
from handrail.policies.defaults import DEFAULTS
from support import FEATURES, MEANS, make, parameters, play, state

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore:window without:handrail.errors.NoGuaranteeWarning")

MAKE: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("CUCB2", "arms", {"alpha": 0.0}, "alpha", "outside"),
    ("CUCB2", "arms", {"alpha": 1.0}, "alpha", "outside"),
    ("CUCB2", "arms", {"alpha": -0.1}, "alpha", "outside"),
    ("CUCB2", "arms", {"alpha": math.nan}, "alpha", "not finite"),
    ("CUCB2", "arms", {"alpha": "0.1"}, "alpha", "not a number"),
    ("CUCB2", "arms", {"alpha": True}, "alpha", "outside"),
    ("CUCB2", "arms", {"alpha": None}, "alpha", "required"),
    ("CUCB2", "arms", {"delta": 0.0}, "delta", "outside"),
    ("CUCB2", "arms", {"delta": 1.0}, "delta", "outside"),
    ("CUCB2", "arms", {"delta": 2.0}, "delta", "outside"),
    ("CUCB2", "arms", {"delta": None}, "delta", "required"),
    ("CUCB2", "arms", {"arms": 0}, "arms", "out of range"),
    ("CUCB2", "arms", {"arms": 2.5}, "arms", "not a whole number"),
    ("CUCB2", "arms", {"arms": None}, "arms", "required"),
    ("CUCB2", "arms", {"baseline": 5}, "baseline", "unknown"),
    ("CUCB2", "arms", {"baseline": -1}, "baseline", "unknown"),
    ("CUCB2", "arms", {"baseline": None}, "baseline", "required"),
    ("CUCB2", "arms", {"baseline_mean": 1.1}, "baseline_mean", "outside"),
    ("CUCB2", "arms", {"baseline_mean": -0.1}, "baseline_mean", "outside"),
    ("CUCB2", "arms", {"baseline_mean": math.inf}, "baseline_mean", "not finite"),
    ("CUCB2", "arms", {"baseline_mean": None}, "baseline_mean", "required"),
    ("CUCB2", "arms", {"noise": 0.0}, "noise", "not above 0"),
    ("CUCB2", "arms", {"reward_range": None}, "noise", "required"),
    ("CUCB2", "arms", {"reward_range": (1.0, 0.0)}, "reward_range", "empty"),
    ("CUCB2", "arms", {"reward_range": (0.0, math.inf)}, "reward_range", "not finite"),
    ("CUCB2", "arms", {"reward_range": 3.0}, "reward_range", "not a pair"),
    ("CUCB2", "arms", {"mean_range": (0.0, 2.0)}, "mean_range", "beside"),
    ("CUCB2", "arms", {"width": "paper"}, "width", "not known"),
    ("CUCB2", "arms", {"width": "mixtrue"}, "width", "not known"),
    ("CUCB2", "arms", {"cumulative": "freedman"}, "cumulative", "not known"),
    ("CUCB2", "arms", {"accounting": "none"}, "accounting", "not known"),
    ("CUCB2", "arms", {"clip": "all"}, "clip", "not known"),
    ("CUCB2", "arms", {"delta_weights": {"estimator": 1.0}}, "delta_weights", "has none"),
    ("CUCB2", "arms", {"delta_weights": {"luck": 1.0}}, "delta_weights", "no event"),
    ("CUCB2", "arms", {"delta_weights": 0.5}, "delta_weights", "not a mapping"),
    ("CUCB2", "arms", {"window": 0}, "window", "out of range"),
    ("CUCB2", "arms", {"default_reward": 2.0}, "default_reward", "outside"),
    ("CUCB2T", "arms", {"checkpoint_every": 0}, "checkpoint_every", "out of range"),
    ("CUCB2T", "arms", {"checkpoint_every": None}, "checkpoint_every", "required"),
    ("CUCB2T", "arms", {"baseline_lower": 0.6}, "baseline_lower", "above the baseline's mean"),
    ("CUCB2T", "arms", {"baseline_lower": -0.6}, "baseline_lower", "outside"),
    ("CUCB-Or", "arms", {"true_means": None}, "true_means", "required"),
    ("CUCB-Or", "arms", {"true_means": [0.5, 0.5]}, "true_means", "shape"),
    ("CUCB-Or", "arms", {"true_means": [0.5, 0.5, 0.5, 0.5, 2.0]}, "true_means", "outside"),
    ("CUCB-Or", "arms", {"true_means": [0.5, 0.5, 0.5, 0.5, math.nan]}, "true_means", "finite"),
    ("CLUCB2", "features", {"features": None}, "dim", "one of dim and features"),
    ("CLUCB2", "features", {"dim": 3}, "features", "one of dim and features"),
    ("CLUCB2", "features", {"features": [1.0, 2.0]}, "features", "shape"),
    ("CLUCB2", "features", {"features": FEATURES * math.nan}, "features", "not finite"),
    ("CLUCB2", "features", {"features": [["a", "b"]]}, "features", "not an array of numbers"),
    ("CLUCB2", "features", {"features": [[1.0], [1.0, 2.0]]}, "features", "not an array"),
    ("LinHANDRAIL", "features", {"features": [[1.0], [1.0, 2.0]]}, "features", "not an array"),
    ("CLUCB2", "features", {"feature_bound": 0.5}, "features", "exceeds feature_bound"),
    ("CLUCB2", "features", {"theta_bound": None}, "theta_bound", "required"),
    ("CLUCB2", "features", {"theta_bound": -1.0}, "theta_bound", "not above 0"),
    ("CLUCB2", "features", {"ridge": 0.0}, "ridge", "not above 0"),
    ("CLUCB2", "dim", {"feature_bound": None}, "feature_bound", "required"),
    ("CLUCB2", "dim", {"dim": 0}, "dim", "out of range"),
    ("CLUCB2", "dim", {"dim": 1, "width": "paper"}, "width", "dimension 1"),
    ("CLUCB2T", "dim", {"baseline_lower": None}, "baseline_lower", "required"),
    ("CLUCB-Or", "dim", {"true_means": MEANS}, "true_means", "change with the contexts"),
    # Numbers at the ends of floating point, and sizes nobody has memory for.
    ("CUCB2", "arms", {"delta": 1e-200}, "delta", "out of range"),
    ("CUCB2", "arms", {"noise": 1e-170}, "noise", "out of range"),
    ("CUCB2", "arms", {"reward_range": (-1e308, 1e308)}, "reward_range", "not finite"),
    ("CUCB2", "arms", {"reward_range": (0.0, 1e-200)}, "reward_range", "out of range"),
    ("CUCB2", "arms", {"reward_range": {0: 5, 1: 6}}, "reward_range", "not a pair"),
    ("CUCB2", "arms", {"reward_range": {0, 1}}, "reward_range", "not a pair"),
    ("CUCB2", "arms", {"reward_range": (each for each in (0, 1))}, "reward_range", "not a pair"),
    ("CUCB2", "arms", {"reward_range": np.array(1.0)}, "reward_range", "not a pair"),
    ("CUCB2", "arms", {"reward_range": np.array([0j, 1 + 1j])}, "reward_range", "not a number"),
    ("CUCB2", "arms", {"baseline_mean": np.array([0.4, 0.6j])}, "baseline_mean", "not a number"),
    ("CUCB2", "arms", {"alpha": np.complex64(0.1)}, "alpha", "not a number"),
    ("CUCB2", "arms", {"noise": np.timedelta64(1)}, "noise", "not a number"),
    ("CUCB2", "arms", {"arms": 2**61}, "arms", "out of range"),
    ("CLUCB2", "dim", {"dim": 10**6}, "dim", "out of range"),
    ("CLUCB2", "dim", {"ridge": 1e-310}, "ridge", "out of range"),
    ("CLUCB2", "dim", {"feature_bound": 1e200}, "feature_bound", "out of range"),
    ("CLUCB2", "dim", {"feature_bound": 1e5}, "feature_bound", "too large for ridge"),
    ("CLUCB2", "features", {"features": 1e5 * FEATURES}, "features", "too large for ridge"),
    ("CLUCB2", "features", {"features": np.ma.masked_less(FEATURES, 0.2)}, "features", "array"),
    ("CLUCB2", "dim", {"reward_range": (1.0, 2.0), "ridge": 1e-9}, "ridge", "length 1"),
    ("CLUCB2", "features", {"feature_bound": Fraction(1, 2)}, "features", "feature_bound 0.5"),
    ("CUCB2T", "arms", {"baseline_lower": Fraction(3, 5)}, "baseline_lower", "0.6 is above"),
    ("CUCB2", "arms", {"learn_baseline": np.array([0.1, 0.2])}, "learn_baseline", "not known"),
    # Names that are no text.
    *(
        ("CUCB2", "arms", {field: value}, field, "is not a name")
        for field in ("width", "cumulative", "accounting", "clip")
        for value in (1, True, b"wu", ["wu"], np.array(["wu", "kl"]))
    ),
    # Parameters that the algorithm does not use.
    ("UCB", "arms", {"alpha": 0.1}, "alpha", "does not use it"),
    ("UCB", "arms", {"baseline_mean": 0.5}, "baseline_mean", "does not use it"),
    ("UCB", "arms", {"clip": "none"}, "clip", "does not use it"),
    ("UCB", "arms", {"ridge": 0.5}, "ridge", "does not use it"),
    ("UCB", "arms", {"theta_bound": 1.0}, "theta_bound", "does not use it"),
    ("UCB", "arms", {"features": FEATURES}, "features", "does not use it"),
    ("CUCB", "arms", {"cumulative": "mixture"}, "cumulative", "does not use it"),
    ("CUCB", "arms", {"checkpoint_every": 5}, "checkpoint_every", "does not use it"),
    ("CUCB", "arms", {"baseline_lower": 0.1}, "baseline_lower", "does not use it"),
    ("CUCB", "arms", {"true_means": MEANS}, "true_means", "does not use it"),
    ("CUCB", "arms", {"delta_weights": {"estimator": 1.0}}, "delta_weights", "does not use it"),
    ("CUCB2", "arms", {"tightest_at": 10.0}, "tightest_at", "does not use it"),
    ("CUCB-Or", "arms", {"clip": "none"}, "clip", "does not use it"),
    ("CLUCB2", "dim", {"arms": 5}, "arms", "does not use it"),
]


@pytest.mark.parametrize(("name", "setting", "changes", "field", "reason"), MAKE)
def test_making(name: str, setting: str, changes: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        make(name, setting, **changes)
    assert caught.value.field == field
    assert reason in caught.value.reason
    assert str(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize(
    "numbers",
    [
        {"args": "50"},
        {"args": ["x"]},
        {"args": {50}},
        {"args": (each for each in (50,))},
        {"args": [50], "kwds": [1]},
    ],
)
def test_a_law_whose_numbers_cannot_be_kept(numbers: dict[str, Any]) -> None:
    gap = {"law": "poisson", **numbers}
    with pytest.raises(InputError, match="no frozen law") as caught:
        make("GUARD-T", "guard", checkpoint_every=None, checkpoint_gap=gap)
    assert caught.value.field == "checkpoint_gap"


@pytest.mark.parametrize(
    ("name", "meant"), [("clucb2", "CLUCB2"), ("CUCB_2", "CUCB2"), ("LinUBC", "LinUCB")]
)
def test_an_unknown_algorithm_is_answered_with_near_names(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=meant) as caught:
        handrail.make_policy(name, arms=3)
    assert caught.value.field == "algorithm"
    with pytest.raises(InputError, match="CUCB2T"):
        handrail.make_policy("nothing like it", arms=3)
    with pytest.raises(InputError, match="neither a name"):
        handrail.make_policy(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        (("mean", "martingale", "two-step", "every-round"), "estimator"),
        (("means", "self-normalised", "two-step", "every-round"), "past"),
        (("linear", "arm-sums", "two-step", "every-round"), "past"),
        (("means", "none", "two-step", "every-round"), "past"),
        (("means", "martingale", "optimistic", "every-round"), "past"),
        (("means", "martingale", "two-step", "none"), "past"),
        (("means", "martingale", "twostep", "every-round"), "selection"),
        (("means", "martingale", "two-step", "weekly"), "schedule"),
    ],
)
def test_parts_that_do_not_fit(parts: tuple[str, str, str, str], field: str) -> None:
    with pytest.raises(InputError) as caught:
        Algorithm("mine", *parts)
    assert caught.value.field == field


USE: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("CLUCB2", "dim", {"features": None}, "features", "required"),
    ("CLUCB2", "dim", {"features": np.ones((4, 2)) / 4}, "features", "shape"),
    ("CLUCB2", "dim", {"features": np.ones(3)}, "features", "shape"),
    ("CLUCB2", "dim", {"features": np.full((4, 3), math.nan)}, "features", "not finite"),
    ("CLUCB2", "dim", {"features": np.full((4, 3), math.inf)}, "features", "not finite"),
    ("CLUCB2", "dim", {"features": np.full((4, 3), 1.2)}, "features", "above the bound 2"),
    ("CLUCB2", "dim", {"features": "none"}, "features", "not an array"),
    ("CLUCB2", "dim", {"features": list(np.ma.masked_less(FEATURES, 0.2))}, "features", "not an"),
    ("CLUCB2", "dim", {"baseline": 4}, "baseline", "unknown"),
    ("CLUCB2", "dim", {"baseline": None}, "baseline", "not known"),
    ("CLUCB2", "dim", {"baseline": 1.0}, "baseline", "not a whole number"),
    ("CLUCB2", "dim", {"baseline_mean": None}, "baseline_mean", "not known"),
    ("CLUCB2", "dim", {"baseline_mean": 1.01}, "baseline_mean", "outside"),
    ("CLUCB2", "dim", {"baseline_mean": math.nan}, "baseline_mean", "not finite"),
    ("CLUCB2", "dim", {"true_means": [0.1] * 4}, "true_means", "does not use"),
    ("CLUCB2T", "dim", {"baseline_mean": 0.29}, "baseline_mean", "below baseline_lower"),
    ("CLUCB-Or", "dim", {}, "true_means", "required"),
    ("CLUCB-Or", "dim", {"true_means": [0.1] * 3}, "true_means", "shape"),
    ("CUCB2", "arms", {"features": np.ones((4, 3))}, "features", "fixed"),
    ("CUCB2", "arms", {"baseline": 7}, "baseline", "unknown"),
    ("CUCB2", "arms", {"baseline_mean": -0.5}, "baseline_mean", "outside"),
    ("LinUCB", "dim", {"baseline_mean": 7.0}, "baseline_mean", "outside"),
    ("CUCB2", "arms", {"baseline": 2}, "baseline_mean", "not known"),
    ("UCB", "arms", {"true_means": MEANS}, "true_means", "does not use"),
    ("LinUCB", "dim", {"true_means": MEANS}, "true_means", "does not use"),
    ("CLUCB2", "dim", {"features": np.full((4, 3), 1e200)}, "features", "above the bound 2"),
    ("CUCB-Or", "arms", {"true_means": MEANS}, "true_means", "fixed when"),
    ("CLUCB-Or", "features", {"true_means": MEANS}, "true_means", "fixed when"),
]


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize(("name", "setting", "changes", "field", "reason"), USE)
def test_deciding(
    name: str, setting: str, changes: dict[str, Any], field: str, reason: str, window: int | None
) -> None:
    """With a window, rounds would be settled first: not even that may happen."""
    policy = make(name, setting, window=window)
    play(policy, 30)
    good: dict[str, Any] = {}
    if setting == "dim":
        good = {"features": np.full((4, 3), 0.3), "baseline": 1, "baseline_mean": 0.5}
    given = {key: value for key, value in (good | changes).items() if value is not None}
    before = state(policy)
    for call in (policy.decide, policy.explain):
        with pytest.raises(InputError) as caught:
            call(**given)
        assert caught.value.field == field
        assert reason in caught.value.reason
    assert state(policy) == before


def test_learning() -> None:
    policy, other = make("UCB", "arms"), make("UCB", "arms")
    decision, foreign = policy.decide(), other.decide()
    explained = policy.explain()
    wrong: list[tuple[Any, Any, str, str]] = [
        (decision, math.nan, "reward", "not finite"),
        (decision, math.inf, "reward", "not finite"),
        (decision, 1.5, "reward", "outside the declared reward_range"),
        (decision, -0.5, "reward", "outside the declared reward_range"),
        (decision, "1", "reward", "not a number"),
        (decision, None, "reward", "not a number"),
        (decision, np.complex128(0.5 + 3.0j), "reward", "not a number"),
        (decision, np.array(0.5 + 3.0j), "reward", "not a number"),
        (foreign, 1.0, "decision", "another policy"),
        (foreign.id, 1.0, "decision", "another policy"),
        (explained, 1.0, "decision", "never played"),
        ("x", 1.0, "decision", "not a decision id"),
        (17, 1.0, "decision", "neither a Decision nor an id"),
        (str(decision.id).replace("-1-", "-2-"), 1.0, "decision", "another copy"),
    ]
    before = state(policy)
    for subject, reward, field, reason in wrong:
        with pytest.raises(InputError, match=reason) as caught:
            policy.learn(subject, reward)
        assert caught.value.field == field
        assert state(policy) == before
    assert policy.learn(decision, 1.0) == "learned"
    before = state(policy)
    for subject in (decision, decision.id):
        with pytest.raises(InputError, match="settled already"):
            policy.learn(subject, 1.0)
        with pytest.raises(InputError, match="settled already"):
            policy.close(subject)
    assert state(policy) == before


def test_a_width_without_a_proof_warns() -> None:
    with pytest.warns(NoGuaranteeWarning, match="'ucb1' has no proved level"):
        policy = make("CUCB2", "arms", width="ucb1")
    assert policy.failure_probability is None
    # No promise rests on it here: no warning (a warning would be an error).
    make("UCB", "arms", width="ucb1")
    make("CUCB-Or", "arms", width="ucb1")


def test_ucb1_alone_needs_neither_noise_nor_delta() -> None:
    policy = handrail.make_policy("UCB", arms=3, width="ucb1")
    for _ in range(20):
        policy.learn(policy.decide(), 0.5)
    with pytest.raises(InputError, match="delta"):
        handrail.make_policy("UCB", arms=3, width="wu", noise=0.5)


def test_a_reward_too_large_to_be_summed_is_refused() -> None:
    policy = make("UCB", "arms", reward_range=None, noise=1.0)
    decision = policy.decide()
    before = state(policy)
    with pytest.raises(InputError, match="too large") as caught:
        policy.learn(decision, 1e300)
    assert caught.value.field == "reward"
    assert state(policy) == before


def test_the_warning_points_at_the_caller() -> None:
    with pytest.warns(NoGuaranteeWarning) as caught:
        handrail.make_policy("CUCB2", **parameters("CUCB2", "arms", width="ucb1"))
    assert caught[0].filename == __file__


def test_one_list_of_parameters_and_one_of_parts() -> None:
    """`make_policy` and the checks know the same parameters; names and codes the same parts."""
    signature = inspect.signature(handrail.make_policy).parameters
    given = {name: each.default for name, each in signature.items() if name != "name"}
    assert given == dict(DEFAULTS)
    assert PART_NAMES["past"] == tuple(PASTS)
    assert PART_NAMES["selection"] == tuple(SELECTIONS)
    assert PART_NAMES["schedule"] == tuple(SCHEDULES)


@pytest.mark.parametrize("copies", [1, 8])
def test_the_given_parameters_are_not_aliased(copies: int) -> None:
    """Changing an array after it was handed over changes nothing, in arm space or out of it."""
    features = np.tile(FEATURES, (copies, 1))
    policy = make("CLUCB2", "features", features=features)
    twin = make("CLUCB2", "features", features=features.copy())
    features *= -1.0
    seen = [(d.action, d.margin) for d in play(policy, 50)]
    assert seen == [(d.action, d.margin) for d in play(twin, 50)]
    with pytest.raises(ValueError, match="read-only"):
        policy.parameters["features"][0] = 0.0
    with pytest.raises(TypeError):
        policy.parameters["alpha"] = 0.9  # type: ignore[index]


def test_parameters_and_presets_are_read_only() -> None:
    """A saved file would trust what was written into them."""
    gaps: dict[str, Any] = {"checkpoint_every": None, "checkpoint_gap": {"law": "poisson"}}
    gaps["checkpoint_gap"]["args"] = [50]
    weights = {"estimator": 1, "martingale": 1, "schedule": 2}
    policy = make("CUCB2T", "arms", baseline_mean=(0.4, 0.6), delta_weights=weights, **gaps)
    before = state(policy)
    preset: Any = handrail.algorithm("HANDRAIL").preset
    given: Any = policy.parameters
    writes: list[tuple[Any, Any]] = [
        (given["baseline_mean"], 0),
        (given["reward_range"], 1),
        (given["delta_weights"], "estimator"),
        (given["checkpoint_gap"], "law"),
        (given["checkpoint_gap"]["args"], 0),
        (preset, "width"),
        (preset["width"], 0),
    ]
    for each, key in writes:
        with pytest.raises(TypeError):
            each[key] = 1.0
    for name in ("clear", "popitem", "update"):
        with pytest.raises(TypeError, match="read-only"):
            getattr(preset, name)()
    assert state(policy) == before
    row = handrail.algorithm("HANDRAIL")
    twins: list[Any] = [pickle.loads(pickle.dumps(row)), copy.deepcopy(row)]
    for twin in twins:
        assert twin == row
        with pytest.raises(TypeError):
            twin.preset["width"] = "ucb1"


def test_a_buffer_may_be_used_again_before_the_reward_comes() -> None:
    one, two = make("LinUCB", "dim"), make("LinUCB", "dim")
    rng = np.random.default_rng(0)
    buffer = np.empty((4, 3))
    for _ in range(100):
        fresh = rng.uniform(0.0, 1.0, (4, 3))
        buffer[:] = fresh
        a, b = one.decide(features=buffer), two.decide(features=fresh)
        buffer[:] = -1.0
        assert (a.action, a.upper) == (b.action, b.upper)
        reward = float(rng.random())
        one.learn(a, reward)
        two.learn(b, reward)


def test_read_only_and_odd_arrays_are_taken() -> None:
    given = parameters("CLUCB2", "dim")
    one, two = handrail.make_policy("CLUCB2", **given), handrail.make_policy("CLUCB2", **given)
    features = np.asfortranarray(FEATURES)
    features.flags.writeable = False
    for _ in range(5):
        a = one.decide(features=features, baseline=1, baseline_mean=0.5)
        b = two.decide(features=FEATURES.astype(">f8").tolist(), baseline=1, baseline_mean=0.5)
        assert (a.action, a.margin) == (b.action, b.margin)
