"""Rewards that come late, out of order or never: small cases worked out by hand."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import Policy
from handrail.policies.notes import FOR_WHOM
from support import CONSERVATIVE, make, play

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore:window without:handrail.errors.NoGuaranteeWarning")


def ledger(policy: Policy) -> dict[str, float]:
    row = policy._state.model.ledger[0]
    return {name: row[name].item() for name in row.dtype.names}


def test_a_pending_round_counts_its_lower_bound_and_its_reward_once() -> None:
    policy = make("CUCB2", "arms", alpha=0.5, cumulative="subgaussian")
    first = policy.decide()
    second = policy.decide()
    # Round 1: need 0.55 (1 - 0.5) > 0: baseline. Round 2: 0.55 (1 - 0.5 * 2) = 0: arm 0.
    assert (first.event, second.event, second.action) == ("baseline", "optimistic", 0)
    assert policy.pending == 1
    assert ledger(policy)["promised"] == 0.0  # nothing is known of arm 0
    third = policy.decide()
    # s = 1, t = 3: need 0.55 (1 + 1 - 1.5) = 0.275 > 0.
    assert third.event == "baseline"
    assert third.margin == pytest.approx(-0.55 * 0.5 + 0.55)
    assert policy.learn(second, reward=1.0) == "learned"
    assert policy.pending == 0
    after = ledger(policy)
    assert (after["rewards"], after["reward"], after["promised"]) == (1, 1.0, 0.0)


def test_promises_are_as_of_the_decision() -> None:
    policy = make("CUCB2", "arms", alpha=0.5, baseline_mean=0.1)
    decisions = play(policy, 400)
    decision = next(d for d in iter(policy.decide, None) if d.awaits_reward and d.lower > 0)
    assert ledger(policy)["promised"] == pytest.approx(decision.lower)
    lower = decision.lower
    for _ in range(30):
        more = policy.decide()
        if more.awaits_reward:
            policy.learn(more, reward=1.0)
    assert ledger(policy)["promised"] == pytest.approx(lower)
    before = ledger(policy)
    assert policy.close(decision.id) == "waived"
    after = ledger(policy)
    assert (after["promised"], after["waived"]) == (0.0, 0.0)
    assert (after["rewards"], after["reward"]) == (before["rewards"] + 1, before["reward"])
    assert decisions[-1].round == 400


def test_close_learns_the_default() -> None:
    policy = make("UCB", "arms", default_reward=0.25)
    decision = policy.decide()
    assert policy.close(decision) == "learned"
    assert policy._state.model.arrays()["sums"].tolist() == [0.25, 0.0, 0.0, 0.0, 0.0]
    assert policy.pending == 0


def test_a_baseline_round_needs_no_reward() -> None:
    policy = make("CUCB2", "arms")
    decision = policy.decide()
    assert (decision.event, decision.awaits_reward, policy.pending) == ("baseline", False, 0)
    assert policy.learn(decision, reward=1.0) == "ignored"
    assert policy.learn(decision.id, reward=1.0) == "ignored"
    assert policy.close(decision) == "ignored"


def test_a_window_settles_in_the_order_of_decisions() -> None:
    """window = 3: round i is settled when round i + 3 is decided, not before and not later."""
    policy = make("UCB", "arms", window=3)
    decisions = [policy.decide() for _ in range(3)]
    assert policy.learn(decisions[2], reward=1.0) == "waiting"
    assert policy.learn(decisions[0], reward=0.5) == "waiting"
    counts = policy._state.model.arrays()["counts"]
    assert counts.sum() == 0
    policy.decide()  # round 4 settles round 1
    assert (counts.sum(), policy.pending) == (1, 3)
    assert policy.learn(decisions[0], reward=0.5) == "late"
    policy.decide()  # round 5 settles round 2, whose reward never came: not learned from
    assert (counts.sum(), policy.pending) == (1, 3)
    assert policy.learn(decisions[1], reward=0.5) == "late"
    assert policy.close(decisions[1]) == "late"
    policy.decide()  # round 6 settles round 3
    assert (counts.sum(), policy.pending) == (2, 3)


def test_a_window_uses_the_default_for_what_is_missing() -> None:
    policy = make("UCB", "arms", window=1, default_reward=0.0)
    for _ in range(5):
        policy.decide()
    arrays = policy._state.model.arrays()
    assert arrays["counts"].sum() == 4
    assert arrays["sums"].sum() == 0.0


def test_a_closed_window_takes_no_more_rewards_but_settles_in_order() -> None:
    policy = make("UCB", "arms", window=3, default_reward=1.0)
    decision = policy.decide()
    assert policy.close(decision) == "closed"
    assert policy.close(decision) == "closed"
    with pytest.raises(handrail.InputError, match="settled already"):
        policy.learn(decision, reward=0.5)
    assert policy._state.model.arrays()["counts"].sum() == 0
    for _ in range(3):
        policy.decide()
    assert policy._state.model.arrays()["sums"].sum() == 1.0


def test_rewards_that_depend_on_their_delay_break_the_plain_rule_and_not_the_window() -> None:
    """Ones arrive at once, zeros never: used as they come, every arm looks perfect.

    The window's promise may fail with probability delta = 1e-6: that is the false alarm.
    """
    rng = np.random.default_rng(2)
    lowest = {}
    for label, changes in {"naive": {}, "window": {"window": 5, "default_reward": 0.0}}.items():
        policy = make("CUCB2", "arms", alpha=0.4, baseline_mean=0.6, delta=1e-6, **changes)
        budget, least = 0.0, 0.0
        for _ in range(4000):
            decision = policy.decide()
            mean = 0.6 if decision.action == 1 else 0.15
            budget += mean - 0.6 * 0.6
            least = min(least, budget)
            if decision.awaits_reward and rng.random() < mean:
                policy.learn(decision, reward=1.0)
        lowest[label] = least
    assert lowest["naive"] < -50.0
    assert lowest["window"] >= 0.0


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_while_no_reward_comes_the_promise_holds(name: str) -> None:
    """All rewards outstanding: nothing but the allowance of the baseline rounds is spent.

    Every arm but the baseline is worthless, and nothing is ever learned; the budget must stay
    >= 0 with certainty (at every tenth round for checkpoints).
    """
    setting = "arms" if handrail.algorithm(name).estimator == "means" else "features"
    changes = {"true_means": [0.0, 0.55, 0.0, 0.0, 0.0]} if name.endswith("Or") else {}
    policy = make(name, setting, **changes)
    budget, played = 0.0, 0
    for number in range(1, 501):
        decision = policy.decide()
        played += decision.action != 1
        budget += (0.55 if decision.action == 1 else 0.0) - 0.75 * 0.55
        if not name.endswith("T") or number % 10 == 0:
            assert budget >= -1e-9
    assert played > 50


def test_psi_counts_rewards_not_plays() -> None:
    """Forty rewards of 1 and twenty rounds pending: psi at s = 40, the need at s = 60."""
    policy = make("CUCB-M", "arms", alpha=0.9, baseline_mean=0.05)
    waiting: list[handrail.Decision] = []
    while len(waiting) < 60:
        decision = policy.decide()
        if decision.awaits_reward:
            waiting.append(decision)
    for decision in waiting[:40]:
        policy.learn(decision, reward=1.0)
    now = ledger(policy)
    assert (now["rewards"], now["plays"], now["pending"]) == (40, 60, 20)
    log = math.log(3.0 * 40**2 / (0.05 * 18.0 / math.pi**2))
    past = 40.0 - (0.5 * math.sqrt(2.0 * 40.0 * log) + 2.0 * log / 3.0)
    assert past > 10.0
    need = 0.05 * (60 + 1 - 0.9 * (now["rounds"] + 1))
    leader = policy.explain().explanation["most_optimistic"]
    expected = past + now["promised"] + max(leader["lower"], 0.0) - need
    assert leader["margin"] == pytest.approx(expected)


def _clicks_alone(policy: Policy, seed: int) -> float:
    """Of an arm worth .15 beside a baseline of .6 only ones are reported: the lowest budget."""
    rng = np.random.default_rng(seed)
    budget, least = 0.0, 0.0
    guard = policy.algorithm.estimator == "none"
    for _ in range(1500):
        decision = policy.decide(proposal="new" if guard else None)
        mean = 0.6 if decision.event == "baseline" else 0.15
        budget += mean - 0.6 * 0.6
        least = min(least, budget)
        if decision.event != "baseline":
            policy.played(decision)
            if rng.random() < mean:
                policy.learn(decision, reward=1.0)
    return least


@pytest.mark.parametrize("confirm", [False, True, "by-reward"])
@pytest.mark.parametrize("name", ["HANDRAIL", "GUARD"])
def test_a_default_without_a_window_warns_and_can_fail(name: str, confirm: bool | str) -> None:
    """Nothing ever says that a reward is missing: the default is not used, and clicks are.

    With a window the six runs have a false alarm of 0.6 % at most; the seeds are fixed.
    """
    changes: dict[str, Any] = {"alpha": 0.4, "baseline_mean": 0.6, "confirm": confirm}
    changes["delta"] = 0.001
    changes |= {"default_reward": 0.0, "reward_range": (0.0, 1.0)}
    setting = "guard" if name == "GUARD" else "arms"
    with pytest.warns(handrail.NoGuaranteeWarning, match="default_reward without window") as caught:
        policy = make(name, setting, **changes)
    assert str(caught[0].message) in policy.notes
    assert min(_clicks_alone(copy.copy(policy), seed) for seed in range(6)) < -0.5
    safe = make(name, setting, **changes, window=5)
    assert not any("default_reward without window" in note for note in safe.notes)
    assert min(_clicks_alone(copy.copy(safe), seed) for seed in range(6)) >= -1e-9
    make("UCB", "arms", default_reward=0.0)  # promises nothing, so nothing to warn of


def test_a_guard_says_that_rewards_are_missing_at_random() -> None:
    """Without a window it sums what comes; with one, what is missing counts as the lowest."""
    waits = make("GUARD", "guard", alpha=0.4, baseline_mean=0.6, reward_range=(0.0, 1.0))
    assert any("missing at random" in note for note in waits.notes)
    assert min(_clicks_alone(copy.copy(waits), seed) for seed in range(6)) < -0.5
    assert make("GUARD", "guard", window=5).notes == [FOR_WHOM]


def test_without_a_range_no_missing_reward_counts_as_the_lowest() -> None:
    """Rewards below 0 are not reported, of an arm worth .1 beside .5: counted as 0 they are gain.

    Ten runs, each of which would be below 0 with probability .05 at most if the promise held.
    """
    told: dict[str, Any] = {"baseline": "old", "baseline_mean": 0.5, "alpha": 0.1, "delta": 0.05}
    told |= {"noise": 1.0, "window": 5}
    with pytest.warns(handrail.NoGuaranteeWarning, match="no lowest reward") as caught:
        policy = handrail.guard(**told)
    assert str(caught[0].message) in policy.notes
    with pytest.warns(handrail.NoGuaranteeWarning, match="no lowest reward"):
        handrail.guard(**told, checkpoint_every=10)
    for seed in range(10):
        rng, watch, budget = np.random.default_rng([22, seed]), copy.copy(policy), 0.0
        for _ in range(2000):
            decision = watch.decide(proposal="new")
            mean = 0.1 if decision.action == "new" else 0.5
            budget += mean - 0.9 * 0.5
            reward = rng.normal(mean, 1.0)
            if decision.action == "new" and reward > 0.0:
                watch.learn(decision, reward)
        assert budget < -10.0
    assert handrail.guard(**told, default_reward=-3.0).notes == [FOR_WHOM]
    with warnings.catch_warnings():
        warnings.simplefilter("error", handrail.NoGuaranteeWarning)
        handrail.guard(**told, reward_range=(-4.0, 4.0))


def test_a_window_without_a_default_warns_and_can_fail() -> None:
    """Zeros are never reported, so that the arm's bounds know ones alone: of that it warns.

    What is closed earned 0. What waits is promised what the arm's lower bound says, 50 times.
    """
    with pytest.warns(handrail.NoGuaranteeWarning, match="window without default_reward"):
        policy = make("HANDRAIL", "arms", alpha=0.4, baseline_mean=0.6, window=50)
    assert _clicks_alone(policy, 2) < -10.0
    make("UCB", "arms", window=5)  # promises nothing, so nothing to warn of
