"""Logs that somebody had their hands on: what is found, where, and what only a noted head finds."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from forged_logs import audit, chained, changed, decoded, forged, places, rebuilt
from handrail.service import events
from handrail.service.events import Created, Decided, Event, Rewarded
from handrail.service.store.protocol import Row
from memory_store import MemoryStore
from service_logs import Writer, request


@pytest.fixture(scope="module")
def log() -> list[Row]:
    """Some rounds, many of them explored, most of them rewarded."""
    created = request("p", "CUCB2", "arms", alpha=0.6, baseline_mean=0.3)
    rows = Writer(MemoryStore(), created, seed=11).play(14).rows()
    kinds = [events.kind(events.decode(row.body)) for row in rows]
    assert kinds.count("rewarded") > 5
    return rows


@pytest.fixture(scope="module")
def rich() -> list[Row]:
    """A linear model: every reward moves the bounds of every action."""
    created = request("p", "LinHANDRAIL", "features", alpha=0.7, baseline_mean=0.3)
    rows = Writer(MemoryStore(), created, seed=12).play(30).rows()
    assert len(places(rows, Decided, explored=True)) > 10
    return rows


def test_an_honest_log_is_left_alone(log: list[Row]) -> None:
    assert audit(log).findings == []
    assert chained(decoded(log)) == log


def test_every_flipped_byte_is_found_where_it_is(log: list[Row]) -> None:
    for index, row in enumerate(log):
        for place in range(len(row.body) + len(row.hash)):
            whole = bytearray(row.body + row.hash)
            whole[place] ^= 1 << place % 8
            body, digest = bytes(whole[: len(row.body)]), bytes(whole[len(row.body) :])
            found = audit([*log[:index], row._replace(body=body, hash=digest)])
            assert found.findings[0].seq == row.seq
            assert found.events == index  # no further than the last event that is sound
            assert "altered" in found.findings[0].reason


def test_an_event_filed_under_another_round_is_found(log: list[Row]) -> None:
    for index, row in enumerate(log):
        forged = [*log[:index], row._replace(round=(row.round or 0) + 1), *log[index + 1 :]]
        assert [each.seq for each in audit(forged).findings] == [row.seq]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_events_that_were_removed(log: list[Row], length: int) -> None:
    for index in range(len(log) - length):
        forged = [*log[:index], *log[index + length :]]
        found = audit(forged).findings
        assert found[0].seq == index + length + 1
        assert "missing" in found[0].reason
        # Numbered again, the hashes tell.
        again = [row._replace(seq=i + 1) for i, row in enumerate(forged)]
        assert audit(again).findings[0].seq == index + 1


def test_events_that_were_repeated_or_swapped(log: list[Row]) -> None:
    for index, row in enumerate(log):
        repeated = [*log[: index + 1], row, *log[index + 1 :]]
        assert audit(repeated).findings[0].seq == row.seq
        again = [each._replace(seq=i + 1) for i, each in enumerate(repeated)]
        assert audit(again).findings[0].seq == index + 2
    for index in range(len(log) - 1):
        swapped = [*log[:index], log[index + 1], log[index], *log[index + 2 :]]
        again = [each._replace(seq=i + 1) for i, each in enumerate(swapped)]
        assert audit(again).findings[0].seq == index + 1


def test_a_tail_that_was_cut_off_is_found_by_a_noted_head_only(log: list[Row]) -> None:
    noted = log[-1].hash
    for index in range(1, len(log)):
        cut = audit(log[:index], frozenset({noted}))
        assert cut.findings == []
        assert cut.met == {}
    assert audit(log, frozenset({noted})).met == {noted: len(log)}
    earlier = log[6].hash
    assert audit(log, frozenset({earlier, bytes(32)})).met == {earlier: 7}


def test_an_empty_log_is_none() -> None:
    assert [each.reason for each in audit([]).findings] == ["there are no events"]


# -- forgers who write all hashes anew -------------------------------------------------------------


@pytest.mark.parametrize("field", ["margin", "upper", "lower", "floor", "mean", "promise"])
@pytest.mark.parametrize("change", [1e-6, -1e-6, 0.25])
def test_numbers_of_decisions(log: list[Row], field: str, change: float) -> None:
    for index in places(log, Decided):
        event = decoded(log)[index]
        value = getattr(event, field)
        if value is None:  # no upper bound yet
            value = 0.5
        found = forged(log, index, changed(event, **{field: value + change})).findings
        assert found[0].seq == index + 1


def test_numbers_that_are_none(rich: list[Row]) -> None:
    index = places(rich, Decided, explored=True)[3]
    event = decoded(rich)[index]
    assert isinstance(event, Decided)
    assert event.upper is not None
    for field in ("margin", "upper"):
        assert forged(rich, index, changed(event, **{field: None})).findings[0].seq == index + 1


def test_actions_and_events_of_decisions(rich: list[Row]) -> None:
    for index in places(rich, Decided):
        event = decoded(rich)[index]
        assert isinstance(event, Decided)
        for fields in (
            {"action": (event.action + 1) % 5},
            {"action": 5},
            {"action": -1},
            {"action": 2**62},
            {"event": "optimistic" if event.event == "baseline" else "baseline"},
            {"event": "bold"},
            {"round": event.round + 1},
            {"round": event.round - 1},
            {"token": "nobody"},
            {"mode": "shadow"},
            {"mode": "paused"},
            {"would": [1, "safe", 0.5]},
            {"features": [0.5]},
            {"leader": 99},
            {"safe": -1},
            {"baseline": event.action if event.event != "baseline" else 2},
            {"at": event.at - 10**12},
            {"at": 2**62},
        ):
            found = forged(rich, index, changed(event, **fields)).findings
            assert found, fields
            assert found[0].seq == index + 1, fields


def test_a_reward_that_was_altered(rich: list[Row]) -> None:
    """Every later bound rests on it; of the last ones nothing does but a noted head."""
    last = max(places(rich, Decided, explored=True))
    assert audit(rich).findings == []
    for index in places(rich, Rewarded):
        event = decoded(rich)[index]
        assert isinstance(event, Rewarded)
        reward = event.reward - 0.5 if event.reward > 0.5 else event.reward + 0.5
        altered = forged(rich, index, changed(event, reward=reward))
        if index < last:
            assert altered.findings[0].seq is not None
            assert index + 1 < altered.findings[0].seq
            assert "had to be" in altered.findings[0].reason
        else:
            assert altered.findings == []
        assert altered.head != rich[-1].hash
        for reward in (7.0, float("inf"), -1.0):
            found = forged(rich, index, Rewarded(at=event.at, round=event.round, reward=reward))
            assert found.findings[0].seq == index + 1


def test_rewards_that_were_left_out_or_made_up(rich: list[Row]) -> None:
    said = decoded(rich)
    last = max(places(rich, Decided, explored=True))
    rewarded = places(rich, Rewarded)
    for index in rewarded:
        assert bool(forged(rich, index, None).findings) == (index < last)
    first = said[rewarded[0]]
    assert isinstance(first, Rewarded)
    for number, seq in ((first.round, "it had one"), (999, "not decided"), (0, ""), (-5, "")):
        for reward in (first.reward, 1.0 - first.reward):
            made_up = Rewarded(at=said[-1].at, round=number, reward=reward)
            found = audit(chained([*said, made_up])).findings
            assert found[0].seq == len(said) + 1, seq
    held = next(each for each in said if isinstance(each, Decided) and each.event == "baseline")
    made_up = Rewarded(at=said[-1].at, round=held.round, reward=0.5)
    assert audit(chained([*said, made_up])).findings[0].seq == len(said) + 1


def test_fallbacks_only_of_rounds_that_wait(log: list[Row]) -> None:
    said = decoded(log)
    done = said[places(log, Rewarded)[0]]
    held = next(each for each in said if isinstance(each, Decided) and each.event == "baseline")
    assert isinstance(done, Rewarded)
    for number in (done.round, held.round, 999):
        fell_back = events.FellBack(at=said[-1].at, round=number)
        assert audit(chained([*said, fell_back])).findings[0].seq == len(said) + 1


@pytest.mark.parametrize(
    "forge",
    [
        lambda said: said[1:],
        lambda said: [said[0], *said],
        lambda said: [*said, said[0]],
        lambda said: [*said, events.Archived(at=said[-1].at), said[-1]],
        lambda said: [*said, events.ModeChanged(at=said[-1].at, mode="bold")],
        lambda said: [*said, events.ArmRetired(at=said[-1].at, arm=1)],
        lambda said: [*said, events.ArmRetired(at=said[-1].at, arm=-1)],
        lambda said: [*said, events.ArmRetired(at=said[-1].at, arm=10**9)],
        lambda said: [*said, events.ArmAdded(at=said[-1].at)],
        lambda said: [*said, events.ArmAdded(at=said[-1].at, name="x")],
        lambda said: [*said, events.Checkpoint(at=said[-1].at)],
        lambda said: [*said, events.Closed(at=said[-1].at, round=1)],
    ],
)
def test_events_that_cannot_have_happened(
    log: list[Row], forge: Callable[[list[Event]], list[Event]]
) -> None:
    assert audit(chained(forge(decoded(log)))).wrong > 0


@pytest.mark.parametrize("kind", [Created, Decided, Rewarded])
def test_the_same_event_in_other_bytes(log: list[Row], kind: type[Event]) -> None:
    """It would audit, and then could not be exported: a log has one way to say a thing."""
    index = places(log, kind)[-1]
    bodies = [row.body for row in log]
    fields = msgspec.msgpack.decode(bodies[index])
    whole = [int(each) if isinstance(each, float) and each % 1 == 0 else each for each in fields]
    longer = [*fields, *[None] * 40]
    for other in ([*fields, None], longer, [*longer, "more"], whole):
        bodies[index] = msgspec.msgpack.encode(other)
        if bodies[index] == log[index].body:
            continue
        found = audit(rebuilt(bodies)).findings
        assert [each.seq for each in found] == [index + 1], other
        assert "it cannot be read" in found[0].reason


def test_another_agreement(rich: list[Row]) -> None:
    """A larger alpha, a larger delta: what was decided under the agreement gives it away."""
    created = decoded(rich)[0]
    assert isinstance(created, Created)
    given = created.definition["parameters"]
    for fields in (
        {"alpha": 0.61},
        {"delta": 0.2},
        {"theta_bound": 1.4},
        {"reward_range": [0.0, 2.0]},
    ):
        definition = created.definition | {"parameters": given | fields}
        assert forged(rich, 0, changed(created, definition=definition)).wrong > 0
    for definition in (
        {},
        {"parameters": given},
        created.definition | {"name": "q"},
        created.definition | {"mode": "bold"},
        created.definition | {"more": 1},
        created.definition | {"parameters": given | {"name": "p"}},
        created.definition | {"parameters": given | {"dim": 10**9}},
        created.definition | {"parameters": given | {"features": [[1.0, 2.0], [3.0]]}},
        created.definition | {"parameters": given | {"alpha": "much"}},
        created.definition | {"parameters": given | {"more": 1}},
    ):
        found = forged(rich, 0, changed(created, definition=definition))
        assert found.findings[0].seq == 1
        assert found.book is None


def test_an_action_that_was_not_safe(log: list[Row]) -> None:
    """Forged so well that every number fits the state: the margin itself gives it away."""
    index = next(i for i in places(log, Decided) if i not in places(log, Decided, explored=True))
    before = audit(log[:index])
    assert before.book is not None
    event = decoded(log)[index]
    assert isinstance(event, Decided)
    unsafe = changed(event, action=event.leader, event="optimistic", safe=1)
    assert isinstance(unsafe, Decided)
    due = before.book.policy.examine(before.book.played(unsafe))
    assert due.margin is not None
    assert due.margin < -1e-3
    bold = changed(
        unsafe,
        margin=due.margin,
        upper=None if due.upper == float("inf") else due.upper,
        lower=due.lower,
        promise=due.promise,
    )
    found = audit(chained([*decoded(log)[:index], bold]))
    assert [each.seq for each in found.findings] == [index + 1]
    assert "was not safe" in found.findings[0].reason


def test_candidates_that_were_not_those() -> None:
    created = request("p", "CLUCB2", "dim", keep_candidates=True, baseline_mean="learned")
    log = Writer(MemoryStore(), created, seed=13).play(12).rows()
    assert audit(log).findings == []
    index = places(log, Decided)[7]
    event = decoded(log)[index]
    assert isinstance(event, Decided)
    assert isinstance(event.candidates, list)
    rows = event.candidates
    forgeries: list[dict[str, object]] = [
        {"digest": "0" * 16},
        {"digest": None},
        {"candidates": rows[::-1]},
        {"candidates": rows[:-1]},
        {"candidates": []},
        {"candidates": [[]]},
        {"candidates": [rows[0], rows[0][:-1]]},
        {"candidates": {str(i): row for i, row in enumerate(rows)}},
        {"features": [value / 2 for value in event.features or []]},
        {"features": (event.features or [])[:-1]},
        {"features": [1e200, 1e200, 1e200]},
        {"features": None},
    ]
    for fields in forgeries:
        found = forged(log, index, changed(event, **fields)).findings
        assert [each.seq for each in found] == [index + 1], fields


def test_rounding_is_no_forgery(log: list[Row]) -> None:
    """Another machine's last bits: a thousand times what they come to is let pass."""
    said = decoded(log)
    for index in places(log, Decided):
        event = said[index]
        assert isinstance(event, Decided)
        assert event.margin is not None
        said[index] = changed(event, margin=event.margin + 4e-13, lower=event.lower - 4e-13)
    assert audit(chained(said)).findings == []


