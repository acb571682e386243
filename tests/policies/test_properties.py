"""What the equations promise of every policy, over random problems."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handrail
from handrail import Policy
from support import CONSERVATIVE, FEATURES, make

Arrays = list[list[float]]
RANDOM = st.randoms(use_true_random=False)


def _setting(name: str) -> str:
    return "arms" if handrail.algorithm(name).estimator == "means" else "features"


def _reward(random: Any) -> float:
    return float(random.random() < 0.7)


@pytest.mark.parametrize("name", CONSERVATIVE)
@settings(max_examples=15)
@given(random=RANDOM, alpha=st.floats(0.05, 0.95), mean=st.floats(0.0, 1.0))
def test_what_is_played_is_certified(name: str, random: Any, alpha: float, mean: float) -> None:
    """A played action other than the baseline has margin >= 0, and its bounds are in order."""
    changes = {"baseline_lower": mean / 2} if name.endswith("T") else {}
    policy = make(name, _setting(name), alpha=alpha, baseline_mean=mean, **changes)
    for _ in range(120):
        decision = policy.decide()
        assert decision.margin is not None
        assert decision.lower <= decision.upper
        if decision.event == "baseline":
            assert decision.action == 1
            assert decision.upper == decision.lower == pytest.approx(mean)
        else:
            assert decision.action != 1
            assert decision.margin >= 0.0
        if random.random() < 0.8:
            policy.learn(decision, _reward(random))


@pytest.mark.parametrize("name", CONSERVATIVE)
@settings(max_examples=10)
@given(random=RANDOM, alpha=st.floats(0.01, 0.5), mean=st.floats(0.01, 1.0))
def test_a_baseline_round_never_lowers_a_margin(
    name: str, random: Any, alpha: float, mean: float
) -> None:
    """By alpha mu_b under `every round`; no less than before inside a phase of checkpoints."""
    changes: dict[str, Any] = {"baseline_lower": mean / 2} if name.endswith("T") else {}
    if "learn_baseline" in handrail.algorithm(name).preset:
        changes["learn_baseline"] = False  # what is learned moves every bound
    policy = make(name, _setting(name), alpha=alpha, baseline_mean=mean, **changes)
    for _ in range(150):
        before = policy.explain()
        decision = policy.decide()
        assert (before.action, before.margin) == (decision.action, decision.margin)
        if decision.event == "baseline":
            old = before.explanation["most_optimistic"]
            new = policy.explain().explanation["most_optimistic"]
            assert new["action"] == old["action"]
            assert new["margin"] >= old["margin"] - 1e-9
            if not name.endswith("T"):
                assert new["margin"] == pytest.approx(old["margin"] + alpha * mean, abs=1e-9)
        policy.learn(decision, _reward(random))


@pytest.mark.parametrize("name", ["CUCB", "CUCB-M", "CLUCB", "CLUCB-M"])
@settings(max_examples=10)
@given(random=RANDOM, alpha=st.floats(0.05, 0.5))
def test_constrained_is_at_least_as_optimistic_from_the_same_state(
    name: str, random: Any, alpha: float
) -> None:
    """The same estimator, past and history; only the selection differs."""
    row = handrail.algorithm(name)
    other = handrail.Algorithm("constrained", row.estimator, row.past, "constrained", row.schedule)
    one, two = make(row, _setting(name), alpha=alpha), make(other, _setting(name), alpha=alpha)
    for _ in range(150):
        a, b = one.decide(), two.decide()
        assert b.upper >= a.upper
        if a.action != b.action:
            return
        reward = _reward(random)
        one.learn(a, reward)
        two.learn(b, reward)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), alpha=st.floats(0.05, 0.9))
def test_an_oracle_never_violates(seed: int, alpha: float) -> None:
    """Its budget is exactly its margin, and never below 0."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.0, 1.0, 5)
    policy = make("CUCB-Or", "arms", true_means=means, baseline_mean=means[1], alpha=alpha)
    budget = 0.0
    for _ in range(200):
        decision = policy.decide()
        budget += means[decision.action] - (1.0 - alpha) * means[1]
        assert decision.margin == pytest.approx(budget, abs=1e-9)
        assert budget >= -1e-9
        policy.learn(decision, float(rng.random() < means[decision.action]))


