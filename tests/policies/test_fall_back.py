"""Decisions that were not carried out: what `fall_back` makes of them."""

from __future__ import annotations

from typing import Any

import pytest

import handrail
from handrail import InputError, Policy
from support import FEATURES, make, state

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore:window without:handrail.errors.NoGuaranteeWarning")


def two(name: str, **more: Any) -> Policy:
    """Arm 1 of two is the baseline; alpha = 1/2."""
    given: dict[str, Any] = {"arms": 2, "baseline": 1, "baseline_mean": 0.5, "alpha": 0.5}
    given |= {"delta": 0.1, "reward_range": (0.0, 1.0), "confirm": True}
    return handrail.make_policy(name, **{**given, **more})


def ledger(policy: Policy) -> dict[str, float]:
    row = policy._state.model.ledger[0]
    return {name: row[name].item() for name in row.dtype.names}


def explored(policy: Policy, **told: Any) -> handrail.Decision:
    """Decide until something else than the baseline is played."""
    decisions = (policy.decide(**told) for _ in range(500))
    return next(each for each in decisions if each.event != "baseline")


# ---------------------------------------------------------------- by hand


def test_by_hand() -> None:
    """CUCB2, mu_b = 0.5, alpha = 1/2: nothing is known of arm 0, so its rounds promise 0.

    t = 1: need 0.5 (1 - 0.5) > 0, baseline. t = 2: 0.5 (1 - 1) = 0, arm 0. t = 3, s = 1:
    0.5 (2 - 1.5) = 0.25 > 0: baseline, margin -0.5 (1 - 1.5) = 0.25. Round 2 falls back: s = 0,
    S_b = {1, 2, 3}; at t = 4 arm 0 has -0.5 (1 - 2) = 0.5, which is what three baseline rounds
    leave: 3 * 0.5 * 0.5 = 0.75, less (1 - 0.5) 0.5 = 0.25 for the present one.
    """
    policy = two("CUCB2")
    events = [policy.decide() for _ in range(3)]
    assert [each.event for each in events] == ["baseline", "optimistic", "baseline"]
    assert events[2].margin == pytest.approx(0.25)
    assert policy.explain().margin == pytest.approx(0.5 - 0.5 * (2 - 2.0) - 0.5)  # 0: arm 0 again
    assert policy.fall_back(events[1]) == "baseline"
    now = ledger(policy)
    assert (now["plays"], now["pending"], now["promised"]) == (0, 0, 0.0)
    assert (now["forgone"], now["spared"], policy.pending) == (0.0, 1.5, 0)
    fourth = policy.decide()
    assert (fourth.action, fourth.event) == (0, "optimistic")
    assert fourth.margin == pytest.approx(0.5)


def test_an_oracle_by_hand() -> None:
    """mu = (0.7, 0.5): a lost round counts 0 and owes 0.25; as the baseline's it has 0.25 left.

    So does the round at hand. t = 1: baseline (0 - 0.25 < 0), margin 0.25. t = 2: arm 0, with
    0 - 0.5 (1 - 1) = 0. t = 3: 0 - 0.5 (2 - 1.5) < 0, baseline, -0.5 (1 - 1.5) = 0.25. Round 2
    falls back: arm 0 has 0 - 0.5 (1 - 1.5) = 0.25.
    """
    policy = two("CUCB-Or", true_means=[0.7, 0.5])
    policy.decide()
    second = policy.decide()
    assert second.action == 0
    assert ledger(policy)["promised"] == 0.0
    before = policy.explain()
    assert before.event == "baseline"
    assert before.margin == pytest.approx(0.25)
    assert policy.fall_back(second.id) == "baseline"
    after = policy.explain()
    assert after.action == 0
    assert after.margin == pytest.approx(0.25)


