"""What is known of the baseline's mean: margins worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError, Policy
from support import FEATURES, make, play, state


def explained(policy: Policy, **given: Any) -> float:
    margin = policy.explain(**given).explanation["most_optimistic"]["margin"]
    assert margin is not None
    return float(margin)


def test_one_constant_mean_takes_the_end_that_hurts() -> None:
    """min over m in {lo, hi} of m (alpha t - s - 1): hi while in debt, lo once ahead."""
    policy = make("CUCB2", "arms", alpha=0.25, baseline_mean=(0.4, 0.6))
    # t = 1, s = 0: m (0.25 - 1) is least at 0.6.
    assert explained(policy) == pytest.approx(-0.75 * 0.6)
    for _ in range(3):
        assert policy.decide().event == "baseline"
    # t = 4, s = 0: 0.25 * 4 - 1 = 0, whatever m is.
    assert explained(policy) == pytest.approx(0.0)
    decision = policy.decide()
    assert decision.event == "optimistic"
    policy.close(decision)  # s = 1, nothing earned
    for _ in range(5):
        policy.decide()
    # t = 10, s = 1: 2.5 - 2 > 0: now the smaller end hurts. In round 8 both were 0: one more play.
    ledger = policy._state.model.ledger[0]
    s, t = int(ledger["plays"]), int(ledger["rounds"]) + 1
    net = 0.25 * t - s - 1
    assert explained(policy) == pytest.approx(min(0.4 * net, 0.6 * net))


def test_a_mean_that_may_change_takes_both_ends() -> None:
    """Baseline rounds count alpha lo, this round -(1 - alpha) hi."""
    policy = make("CLUCB2", "dim", alpha=0.25)
    given: dict[str, Any] = {"features": FEATURES, "baseline": 1, "baseline_mean": (0.4, 0.6)}
    for _ in range(3):
        assert policy.decide(**given).event == "baseline"
    assert explained(policy, **given) == pytest.approx(3 * 0.25 * 0.4 - 0.75 * 0.6)


def test_the_margin_of_playing_the_baseline() -> None:
    constant = make("CUCB2", "arms", alpha=0.25, baseline_mean=(0.4, 0.6)).decide()
    assert constant.margin == pytest.approx(0.25 * 0.4)  # min of m alpha
    policy = make("CLUCB2", "dim", alpha=0.25)
    varying = policy.decide(features=FEATURES, baseline=1, baseline_mean=(0.4, 0.6))
    assert varying.margin == pytest.approx(0.25 * 0.4)
    assert (varying.lower, varying.upper) == pytest.approx((0.4, 0.6))
    assert varying.explanation["baseline_mean"] == pytest.approx([0.4, 0.6])
    assert "mean 0.4 to 0.6" in varying.reason


def test_a_point_interval_is_a_known_mean() -> None:
    known, point = make("CUCB2", "arms"), make("CUCB2", "arms", baseline_mean=(0.55, 0.55))
    assert [d.margin for d in play(known, 200)] == [d.margin for d in play(point, 200)]


def test_a_learned_mean_awaits_rewards_and_narrows() -> None:
    policy = make("HANDRAIL", "arms", baseline_mean="learned")
    first = policy.decide()
    assert (first.event, first.awaits_reward) == ("baseline", True)
    assert (first.lower, first.upper) == (0.0, 1.0)
    assert policy.learn(first, 0.5) == "learned"
    widths = []
    for _ in range(200):
        decision = policy.decide()
        if decision.event == "baseline":
            widths.append(decision.upper - decision.lower)
        policy.learn(decision, 0.5)
    assert widths[-1] < 0.5 < widths[0]


def test_a_learned_mean_in_a_linear_model_by_hand() -> None:
    """Nothing learned: theta_hat = 0, and the margin is -beta ||z|| / sqrt(lambda)."""
    alpha, ridge = 0.25, 0.5
    policy = make(
        "CLUCB", "features", baseline_mean="learned", alpha=alpha, ridge=ridge, width="determinant"
    )
    beta = 0.5 * np.sqrt(2 * np.log(1 / 0.1)) + 1.5 * np.sqrt(ridge)
    leader = policy.explain().explanation["most_optimistic"]
    z = FEATURES[leader["action"]] - (1 - alpha) * FEATURES[1]
    assert leader["margin"] == pytest.approx(-beta * np.linalg.norm(z) / np.sqrt(ridge))


@pytest.mark.parametrize("setting", ["features", "dim"])
@pytest.mark.parametrize("past", ["self-normalised", "martingale", "larger"])
def test_arm_space_and_features_agree_on_a_learned_mean(setting: str, past: str) -> None:
    row = handrail.Algorithm("mine", "linear", past, "constrained", "every-round")
    common: dict[str, Any] = {"baseline_mean": "learned", "alpha": 0.6, "width": "determinant"}
    one = make(row, "features", **common)
    two = make(row, setting, feature_bound=2.0, baseline=1, **common)
    given: dict[str, Any] = {"features": FEATURES} if setting == "dim" else {}
    rng = np.random.default_rng(7)
    for _ in range(300):
        a, b = one.decide(), two.decide(**given)
        assert (a.action, a.event) == (b.action, b.event)
        assert a.margin == pytest.approx(b.margin, abs=1e-9)
        reward = float(rng.random() < 0.7)
        one.learn(a, reward)
        two.learn(b, reward)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"baseline_mean": (0.6, 0.4)}, "baseline_mean"),
        ({"baseline_mean": (0.1, 0.2, 0.3)}, "baseline_mean"),
        ({"baseline_mean": "unknown"}, "baseline_mean"),
        ({"baseline_mean": (0.4, 1.4)}, "baseline_mean"),
        ({"baseline_mean": 0.5, "baseline_delta": 0.01}, "baseline_delta"),
        ({"baseline_mean": (0.4, 0.6), "baseline_delta": 0.2}, "baseline_delta"),
        ({"baseline_mean": "learned", "baseline_delta": 0.01}, "baseline_delta"),
    ],
)
def test_bad_knowledge(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        make("HANDRAIL", "arms", **changes)
    assert caught.value.field == field


def test_an_agreed_mean_stays_agreed() -> None:
    policy = make("CUCB2", "arms", baseline_mean=(0.4, 0.6))
    before = state(policy)
    for given, field in (({"baseline": 2}, "baseline"), ({"baseline_mean": 0.5}, "baseline_mean")):
        with pytest.raises(InputError) as caught:
            policy.decide(**given)
        assert caught.value.field == field
    assert state(policy) == before


def test_an_interval_that_may_be_wrong_is_paid_for() -> None:
    policy = make("CUCB", "arms", baseline_mean=(0.4, 0.6), baseline_delta=0.04, width="mixture")
    assert policy.failure_probability == pytest.approx(0.1)
    assert policy._settings.rules["estimator_level"][0] == pytest.approx(0.06)


def test_the_known_mean_teaches_without_a_reward() -> None:
    """One baseline round: V = lambda I + phi phi', and theta_hat is the ridge fit of mu_b."""
    policy = make("CLUCB", "dim", learn_baseline="mean", ridge=0.5)
    decision = policy.decide(features=FEATURES, baseline=1, baseline_mean=0.55)
    assert (decision.event, decision.awaits_reward, policy.pending) == ("baseline", False, 0)
    phi = FEATURES[1]
    theta = np.linalg.solve(0.5 * np.eye(3) + np.outer(phi, phi), 0.55 * phi)
    np.testing.assert_allclose(policy._state.model.arrays()["theta"], theta, rtol=1e-12)
    assert policy._state.model.ledger["rewards"][0] == 0


