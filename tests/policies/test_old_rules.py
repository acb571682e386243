"""Files of older releases go on by the rules they were made with.

The files in ``data`` named ``*-2.handrail`` were written by the release before `Policy.played`, in
the middle of the runs that ``edition-1.json`` holds: what was decided with which margin, and what
was told, before the file was written and after. Each run is followed by the oracle of these rules
(``edition=1``) from its first round, and by the loaded policy from where its file begins.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail import Decision, Policy
from oracle import GuardOracle, Oracle
from oracle.compare import same
from support import state

DATA = Path(__file__).parent / "data"
RUNS: dict[str, Any] = json.loads((DATA / "edition-1.json").read_text())

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore:window without:handrail.errors.NoGuaranteeWarning")


def _oracle(run: dict[str, Any]) -> Oracle | GuardOracle:
    settings = {**run["settings"], "reward_range": (0.0, 1.0), "edition": 1}
    if run["parts"] == "GUARD":
        return GuardOracle("GUARD", **settings)
    return Oracle(parts=(*run["parts"], "constrained", "every-round"), **settings)


def _told(run: dict[str, Any]) -> dict[str, Any]:
    return {"proposal": "new"} if run["parts"] == "GUARD" else {}


def ledger(policy: Policy) -> dict[str, float]:
    row = policy._state.model.ledger[0]
    return {name: row[name].item() for name in row.dtype.names}


@pytest.mark.parametrize("name", RUNS)
def test_the_oracle_of_the_old_rules(name: str) -> None:
    """It finds the margins that the release found."""
    run = RUNS[name]
    oracle = _oracle(run)
    for kind, *rest in run["steps"]:
        if kind == "decide":
            action, event, margin = rest
            answer: Any = oracle.decide(**_told(run), force=action)
            assert (answer.action, answer.event) == (action, event)
            assert same(answer.margin, margin), answer.round
        elif kind == "learn":
            assert oracle.learn(rest[0], rest[1]) == rest[2]
        elif kind == "close":
            oracle.close(rest[0])
        else:
            assert oracle.fall_back(rest[0]) == rest[1]


@pytest.mark.parametrize("name", RUNS)
def test_a_loaded_policy_goes_on_by_them(name: str) -> None:
    """Unconfirmed rounds keep min(lower, mu_b), silence takes the default: nobody need say more.

    Every tenth step it is saved and loaded again, by which the rules do not change.
    """
    run = RUNS[name]
    policy = handrail.load_policy(DATA / f"{name}-2.handrail")
    decisions: dict[int, Decision | str] = {
        number: found
        for number in range(1, policy.round + 1)
        if (found := policy.waiting_id(number))
    }
    assert len(decisions) == policy.pending >= 5
    seen: Counter[str] = Counter()
    for number, (kind, *rest) in enumerate(run["steps"][run["saved_after"] :]):
        if kind == "decide":
            decision = policy.decide(**_told(run))
            decisions[decision.round] = decision
            assert (decision.action, decision.event) == (rest[0], rest[1])
            assert decision.margin is not None
            assert same(decision.margin, rest[2]), decision.round
            assert policy.played(decision) == "ignored"
        elif rest[0] in decisions:  # of rounds closed before the file was written, no id is known
            done = getattr(policy, kind)(decisions[rest[0]], *rest[1:-1])
            assert done == rest[-1]
            seen[kind] += 1
        if number % 10 == 9:
            policy = Policy.from_bytes("again", policy.to_bytes())
    assert set(seen) >= {"learn", "close"}
    assert state(Policy.from_bytes("again", policy.to_bytes())) == state(policy)


def test_files_of_version_1_waive_as_they_did() -> None:
    """A round closed without a reward keeps its lower bound; no reward is summed for it."""
    path = DATA / "arms-1.handrail"
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("state.json"))["version"] == 1
    policy = handrail.load_policy(path)
    for _ in range(2000):
        decision = policy.decide()
        if decision.event != "baseline" and decision.lower > 0.1:
            break
        policy.learn(decision, reward=1.0)
    before = ledger(policy)
    assert policy.close(decision) == "waived"
    after = ledger(policy)
    assert after["waived"] == pytest.approx(before["waived"] + decision.lower)
    assert after["rewards"] == before["rewards"]