def test_means_that_change() -> None:
    """The sums go by the round's own interval: S loses its high end and S_b gains its low end."""
    policy = make("GUARD", "guard", alpha=0.5, confirm=True, baseline_mean=None)
    means: list[Any] = [0.6, 0.2, (0.2, 0.3), 0.8]
    decisions = [policy.decide(proposal="new", baseline_mean=each) for each in means]
    # Saved: 0.5 * 0.6 = 0.3; owed: 0.1, then 0.15. 0.05 is left for 0.5 * 0.8.
    assert [each.action for each in decisions] == ["old", "new", "new", "old"]
    now = ledger(policy)
    assert (now["spared"], now["forgone"]) == pytest.approx((0.6 + 0.8, 0.2 + 0.3))
    assert policy.fall_back(decisions[2]) == "baseline"
    now = ledger(policy)
    assert (now["spared"], now["forgone"]) == pytest.approx((0.6 + 0.8 + 0.2, 0.2))
    # alpha (0.6 + 0.2 + 0.8) - (1 - alpha) (0.2 + 0.5) = 0.8 - 0.35.
    after = policy.decide(proposal="new", baseline_mean=0.5)
    assert after.margin == pytest.approx(0.45)


def test_rewards_of_the_baseline_are_awaited_where_they_teach() -> None:
    policy = two("CUCB2", learn_baseline=True)
    policy.close(policy.decide())
    lost = policy.decide()
    assert (lost.action, policy.pending) == (0, 1)
    assert policy.fall_back(lost) == "baseline"
    assert (ledger(policy)["pending"], ledger(policy)["waiting"], policy.pending) == (0, 1, 1)
    assert policy.fall_back(lost) == "baseline"
    assert policy.learn(lost, reward=1.0) == "learned"
    arrays = policy._state.model.arrays()
    assert (arrays["counts"].tolist(), arrays["sums"].tolist()) == ([0, 1], [0.0, 1.0])
    assert arrays["plays"].tolist() == [0, 0]
    assert (ledger(policy)["lessons"], ledger(policy)["rewards"]) == (1, 0)
    with pytest.raises(InputError, match="settled already"):
        policy.fall_back(lost)


def test_a_known_mean_is_not_taught_again() -> None:
    policy = make("CLUCB2", "features", learn_baseline="mean", confirm=True, alpha=0.9)
    lost = explored(policy)
    rows = ledger(policy)["rows"]
    assert policy.fall_back(lost) == "baseline"
    assert (ledger(policy)["rows"], ledger(policy)["waiting"], policy.pending) == (rows, 0, 0)
    handrail.Policy.from_bytes("again", policy.to_bytes())  # the counts agree


def test_features_move_where_the_model_learns_the_baseline() -> None:
    """FORGONE loses the baseline's features of the round and HELD gains them."""
    policy = make(
        "CLUCB2T", "dim", baseline_mean="learned", confirm=True, checkpoint_every=50,
        cumulative="subgaussian", alpha=0.9, baseline_lower=0.3,
    )  # fmt: skip
    lost = explored(policy, features=FEATURES, baseline=1)
    arrays = policy._state.model.arrays()
    held = arrays["held"].copy()
    assert arrays["forgone"].tolist() == FEATURES[1].tolist()
    assert policy.fall_back(lost) == "baseline"
    assert arrays["forgone"].tolist() == [0.0, 0.0, 0.0]
    assert arrays["held"] == pytest.approx(held + FEATURES[1])
    assert policy.learn(lost, reward=1.0) == "learned"
    ridge = policy._state.model.rules["ridge"][0]  # one row: V theta_hat is its features
    assert arrays["theta"] == pytest.approx(FEATURES[1] / (ridge + FEATURES[1] @ FEATURES[1]))
    assert arrays["total"].tolist() == [0.0, 0.0, 0.0]


def test_without_a_promise_the_baseline_is_awaited_as_an_arm() -> None:
    policy = make("UCB", "arms", confirm=True)
    lost = policy.decide()
    assert lost.action == 0
    assert policy.fall_back(lost) == policy.fall_back(lost.id) == "baseline"
    assert policy.learn(lost, reward=1.0) == "learned"
    assert policy._state.model.arrays()["sums"].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    own = policy.decide(hold=True)
    assert policy.fall_back(own) == "ignored"
    assert policy.learn(own, reward=1.0) == "learned"


def test_without_a_promise_and_a_baseline_nothing_is_learned() -> None:
    contexts: dict[str, Any] = {"features": FEATURES, "baseline": 0}
    for policy, told in (
        (make("UCB", "arms", confirm=True, baseline=None), {}),
        (make("LinUCB", "dim", confirm=True), contexts),
    ):
        lost = policy.decide(**told)
        assert policy.fall_back(lost) == "baseline"
        assert policy.pending == 0
        assert (ledger(policy)["rewards"], ledger(policy)["rows"]) == (0, 0)