@settings(max_examples=20)
@given(random=RANDOM, low=st.sampled_from([-8.0, 0.0, 2.0]), scale=st.sampled_from([0.25, 4.0]))
def test_units_change_nothing_but_units(random: Any, low: float, scale: float) -> None:
    """A policy over [low, low + scale] decides as the one over [0, 1], bit for bit.

    Exact because all numbers are small multiples of a power of two.
    """
    plain = make("CUCB2", "arms", baseline_mean=0.5)
    scaled = make("CUCB2", "arms", baseline_mean=low + 0.5 * scale, reward_range=(low, low + scale))
    for _ in range(200):
        a, b = plain.decide(), scaled.decide()
        assert (a.action, a.event) == (b.action, b.event)
        assert a.margin is not None
        assert b.margin == a.margin * scale
        assert b.upper == a.upper * scale + low
        assert b.lower == a.lower * scale + low
        reward = random.choice([0.0, 0.5, 1.0])
        plain.learn(a, reward)
        scaled.learn(b, low + reward * scale)


def test_changing_contexts_that_do_not_change_equal_fixed_arms() -> None:
    """Arm space and feature space take the same decisions."""
    rng = np.random.default_rng(4)
    for name in ("LinUCB", "CLUCB", "CLUCB-L", "CLUCB-M", "CLUCB-S", "CLUCB2", "CLUCB2T"):
        bound = float(np.linalg.norm(FEATURES, axis=1).max())
        fixed = make(name, "features", feature_bound=bound)
        free = make(name, "dim", feature_bound=bound)
        for _ in range(400):
            a = fixed.decide()
            b = free.decide(features=FEATURES, baseline=1, baseline_mean=0.55)
            assert (a.action, a.event) == (b.action, b.event)
            assert a.upper == pytest.approx(b.upper, rel=1e-9)
            assert a.margin == (None if b.margin is None else pytest.approx(b.margin, abs=1e-9))
            reward = float(rng.random() < 0.7)
            fixed.learn(a, reward)
            free.learn(b, reward)


def test_many_fixed_arms_are_kept_as_features() -> None:
    """More arms than arm space is made for: the same interface, the same decisions as contexts."""
    rng = np.random.default_rng(8)
    features = rng.uniform(0.0, 1.0, (40, 3))
    bound = float(np.linalg.norm(features, axis=1).max())
    fixed = make("CLUCB2", "features", features=features, feature_bound=bound)
    free = make("CLUCB2", "dim", feature_bound=bound)
    for _ in range(200):
        a = fixed.decide()
        b = free.decide(features=features, baseline=1, baseline_mean=0.55)
        assert (a.action, a.margin, a.upper) == (b.action, b.margin, b.upper)
        reward = float(rng.random() < 0.7)
        fixed.learn(a, reward)
        free.learn(b, reward)


def test_arm_space_is_refreshed_without_a_step_in_the_decisions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Computed afresh after every third reward, or never: the same decisions, bounds to 1e-9."""
    rng = np.random.default_rng(3)
    often, never = make("CLUCB", "features"), make("CLUCB", "features")
    for _ in range(600):
        monkeypatch.setattr("handrail.policies.fixed.REBUILD_EVERY", 3)
        a = often.decide()
        reward = float(rng.random() < 0.7)
        often.learn(a, reward)
        monkeypatch.setattr("handrail.policies.fixed.REBUILD_EVERY", 10**9)
        b = never.decide()
        never.learn(b, reward)
        assert (a.action, a.event) == (b.action, b.event)
        assert a.upper == pytest.approx(b.upper)
        assert a.margin == pytest.approx(b.margin)
    ledgers = often._state.model.ledger[0], never._state.model.ledger[0]
    assert ledgers[0]["log_det"] == pytest.approx(ledgers[1]["log_det"])


def test_a_refresh_mends_what_has_gone_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is derived is computed from the counts: spoil it, and it is right again."""
    monkeypatch.setattr("handrail.policies.fixed.REBUILD_EVERY", 1)
    spoiled, sound = make("LinUCB", "features"), make("LinUCB", "features")
    for policy in (spoiled, sound):
        for reward in (0.2, 0.9, 0.4):
            policy.learn(policy.decide(), reward)
    arrays = spoiled._state.model.arrays()
    last = spoiled.decide()
    sound_last = sound.decide()
    for name in ("means", "gram", "cross", "floors"):
        arrays[name] *= 1.5
    spoiled._state.model.ledger["log_det"] = 77.0
    spoiled.learn(last, 0.6)
    sound.learn(sound_last, 0.6)
    for name, value in sound._state.model.arrays().items():
        np.testing.assert_allclose(arrays[name], value, rtol=1e-12, atol=1e-12)
    assert spoiled._state.model.ledger["log_det"] == sound._state.model.ledger["log_det"]


