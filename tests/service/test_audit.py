"""The audit of honest logs: nothing is wrong, and the statement says what happened."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail import InputError
from handrail.service import commands, outcomes
from handrail.service.audit import Audit
from handrail.service.definition import define
from handrail.service.limits import Limits
from handrail.service.messages import ArmRequest, DecideRequest
from handrail.service.snapshots import take
from handrail.service.statement import make_statement
from handrail.service.store.protocol import SnapshotRow
from handrail.service.tally import ExactSum
from memory_store import MemoryStore
from service_logs import SECOND, Writer, request
from support import FEATURES, SETTINGS


def audited(writer: Writer, snapshots: list[SnapshotRow] | None = None) -> Audit:
    return Audit(writer.name, snapshots=snapshots or []).run(writer.rows())


# The service gives oracles of changing actions no way to tell the truth.
SERVED = [each for each in SETTINGS if not ("-Or" in each[0] and each[1] == "dim")]


@pytest.mark.parametrize(("name", "setting"), SERVED)
def test_every_algorithm(name: str, setting: str) -> None:
    writer = Writer(MemoryStore(), request("p", name, setting), seed=1).play(80)
    audit = audited(writer)
    assert audit.findings == []
    assert audit.folded == audit.events == len(writer.rows()) > 80
    assert audit.head == writer.rows()[-1].hash
    assert audit.tally is not None
    assert audit.tally.rounds == 80


@pytest.mark.parametrize(
    ("name", "setting", "changes"),
    [
        ("HANDRAIL", "arms", {"window": 6, "default_reward": 0.25}),
        ("CUCB2", "arms", {"window": 6}),
        ("UCB", "arms", {"window": 4}),
        ("UCB", "arms", {"baseline": None}),
        ("LinUCB", "dim", {"baseline": None}),
        ("LinHANDRAIL", "features", {"baseline_mean": "learned"}),
        ("LinHANDRAIL", "dim", {"baseline_mean": "learned"}),
        ("CLUCB2", "dim", {"baseline_mean": "learned", "window": 9}),
        ("CLUCB", "features", {"learn_baseline": True}),
        ("CUCB2", "arms", {"baseline_mean": (0.5, 0.6), "reward_range": (-1.0, 2.0)}),
        ("CLUCB2", "dim", {"reward_range": (-1.0, 2.0), "keep_candidates": True}),
        ("HANDRAIL", "arms", {"reward_range": None, "noise": 0.4}),
        ("GUARD", "guard", {"baseline_mean": "learned"}),
        ("GUARD-T", "guard", {"checkpoint_every": 7}),
        ("HANDRAILT", "arms", {"checkpoint_every": None, "checkpoints": [9, 30, 31]}),
    ],
)
@pytest.mark.filterwarnings("ignore::handrail.NoGuaranteeWarning")
def test_parameters(name: str, setting: str, changes: dict[str, object]) -> None:
    writer = Writer(MemoryStore(), request("p", name, setting, **changes), seed=2).play(70)
    assert audited(writer).findings == []


@pytest.mark.parametrize("setting", ["arms", "features"])
def test_arms_that_come_and_go_and_modes(setting: str) -> None:
    names = ["a", "b", "c", "d", "e"]
    named: dict[str, object] = {"arms": names} if setting == "arms" else {}
    if setting == "features":
        named["features"] = dict(zip(names, FEATURES.tolist(), strict=True))
    more = {"arms_ever": 9} if setting == "arms" else {"width": "determinant"}
    name = "HANDRAIL" if setting == "arms" else "LinHANDRAIL"
    created = request("p", name, setting, baseline="b", **named, **more)
    writer = Writer(MemoryStore(), created, seed=3).play(30)
    row = None if setting == "arms" else [0.4, 0.4, 0.1]
    writer.do(commands.add_arm, ArmRequest(name="f", features=row)).play(20)
    writer.do(commands.change_mode, "shadow").play(15)
    writer.do(commands.change_mode, "paused").play(10)
    writer.do(commands.change_mode, "live").do(commands.retire_arm, "a").play(25)
    writer.do(commands.archive)
    audit = audited(writer)
    assert audit.findings == []
    statement = make_statement(audit)
    assert statement is not None
    assert (statement.mode, statement.rounds) == ("archived", 100)


def test_reported_checkpoints() -> None:
    changes = {"checkpoint_every": None, "checkpoint_gap": 5}
    writer = Writer(MemoryStore(), request("p", "CUCB2T", "arms", **changes), seed=4).play(12)
    writer.do(commands.report_checkpoint).play(9).do(commands.report_checkpoint).play(5)
    assert audited(writer).findings == []


def test_rounds_that_are_given_up_because_too_many_wait() -> None:
    store = MemoryStore()
    writer = Writer(store, request("p", "UCB", "arms"), seed=5)
    writer.limits = Limits(pending=3)
    writer.play(60)
    audit = Audit("p", limits=writer.limits).run(writer.rows())
    assert audit.findings == []
    assert audit.tally is not None
    assert audit.tally.closed > 0


def test_rounds_in_a_window_are_not_given_up() -> None:
    """They are settled when it ends; a window that is too long is refused when it is declared."""
    writer = Writer(MemoryStore(), request("p", "UCB", "arms", window=20), seed=5)
    writer.limits = Limits(pending=3)
    audit = audited(writer.play(60, rewards=False))
    assert audit.findings == []
    assert audit.tally is not None
    assert (audit.tally.closed, audit.tally.pending) == (0, 20)
    with pytest.raises(InputError) as caught:
        define(request("p", "UCB", "arms", window=20), Limits(pending=19))
    assert caught.value.field == "window"


def test_snapshots_are_compared_with_the_log() -> None:
    writer = Writer(MemoryStore(), request("p", "LinHANDRAIL", "dim"), seed=6).play(20)
    middle = audited(writer)
    assert middle.book is not None
    middle.book.seq, middle.book.head = middle.events, middle.head
    snapshot = take(middle.book)
    middle.book.mode = "paused"
    paused = take(middle.book)
    middle.book.mode = "live"
    middle.book.policy._state.model.ledger["reward"] += 1e-3
    forged = take(middle.book)
    middle.book.head = bytes(32)
    elsewhere = take(middle.book)
    unreadable = snapshot._replace(body=b"nonsense")
    writer.play(10)
    assert audited(writer, [snapshot]).findings == []
    found = audited(writer, [elsewhere, unreadable]).findings
    assert [each.reason.partition(":")[0] for each in found] == [
        "the snapshot after it is of another event",
        "the snapshot after it is damaged",
    ]
    found = audited(writer, [snapshot, forged]).findings
    assert [each.seq for each in found] == [snapshot.seq]
    assert "ledger.reward" in found[0].reason
    assert [each.seq for each in audited(writer, [paused]).findings] == [snapshot.seq]


def test_the_ledger_is_compared_with_the_events() -> None:
    writer = Writer(MemoryStore(), request("p", "HANDRAIL", "arms"), seed=7).play(60)
    for field, change in (("reward", 1e-6), ("spared", -1e-6), ("plays", 1), ("promised", 1e-6)):
        audit = Audit("p")
        for row in writer.rows():
            assert audit.take(row)
        assert audit.book is not None
        audit.book.policy._state.model.ledger[field] += change
        audit.finish(None)
        assert [each.seq for each in audit.findings] == [None]
        assert field in audit.findings[0].reason


def test_the_statement_of_a_guard_by_hand() -> None:
    """Four baseline rounds at 0.5 pay for one proposal: alpha 0.5 (4 + 1) = 0.5, alpha = 0.2."""
    created = request("g", "GUARD", "guard", alpha=0.2, baseline_mean=0.5)
    writer = Writer(MemoryStore(), created, seed=8)
    with writer.store.writing() as log:
        session = writer.session(log)
        book = session.book("g")
        for number in range(5):
            answer = commands.decide_all(session, book, [DecideRequest(proposal="new")])[0]
            assert answer.event == ("baseline" if number < 4 else "optimistic")
            writer.now += 60 * SECOND
        session.flush()
    audit = audited(writer)
    assert audit.findings == []
    statement = make_statement(audit)
    assert statement is not None
    assert (statement.rounds, statement.baseline_rounds, statement.explored_rounds) == (5, 4, 1)
    assert statement.unconfirmed == 1
    assert statement.baseline_earnings == (2.5, 2.5)
    assert statement.required == pytest.approx(2.0)
    assert statement.margin == pytest.approx(0.0, abs=1e-12)
    assert statement.failure_probability == pytest.approx(0.1)
    text = "\n".join(statement.sentences())
    assert "The baseline was played in 4 of them, another action in 1." in text
    assert "would have earned 2.5 in expectation" in text
    assert "Required is 80 % of that, 2 at most, after every round." in text
    assert "1 decision not confirmed yet" in text
    assert "may fail with probability 0.1 at most" in text


def test_what_rounds_to_come_add_is_not_stated_as_earned() -> None:
    """Checkpoints every 1,000 rounds: nearly all of the margin is what the baseline will add."""
    created = request("p", "HANDRAILT", "arms", alpha=0.2, baseline_mean=0.5, checkpoint_every=1000)
    writer = Writer(MemoryStore(), created, seed=11)
    writer.play(10)  # slack is alpha 0.3 (1,000 - 10) = 59, and no more than 4 is owed
    statement = make_statement(audited(writer))
    assert statement is not None
    assert statement.margin is not None
    assert statement.margin > 50.0  # of at most 10 that can have been earned
    assert statement.margin_until == 1000
    text = "\n".join(statement.sentences())
    assert "so at least" not in text
    assert "above what is required at round 1,000, if the baseline is played until then" in text
    assert ", each at the checkpoint that was next." in text
    writer.play(990)
    statement = make_statement(audited(writer))
    assert statement is not None
    assert statement.margin_until is None
    assert "so at least" in "\n".join(statement.sentences())


def test_checkpoints_that_came_sooner_than_counted_on_are_stated() -> None:
    """Of a law with mean 500 the first is counted on for round 400 or so; here it comes at 20."""
    law = {"law": "poisson", "args": [500.0]}
    created = request("p", "HANDRAILT", "arms", checkpoint_every=None, checkpoint_gap=law)
    writer = Writer(MemoryStore(), created, seed=12)
    came = []
    for rounds in (20, 700):
        writer.play(rounds).do(commands.report_checkpoint)
        statement = make_statement(audited(writer))
        assert statement is not None
        said = [each for each in statement.assumptions if "when callers reported" in each]
        came += [each.partition(";")[0] for each in said]
    assert came == [
        "1 checkpoint came when callers reported, 1 of them sooner than was counted on",
        "2 checkpoints came when callers reported, 1 of them sooner than was counted on",
    ]


def test_a_round_in_which_somebody_chose_the_baseline_is_stated_as_one() -> None:
    created = request("g", "GUARD", "guard", alpha=0.2, baseline_mean=0.5)
    writer = Writer(MemoryStore(), created, seed=8)
    with writer.store.writing() as log:
        session = writer.session(log)
        book = session.book("g")
        for _ in range(5):
            answer = commands.decide_all(session, book, [DecideRequest(proposal="new")])[0]
        assert answer.event == "optimistic"
        outcomes.fall_back(session, book, answer.id, "choice")
        session.flush()
    statement = make_statement(audited(writer))
    assert statement is not None
    assert (statement.baseline_rounds, statement.explored_rounds, statement.choices) == (4, 1, 1)
    assert (
        "The baseline was played in 5 of them (1 was decided otherwise and reported so, 1 of them "
        "by choice), another action in 0."
    ) in statement.sentences()


def test_the_statement_of_a_policy_that_promises_nothing() -> None:
    audit = audited(Writer(MemoryStore(), request("p", "UCB", "arms"), seed=9).play(5))
    statement = make_statement(audit)
    assert statement is not None
    assert statement.required is None
    assert "promises nothing" in "\n".join(statement.sentences())
    assert msgspec.json.encode(statement.data())


def test_amounts_are_above_where_rewards_begin() -> None:
    created = request("p", "CUCB2", "arms", reward_range=(-10.0, 10.0), baseline_mean=2.0)
    audit = audited(Writer(MemoryStore(), created, seed=10).play(10))
    statement = make_statement(audit)
    assert statement is not None
    assert statement.baseline_earnings[1] == pytest.approx(120.0)
    assert "All amounts are reward above -10." in statement.sentences()


@given(st.lists(st.floats(-1e300, 1e300), max_size=30))
def test_exact_sums(values: list[float]) -> None:
    total = ExactSum()
    for value in values:
        total.add(value)
    assert total.value == math.fsum(values)


def test_exact_sums_stay_small() -> None:
    total = ExactSum()
    rng = np.random.default_rng(0)
    for value in rng.uniform(-1.0, 1.0, 20_000) * 10.0 ** rng.integers(-12, 12, 20_000):
        total.add(float(value))
    assert len(total._partials) < 40
