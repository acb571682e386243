"""Holds what servers show, and what a database holds, against a ledger of what they answered."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from typing import Any

import msgspec

from handrail.service.chain import START, link
from handrail.service.events import encode, from_json
from handrail.service.shelf import load
from handrail.service.store.open import open_store
from handrail.service.store.protocol import Reader, Row, SnapshotRow
from service_load import Call, Ledger
from service_processes import Asker, child_environment

__all__ = ["audit", "check", "finish", "fold_again", "repeat"]

_SAME = ("id", "round", "action", "event", "margin", "reason")


def check(asker: Asker, ledger: Ledger) -> dict[str, str]:
    """Check that all that was answered is there, once, and nothing that nobody asked for.

    Returns the hash that stands for each policy's log.
    """
    for call in ledger.open:
        if call.kind == "create":  # it may have come to be, or not
            assert asker.ask("GET", f"/v1/policies/{call.policy}").status in (200, 404)
    return {name: _check_policy(asker, ledger, name) for name in ledger.policies}


def _check_policy(asker: Asker, ledger: Ledger, policy: str) -> str:
    shown = asker.get(f"/v1/policies/{policy}")
    events = _events(asker, policy)
    decisions = _decisions(asker, policy)
    assert shown["round"] == len(decisions)
    by_round = {number: each["id"] for number, each in enumerate(decisions, 1)}
    assert len(set(by_round.values())) == len(decisions)
    decided = [each for each in events if each["kind"] == "decided"]
    assert [each["round"] for each in decided] == list(by_round)
    _check_decisions(ledger, policy, {each["id"]: each for each in decisions})
    _check_keys(ledger, policy, {each["key"]: each["round"] for each in decided if each["key"]})
    keys = Counter(each["key"] for each in decided if each["key"])
    assert max(keys.values(), default=1) == 1
    rewarded = [
        (by_round[each["round"]], each["reward"]) for each in events if each["kind"] == "rewarded"
    ]
    _check_outcomes(
        rewarded,
        [
            (call, (call.body["decision"], call.body["reward"]))
            for call in ledger.of("reward", policy)
        ],
        ("learned", "waiting", "repeated"),
    )
    fell_back = [by_round[each["round"]] for each in events if each["kind"] == "fell-back"]
    _check_outcomes(
        fell_back,
        [(call, _decision_of(call)) for call in ledger.of("fallback", policy)],
        ("baseline",),
    )
    head: str = shown["head"]["hash"]
    return head


def _events(asker: Asker, policy: str) -> list[dict[str, Any]]:
    """Return the events of a log whose chain holds."""
    reply = asker.ask("GET", f"/v1/policies/{policy}/events?format=ndjson")
    assert reply.status == 200, reply
    head, at = START, 0
    events = []
    for seq, line in enumerate(reply.body.splitlines(), 1):
        row = msgspec.json.decode(line)
        event: dict[str, Any] = row["event"]
        head = link(head, encode(from_json(event)))
        assert row["seq"] == seq
        assert row["hash"] == head.hex()
        assert event["at"] >= at
        at = event["at"]
        events.append(event)
    return events


def _decisions(asker: Asker, policy: str) -> list[dict[str, Any]]:
    """Return all decisions, whose rounds have no gap."""
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = asker.get(f"/v1/policies/{policy}/decisions?limit=1000&after={after}")
        found += page["decisions"]
        after = page["next"]
    assert [each["round"] for each in found] == list(range(1, len(found) + 1))
    return found


def _check_decisions(ledger: Ledger, policy: str, found: dict[str, dict[str, Any]]) -> None:
    answered: set[str] = set()
    open_rounds = 0
    for call in ledger.of("decide", policy):
        open_rounds += len(call.requests) * (call.answer is None)
        for answer in call.answers:
            view = found.get(answer["id"])
            assert view is not None, f"an answered decision is gone: {call}"
            assert [answer[name] for name in _SAME] == [view[name] for name in _SAME]
            assert answer["id"] not in answered, f"a decision was given out twice: {call}"
            answered.add(answer["id"])
        rounds = [answer["round"] for answer in call.answers]
        assert rounds == list(range(rounds[0], rounds[0] + len(rounds))) if rounds else True
    assert len(found) - len(answered) <= open_rounds, "decisions that nobody asked for"


def _check_keys(ledger: Ledger, policy: str, found: dict[str, int]) -> None:
    """Check that every key has its decision, and that a batch is there wholly or not at all."""
    for call in ledger.of("decide", policy):
        there = [found[key] for key in call.keys if key in found]
        if call.answer is not None:
            assert not call.keys or there == [answer["round"] for answer in call.answers], call
        elif there:
            assert len(there) == len(call.keys), f"half of a batch: {call}"


def _check_outcomes(
    found: list[Any], asked: list[tuple[Call, Any]], counted: tuple[str, ...]
) -> None:
    """Check that outcomes are there once if they were answered so, and only if they were asked."""
    assert len(set(found)) == len(found)
    there, known = set(found), {outcome for _, outcome in asked}
    assert there <= known, f"outcomes that nobody told: {there - known}"
    for call, outcome in asked:
        if call.answer is not None:
            assert (outcome in there) == (call.status in counted), call


def _decision_of(call: Call) -> str:
    """Return the decision that a fallback is about."""
    return call.path.split("/")[-2]


def finish(asker: Asker, ledger: Ledger) -> None:
    """Ask again for all that got no answer, as far as that does no harm."""
    for call in ledger.open:
        if call.repeatable:
            assert call.lost
            call.settle(asker.ask("POST", call.path, call.body))


def repeat(asker: Asker, ledger: Ledger, rng: random.Random, most: int = 20) -> None:
    """Ask again for some of what was answered: nothing happens twice."""
    keyed = [call for call in ledger.of("decide") if call.answer is not None and call.keys]
    fell_back = {_decision_of(call) for call in ledger.of("fallback") if call.status == "baseline"}
    for call in rng.sample(keyed, min(most, len(keyed))):
        reply = asker.post(call.path, call.body)
        for answer, before in zip(reply.get("decisions", [reply]), call.answers, strict=True):
            if before["id"] in fell_back:  # it was played as the baseline
                assert [answer["id"], answer["round"]] == [before["id"], before["round"]]
                assert (answer["event"], answer["repeated"]) == ("baseline", True)
            else:
                assert answer == {**before, "repeated": True}
    rewards = [call for call in ledger.of("reward") if call.answer is not None]
    for call in rng.sample(rewards, min(most, len(rewards))):
        after = "repeated" if call.status in ("learned", "waiting") else call.status
        assert asker.post(call.path, call.body)["status"] == after


class _WithoutSnapshots:
    """A reader of logs that have no snapshots."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def events(self, policy: int, after: int = 0, limit: int = 1_000_000) -> list[Row]:
        return self._reader.events(policy, after, limit)

    def snapshots(self, policy: int) -> list[SnapshotRow]:
        return []


def fold_again(database: str, heads: dict[str, str]) -> int:
    """Fold all logs from their first events on: the heads are those, and snapshots agree.

    Returns how many snapshots there were.
    """
    store = open_store(database, create=False)
    snapshots = 0
    try:
        with store.reading() as reader:
            assert {row.name for row in reader.policies()} >= set(heads)
            for row in reader.policies():
                folded = load(_WithoutSnapshots(reader), row.number)  # type: ignore[arg-type]
                quick = load(reader, row.number)
                assert folded.head.hex() == heads.get(row.name, folded.head.hex())
                assert folded.policy.to_bytes() == quick.policy.to_bytes()
                assert folded.state() == quick.state()
                snapshots += len(reader.snapshots(row.number))
    finally:
        store.close()
    return snapshots


def audit(database: str) -> None:
    """Run `handrail audit`, which has to find nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "handrail", "audit", database],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
