"""Decisions: ids nobody else gives out, reasons a person can read, data JSON can hold."""

from __future__ import annotations

import copy
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import handrail
from handrail import InputError
from support import FEATURES, SETTINGS, make, play


def test_ids_are_unique_across_copies(tmp_path: Path) -> None:
    """Original, loaded twice, copied in memory: no id is given out twice, each keeps to its own."""
    policy = make("UCB", "arms")
    policy.save(tmp_path / "p")
    copies = [policy, *(handrail.load_policy(tmp_path / "p") for _ in range(2))]
    copies.append(copy.deepcopy(policy))
    decisions = [each.decide() for each in copies for _ in range(3)]
    assert len({decision.id for decision in decisions}) == len(decisions)
    with pytest.raises(InputError, match="another copy"):
        copies[1].learn(decisions[0].id, 1.0)
    assert copies[0].learn(decisions[0].id, 1.0) == "learned"


def test_a_loaded_policy_takes_rewards_of_earlier_decisions(tmp_path: Path) -> None:
    policy = make("UCB", "arms")
    decision = policy.decide()
    policy.save(tmp_path / "p")
    assert handrail.load_policy(tmp_path / "p").learn(decision.id, 1.0) == "learned"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ids_are_unique_across_forks(tmp_path: Path) -> None:
    policy = make("UCB", "arms")
    child = os.fork()
    if child == 0:
        (tmp_path / "id").write_text(policy.decide().id)
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "id").read_text() != policy.decide().id


def test_threads_are_served_one_after_the_other() -> None:
    policy = make("CLUCB2", "dim")

    def work(_: int) -> None:
        decision = policy.decide(features=FEATURES, baseline=1, baseline_mean=0.5)
        policy.learn(decision, 0.9)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(2000)))
    assert (policy.round, policy.pending) == (2000, 0)
    ledger = policy._state.model.ledger[0]
    assert ledger["rows"] == ledger["plays"] == ledger["rewards"]


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_reasons_are_sentences_and_explanations_are_json(name: str, setting: str) -> None:
    for decision in play(make(name, setting), 300):
        assert decision.reason[0].isupper()
        assert decision.reason.endswith(".")
        assert "\n" not in decision.reason
        assert f"ction {decision.action}" in decision.reason
        assert "nan" not in decision.reason
        data = json.loads(json.dumps(decision.explanation, allow_nan=False))
        assert data["action"] == decision.action
        assert data["event"] == decision.event
        assert data["margin"] == decision.margin
        assert data["upper"] == (decision.upper if math.isfinite(decision.upper) else None)


def test_each_kind_of_reason_is_given() -> None:
    """By hand: which sentence belongs to which situation."""
    policy = make("CUCB2", "arms", alpha=0.5)
    first, second = policy.decide(), policy.decide()
    assert first.reason == (
        "Action 1, the baseline (mean 0.55), is played to stay safe: action 0 promises most "
        "(unknown yet) but is not safe (the certified margin is -0.275), and no other action is "
        "safe."
    )
    assert second.reason == (
        "Action 0 promises most (upper bound unknown yet) and is safe: the certified margin is 0."
    )
    two_step = make("CUCB", "arms").decide()
    assert two_step.reason.endswith("and CUCB looks at no other.")
    best = make("CUCB2", "arms", baseline_mean=1.0)
    rounds = [best.decide() for _ in range(1)]
    while rounds[-1].awaits_reward or "exceeds" not in rounds[-1].reason:
        best.learn(rounds[-1], 0.0)
        rounds.append(best.decide())
        assert len(rounds) < 20000
    assert "exceeds what any other action can promise" in rounds[-1].reason
    safe = next(d for d in play(make("CUCB-S", "arms"), 20000) if d.event == "safe")
    assert "among the" in safe.reason
    assert "promises more" in safe.reason
    assert make("UCB", "arms").decide().reason == (
        "Action 0 has the largest upper bound (unknown yet); UCB makes no promise towards the "
        "baseline."
    )


def test_a_shifted_range_says_from_where_reward_counts() -> None:
    policy = make("CUCB2", "arms", reward_range=(-10.0, 10.0), baseline_mean=1.0)
    assert policy.decide().reason.endswith("; the promise is on reward above -10.")
    checkpoints = make("CUCB2T", "arms", baseline_lower=0.0)
    assert "by the next checkpoint" in checkpoints.decide().reason


def test_repr() -> None:
    policy = make("CUCB2", "arms")
    assert repr(policy.decide()).startswith("Decision(round=1, action=1, event='baseline'")
    assert repr(policy) == "<Policy CUCB2: round 1, 0 pending>"
    assert repr(make("UCB", "arms").decide()).startswith("Decision(round=1, action=0")