def test_what_is_taught_is_the_agreed_mean() -> None:
    """Over fixed arms a linear mean cannot change: another one is not learned."""
    policy = make("LinHANDRAIL", "features")
    others: list[dict[str, Any]] = [{"baseline_mean": 0.7}, {"baseline": 2, "baseline_mean": 0.6}]
    for given in others:
        assert policy.decide(**given).event == "baseline"
    ledger = policy._state.model.ledger
    assert (ledger["rows"][0], ledger["waiting"][0], ledger["lessons"][0]) == (0, 0, 0)
    assert policy.decide().event == "baseline"
    assert (ledger["rows"][0], ledger["waiting"][0], ledger["lessons"][0]) == (1, 0, 1)


def test_an_interval_above_its_floor() -> None:
    """baseline_lower bounds every mean: of an interval, what is below it is cut off."""
    policy = make("CLUCB2T", "dim", alpha=0.25, baseline_lower=0.45)
    given: dict[str, Any] = {"features": FEATURES, "baseline": 1}
    assert policy.explain(**given, baseline_mean=(0.4, 0.6)).round == 1
    with pytest.raises(InputError, match="below baseline_lower"):
        policy.decide(**given, baseline_mean=(0.3, 0.4))


def test_pairs_of_other_kinds() -> None:
    pair = make("CUCB2", "arms", baseline_mean=np.array([0.4, 0.6]), baseline_delta=0.01)
    assert pair.decide().upper == pytest.approx(0.6)
    assert make("CUCB2", "arms", baseline_mean=np.array(0.5)).decide().upper == 0.5
    with pytest.raises(InputError):
        make("CUCB2", "arms", baseline_mean={0.4, 0.6})
    told = make("CLUCB2", "dim", baseline_delta=0.01)
    assert told.failure_probability == pytest.approx(0.1)