def test_no_more_findings_are_kept_than_somebody_reads(log: list[Row]) -> None:
    said = [
        changed(each, lower=each.lower - 0.1, upper=7.0, promise=0.9)
        if isinstance(each, Decided)
        else each
        for each in decoded(log)
    ]
    found = audit(chained(said))
    assert len(found.findings) == 20
    assert found.wrong > 20


def test_what_a_guards_answer_was_called() -> None:
    """The caller plays what is named, so a name that is not the event's is an unsafe answer."""
    created = request("p", "GUARD", "guard", alpha=0.6, baseline_mean=0.3)
    rows = Writer(MemoryStore(), created, seed=14).play(20).rows()
    assert audit(rows).findings == []
    for index in places(rows, Decided):
        event = decoded(rows)[index]
        assert isinstance(event, Decided)
        baseline = created.baseline if event.baseline is None else event.baseline
        other = "risky" if event.event == "baseline" else baseline
        found = forged(rows, index, changed(event, named=other)).findings
        assert [each.seq for each in found][:1] == [index + 1]


def test_who_led_and_how_many_were_safe(rich: list[Row]) -> None:
    for index in places(rich, Decided, explored=True):
        event = decoded(rich)[index]
        assert isinstance(event, Decided)
        kind = "safe" if event.event == "optimistic" else "optimistic"
        for fields in ({"event": kind}, {"safe": 0}, {"leader": (event.action + 1) % 5}):
            if fields == {"leader": event.leader} or ("leader" in fields and event.event == "safe"):
                continue
            found = forged(rich, index, changed(event, **fields)).findings
            assert [each.seq for each in found][:1] == [index + 1], fields