@pytest.mark.parametrize("setting", ["features", "dim"])
def test_widths_hold_at_the_steepest_features_allowed(setting: str) -> None:
    """D^2 / lambda = 1e8, features all but collinear: widths against exact arithmetic."""
    rng = np.random.default_rng(1)
    ridge, bound = 1e-4, 99.0
    base = rng.uniform(0.5, 1.0, 3)
    features = base + 0.01 * rng.standard_normal((4, 3))
    features *= bound / np.linalg.norm(features, axis=1).max()
    policy = make(
        "LinUCB", setting, features=features if setting == "features" else None, ridge=ridge,
        feature_bound=bound, width="determinant", reward_range=None, noise=0.1,
    )  # fmt: skip
    told: dict[str, Any] = {} if setting == "features" else {"features": features}
    plays = [0] * 4
    for _ in range(3000):
        decision = policy.decide(**told)
        plays[decision.action] += 1
        policy.learn(decision, float(rng.random()))
    arrays = policy._state.model.arrays()
    exact = [[Fraction(float(x)) for x in row] for row in features]
    design = [
        [
            sum((n * row[i] * row[j] for n, row in zip(plays, exact, strict=True)), Fraction(0))
            + (Fraction(ridge) if i == j else 0)
            for j in range(3)
        ]
        for i in range(3)
    ]
    for arm, row in enumerate(exact):
        solution = _solve(design, row)
        square = float(sum(x * y for x, y in zip(row, solution, strict=True)))
        if setting == "features":
            found = arrays["gram"][arm, arm]
        else:
            found = float(np.sum((arrays["factor"] @ features[arm]) ** 2))
        assert found == pytest.approx(square, rel=1e-9)


def _solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve 3 x 3 equations by Cramer's rule, exactly."""

    def det(m: list[list[Fraction]]) -> Fraction:
        return (
            m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
        )

    whole = det(matrix)
    return [
        det([[right[i] if j == k else matrix[i][j] for j in range(3)] for i in range(3)]) / whole
        for k in range(3)
    ]


def test_shifted_ranges_of_linear_models_learn_the_constant() -> None:
    """Rewards in [-10, 10], linear in the features: bounds in the user's units hold the mean.

    All rounds together, but for a false alarm with probability delta = 1e-6.
    """
    rng = np.random.default_rng(9)
    theta = np.array([3.0, -2.0, 1.0])
    policy = handrail.make_policy(
        "LinUCB", dim=3, delta=1e-6, reward_range=(-10.0, 10.0), noise=0.5, theta_bound=4.0,
        feature_bound=2.0, ridge=0.1,
    )  # fmt: skip
    for _ in range(2000):
        features = rng.uniform(-1.0, 1.0, (4, 3))
        decision = policy.decide(features=features)
        mean = float(features[decision.action] @ theta)
        assert decision.lower <= mean <= decision.upper
        policy.learn(decision, mean + float(rng.uniform(-0.5, 0.5)))
    assert decision.upper - decision.lower < 1.0
    assert decision.explanation["reward_above"] == -10.0


def test_one_action_is_the_baseline_for_ever() -> None:
    policy = make("CUCB2", "arms", arms=1, baseline=0)
    for _ in range(30):
        decision = policy.decide()
        assert (decision.action, decision.event) == (0, "baseline")
    assert "only one" in decision.reason
    assert decision.explanation["most_optimistic"] is None


def _history(policy: Policy, rounds: int, seed: int) -> list[tuple[int, str]]:
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(rounds):
        decision = policy.decide()
        seen.append((decision.action, decision.event))
        policy.learn(decision, float(rng.random() < 0.75))
    return seen


@pytest.mark.parametrize(("every", "plain"), [("CUCB2T", "CUCB2"), ("CLUCB2T", "CLUCB2")])
def test_a_checkpoint_every_round_is_every_round(every: str, plain: str) -> None:
    setting = _setting(every)
    one = make(every, setting, checkpoint_every=1)
    assert _history(one, 400, 1) == _history(make(plain, setting), 400, 1)


def test_sparser_checkpoints_never_delay_the_first_exploration() -> None:
    """Free rounds of the first phase: floor(alpha mu_l T / ((1-alpha) mu_b + alpha mu_l))."""
    for every in (1, 10, 100, 1000):
        policy = make("CUCB2T", "arms", checkpoint_every=every, baseline_lower=0.55)
        free = 0
        while policy.decide().event != "baseline":
            free += 1
        assert free >= math.floor(0.25 * every)