# ---------------------------------------------------------------- what it answers


def test_baseline_rounds_are_ignored() -> None:
    for lessons in (False, True, "mean"):
        policy = two("CUCB2", learn_baseline=lessons)
        decision = policy.decide()
        before = state(policy)
        assert decision.event == "baseline"
        assert policy.fall_back(decision) == "ignored"
        assert state(policy) == before


def test_windows() -> None:
    """Within it "baseline", with a reward an error, after it "late"."""
    policy = two("CUCB2", window=3, alpha=0.9, baseline_mean=0.1)
    policy.decide(hold=True)
    decisions = [policy.decide() for _ in range(3)]
    assert {each.action for each in decisions} == {0}
    policy.learn(decisions[1], reward=1.0)
    before = state(policy)
    with pytest.raises(InputError, match="has a reward: it was carried out") as error:
        policy.fall_back(decisions[1])
    assert (error.value.field, state(policy)) == ("decision", before)
    assert policy.close(decisions[2]) == "closed"
    assert policy.fall_back(decisions[2]) == "baseline"
    assert ledger(policy)["plays"] == 2
    policy.decide()  # round 5 settles round 2, the first of them
    assert policy.fall_back(decisions[0]) == "late"
    assert policy.fall_back(decisions[0]) == "late"
    assert ledger(policy)["plays"] == 3


def test_a_window_settles_what_fell_back_in_order() -> None:
    """As any baseline round that teaches: with its reward, at the end."""
    policy = two("CUCB2", window=3, learn_baseline=True, alpha=0.9)
    policy.learn(policy.decide(hold=True), reward=0.25)
    one, other = policy.decide(), policy.decide()
    assert (one.action, other.action) == (0, 0)
    assert policy.fall_back(one) == policy.fall_back(other) == "baseline"
    assert policy.learn(one, reward=1.0) == "waiting"
    assert policy.fall_back(one) == "baseline"
    sums = policy._state.model.arrays()["sums"]
    for expected in ([0.0, 0.25], [0.0, 1.25], [0.0, 1.25]):  # rounds 1, 2 and 3
        policy.decide(hold=True)
        assert sums.tolist() == expected
    assert policy.fall_back(one) == policy.learn(one, reward=1.0) == "late"


@pytest.mark.parametrize("name", ["CUCB2", "UCB"])
def test_with_a_default_what_fell_back_teaches_nothing(name: str) -> None:
    """Nobody says of such a round that it was played; its silence is no reward of 0.25."""
    lessons = {"learn_baseline": True, "alpha": 0.9} if name == "CUCB2" else {}
    policy = make(name, "arms", confirm=True, window=3, default_reward=0.25, **lessons)
    policy.played(policy.decide(hold=True))
    lost = explored(policy)
    assert policy.fall_back(lost) == "baseline"
    with pytest.raises(InputError, match="settled already"):
        policy.learn(lost, reward=1.0)
    for _ in range(4):
        policy.decide(hold=True)
    arrays = policy._state.model.arrays()
    baseline = policy.decide(hold=True).action
    counts = [0.0] * len(arrays["sums"])
    counts[int(baseline)] = 0.25  # of round 1, which was said to be played
    assert arrays["sums"].tolist() == counts
    assert ledger(policy)["promised"] == 0.0


def test_what_is_refused() -> None:
    plain = two("CUCB2", confirm=False)
    plain.decide()
    lost = plain.decide()
    with pytest.raises(InputError, match="confirm=True") as error:
        plain.fall_back(lost)
    assert error.value.field == "confirm"
    policy = two("CUCB2")
    policy.decide()
    lost = policy.decide()
    bad: list[Any] = [policy.explain(), plain.decide(), "nonsense", None, 7]
    for each in bad:
        with pytest.raises(InputError) as error:
            policy.fall_back(each)
        assert error.value.field == "decision"
    policy.learn(lost, reward=1.0)
    with pytest.raises(InputError, match="settled already"):
        policy.fall_back(lost)
    policy.decide()
    closed = policy.decide()
    policy.close(closed)
    with pytest.raises(InputError, match="settled already"):
        policy.fall_back(closed)
