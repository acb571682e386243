"""Logs of version 1 load, audit, export and go on; what version 2 adds is said, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import InputError
from handrail.policies.identity import parse_id
from handrail.service import commands, outcomes
from handrail.service.audit import Audit
from handrail.service.book import Book
from handrail.service.chain import START, link
from handrail.service.definition import LOG_VERSION
from handrail.service.events import (
    Created,
    Decided,
    Event,
    Rewarded,
    Upgraded,
    decode,
    encode,
    from_json,
    later_fields,
    reserved,
    to_json,
)
from handrail.service.limits import Limits
from handrail.service.logfile import header_line, header_of, line_of, read_rows, whole_header
from handrail.service.messages import CreateRequest, DecideRequest, RewardRequest
from handrail.service.session import Session
from handrail.service.shelf import Shelf, load
from handrail.service.sources import DatabaseSource
from handrail.service.statement import make_statement
from handrail.service.store.protocol import Row
from handrail.service.transfer import export_log, import_log
from memory_store import MemoryStore
from service_logs import START as FIRST
from service_logs import Writer, request, rows

OLD = sorted((Path(__file__).parent / "data").glob("*-1.ndjson"))
"""Logs that the first release wrote: a window with a default, told means, contexts."""


def imported(path: Path) -> MemoryStore:
    store = MemoryStore()
    import_log(path, store, FIRST + 10**9)
    return store


def audited(log: list[Row]) -> Audit:
    return Audit("p").run(log)


def go_on(store: MemoryStore, name: str, rounds: int, by: str | None = None) -> list[Any]:
    """Decide rounds and reward them, as a server that started on this database would."""
    shelf, answers = Shelf(10), []
    for number in range(rounds):
        with store.writing() as log:
            session = Session(log, shelf, Limits(), FIRST + 10**9 + number, shared=False)
            session.by = by
            book = session.book("p")
            (answer,) = commands.decide_all(session, book, [asked(book)])
            answers.append(answer)
            if answer.awaits_reward:
                told = [RewardRequest(decision=answer.id, reward=1.0)]
                outcomes.reward_all(session, book, told, batch=False)
            session.flush()
    return answers


def asked(book: Book) -> DecideRequest:
    if book.guard:
        return DecideRequest(proposal="new", baseline="old", baseline_mean=0.3)
    if book.varies:
        return DecideRequest(features=[[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], baseline=1)
    return DecideRequest()


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_an_old_log_goes_on(path: Path, tmp_path: Path) -> None:
    store = imported(path)
    old = rows(store, "p")
    first = audited(old)
    assert first.findings == []
    statement = make_statement(first)
    assert statement is not None
    assert any("log version 1's rule" in each for each in statement.assumptions)
    with store.reading() as reader:
        assert load(reader, 1).version == 1
    credited = "a fallback because of no answer is credited the baseline's mean"
    assert sum(each.startswith(credited) for each in statement.assumptions) == 1
    # The file of an old log is the same after a round trip through this release, which an old
    # release can take back; when the log has gone on it cannot.
    export_log(DatabaseSource(store), "p", tmp_path / "again.ndjson")
    assert (tmp_path / "again.ndjson").read_bytes() == path.read_bytes()
    go_on(store, "p", 8)
    export_log(DatabaseSource(store), "p", tmp_path / "on.ndjson")
    assert whole_header(tmp_path / "on.ndjson").version == LOG_VERSION
    export_log(DatabaseSource(store), "p", tmp_path / "before.ndjson", until=len(old))
    assert (tmp_path / "before.ndjson").read_bytes() == path.read_bytes()
    log = rows(store, "p")
    assert log[: len(old)] == old
    (upgraded,) = [each for each in map(decode_row, log) if isinstance(each, Upgraded)]
    assert decode_row(log[len(old)]) == upgraded
    assert upgraded.version == LOG_VERSION
    assert audited(log).findings == []
    with store.reading() as reader:
        folded = load(reader, 1)
    assert folded.policy._settings.edition == 1  # it keeps the rule it was made with
    assert folded.version == LOG_VERSION
    assert folded.may_override is None


def decode_row(row: Row) -> Event:
    return decode(row.body)


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_ids_handed_out_before_stay_valid(path: Path) -> None:
    store = imported(path)
    with store.writing() as log:
        session = Session(log, Shelf(10), Limits(), FIRST + 10**9, shared=False)
        book = session.book("p")
        number = book.policy.oldest_waiting()
        id = book.policy.waiting_id(number)
        assert id is not None
        assert len(parse_id(id).copy) == 8
        told = [RewardRequest(decision=id, reward=0.5)]
        (answer,) = outcomes.reward_all(session, book, told, batch=False)
        assert answer.status in ("learned", "waiting")


def test_who_has_seen_an_id_can_guess_no_other() -> None:
    """One tag of 64 random bits for each decision; a reward key plus a seen id is not enough."""
    store = MemoryStore()
    created = request("p", "HANDRAIL", "arms", alpha=0.9, window=50, default_reward=0.0)
    Writer(store, created, seed=3).play(30, rewards=False)
    with store.writing() as log:
        session = Session(log, Shelf(10), Limits(), FIRST + 10**9, shared=False)
        book = session.book("p")
        ids = [book.policy.waiting_id(number) for number in book.policy._state.open]
        tags = {parse_id(id).copy for id in ids if id is not None}
        assert len(tags) == len(ids) >= 2
        seen, other = (parse_id(id) for id in ids[:2] if id is not None)
        forged = f"{seen.policy}-{seen.copy}-{other.round}-r"
        before = session.book("p").seq
        told = [RewardRequest(decision=forged, reward=1.0)]
        (answer,) = outcomes.reward_all(session, book, told, batch=True)
        assert answer.status == "unknown"
        (word,) = outcomes.played_all(session, book, [forged])
        assert word.status == "unknown"
        assert book.seq == before


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("wrong", [{"reward": 3.0}, {"decision": "none"}])
def test_what_was_played_is_taken_where_the_reward_is_refused(
    batch: bool, wrong: dict[str, Any]
) -> None:
    """Else word would depend on rewards: nobody says again what was said with a bad one."""
    store = MemoryStore()
    created = request("p", "HANDRAIL", "arms", alpha=0.9, window=50, default_reward=0.0)
    Writer(store, created, seed=3).play(30, rewards=False)
    with store.writing() as log:
        session = Session(log, Shelf(10), Limits(), FIRST + 10**9, shared=False)
        book = session.book("p")
        number = next(iter(book.policy._state.open))
        id = book.policy.waiting_id(number)
        assert id is not None
        given: dict[str, Any] = {"decision": id, "reward": 1.0} | wrong
        told = [RewardRequest(**given)]
        with pytest.raises(InputError):  # an id of `played` that is none refuses it all
            outcomes.reward_all(session, book, told, batch, played=[id, "none"])
        assert not book.policy.said_played(number)
        with pytest.raises(InputError) as caught:
            outcomes.reward_all(session, book, told, batch, played=[id])
        assert caught.value.field == ("rewards[0]." if batch else "") + next(iter(wrong))
        assert book.policy.said_played(number)
        assert book.policy.waiting_reward(number) is None


def test_every_event_says_whose_key_caused_it() -> None:
    store = MemoryStore()
    shelf = Shelf(10)
    with store.writing() as log:
        session = Session(log, shelf, Limits(), FIRST, shared=False)
        session.by = "0a1b2c3d"
        created = CreateRequest(
            name="p", algorithm="HANDRAIL", arms=3, baseline=0, baseline_mean=0.5, alpha=0.5,
            delta=0.1, reward_range=(0.0, 1.0),
        )  # fmt: skip
        commands.create(session, created)
        session.flush()
    go_on(store, "p", 6, by="44556677")
    said = [decode_row(row) for row in rows(store, "p")]
    assert [each.by for each in said] == ["0a1b2c3d", *["44556677"] * (len(said) - 1)]
    assert any(isinstance(each, Rewarded) for each in said)


AGREED: dict[str, Any] = {
    "algorithm": "GUARD",
    "baseline": "old",
    "baseline_mean": 0.5,
    "alpha": 0.1,
    "delta": 0.05,
    "reward_range": (0.0, 1.0),
}


def opened(**changes: Any) -> tuple[MemoryStore, Shelf]:
    store, shelf = MemoryStore(), Shelf(10)
    with store.writing() as log:
        session = Session(log, shelf, Limits(), FIRST, shared=False)
        commands.create(session, CreateRequest(name="p", **{**AGREED, **changes}))
        session.flush()
    return store, shelf


def decided(store: MemoryStore, shelf: Shelf, **given: Any) -> str:
    with store.writing() as log:
        session = Session(log, shelf, Limits(), FIRST + 10**6, shared=False)
        book = session.book("p")
        (answer,) = commands.decide_all(session, book, [DecideRequest(proposal="new", **given)])
        session.flush()
    return answer.event


def test_a_decide_key_cannot_lower_what_was_agreed() -> None:
    """With a mean of 0 told every round nothing is owed, and the proposal is always played."""
    store, shelf = opened()
    for given in ({"baseline_mean": 0.0}, {"baseline": "worse", "baseline_mean": 0.1}):
        before = rows(store, "p")
        with pytest.raises(InputError, match="was agreed on when the policy was made"):
            decided(store, shelf, **given)
        assert rows(store, "p") == before
    assert decided(store, shelf, baseline="old", baseline_mean=0.5) == "baseline"  # is no other
    assert decided(store, shelf) == "baseline"


def test_what_may_be_overridden_is_in_the_log_and_in_the_statement() -> None:
    store, shelf = opened(may_override=["baseline_mean"])
    assert decided(store, shelf, baseline_mean=0.0) == "optimistic"
    with pytest.raises(InputError, match="baseline: was agreed on"):
        decided(store, shelf, baseline="worse", baseline_mean=0.1)
    log = rows(store, "p")
    event = decode_row(log[-1])
    assert isinstance(event, Decided)
    assert (event.told, event.overrides) == (0.0, ["baseline_mean"])
    statement = make_statement(audited(log))
    assert statement is not None
    assert statement.told_rounds == 1
    assert any("overrode it, as told by callers" in each for each in statement.assumptions)
    # A log in which leave was forged, or the override left out, is found.
    created = decode_row(log[0])
    assert isinstance(created, Created)
    no_leave = msgspec.structs.replace(
        created, definition={**created.definition, "may_override": []}
    )
    changes: list[dict[int, Event]] = [
        {0: no_leave},
        {1: msgspec.structs.replace(event, overrides=None)},
        {1: msgspec.structs.replace(event, told=None, overrides=None)},
        {1: msgspec.structs.replace(event, told=0.25)},
    ]
    for change in changes:
        found = audited(relinked(log, change)).findings
        assert found[0].seq == 2, change


def relinked(log: list[Row], change: dict[int, Event]) -> list[Row]:
    head, result = START, []
    for index, row in enumerate(log):
        body = encode(change[index]) if index in change else row.body
        head = link(head, body)
        result.append(row._replace(body=body, hash=head))
    return result


def test_means_that_callers_tell_every_round_are_called_so() -> None:
    store, shelf = opened(baseline_mean=None)
    decided(store, shelf, baseline_mean=0.4)
    statement = make_statement(audited(rows(store, "p")))
    assert statement is not None
    assert any("means as told by callers" in each for each in statement.assumptions)
    event = decode_row(rows(store, "p")[-1])
    assert isinstance(event, Decided)
    assert (event.told, event.overrides) == (0.4, None)


def test_one_mean_that_is_learned_cannot_be_overridden() -> None:
    with pytest.raises(InputError, match="may_override"):
        opened(baseline_mean="learned", may_override=["baseline_mean"])


def test_what_this_release_does_not_know_is_not_folded() -> None:
    store, _ = opened()
    created = decode_row(rows(store, "p")[0])
    assert isinstance(created, Created)
    for later in (changed(created, credit=1.0), changed(created, metrics={"cost": {}})):
        assert audited(relinked(rows(store, "p"), {0: later})).findings
    go_on_store, shelf = opened()
    decided(go_on_store, shelf)
    log = rows(go_on_store, "p")
    event = decode_row(log[1])
    for other in (changed(event, allowed=["old"]), changed(event, propensity=0.5)):
        assert reserved(other) is not None
        assert audited(relinked(log, {1: other})).findings[0].seq == 2


@pytest.mark.parametrize("field", ["unit", "horizon", "guardrails"])
def test_a_parameter_of_a_later_release_asks_for_that_release(field: str, tmp_path: Path) -> None:
    """Nothing is wrong with such a log, and to export it again would not help."""
    store, _ = opened()
    created = decode_row(rows(store, "p")[0])
    assert isinstance(created, Created)
    assert created.parts is not None
    parameters = {**created.definition["parameters"], field: 1}
    parts = {**created.parts, "parameters": {**created.parts["parameters"], field: 1}}
    for later in (
        changed(created, definition={**created.definition, "parameters": parameters}),
        changed(created, definition={**created.definition, field: 1}),
        changed(created, parts=parts),
    ):
        assert isinstance(later, Created)
        log = relinked(rows(store, "p"), {0: later})
        (found,) = audited(log).findings
        assert f"{field}: is not known to this handrail; upgrade handrail" in found.reason
        with pytest.raises(InputError, match=f"{field}: is not known to this handrail"):
            Book(later)
        file = written(tmp_path / "p.ndjson", [line_of(row) for row in log], log[-1].hash)
        with pytest.raises(InputError) as caught:
            import_log(file, MemoryStore(), FIRST)
        assert caught.value.reason == f"line 2: {field}: is not known to this handrail"
        assert caught.value.remedy == "upgrade handrail"


def test_rules_of_a_later_edition_ask_for_a_later_release() -> None:
    store, _ = opened()
    created = decode_row(rows(store, "p")[0])
    assert isinstance(created, Created)
    assert created.parts is not None
    later = changed(created, parts={**created.parts, "edition": 3})
    (found,) = audited(relinked(rows(store, "p"), {0: later})).findings
    assert "edition: is not known to this handrail; upgrade handrail" in found.reason


@pytest.mark.parametrize("kind", ["taught", "watch"])
def test_a_kind_of_a_later_release_asks_for_that_release(kind: str, tmp_path: Path) -> None:
    store, _ = opened()
    (first,) = rows(store, "p")
    body = msgspec.msgpack.encode([kind, FIRST + 10, 0, 1.0])
    row = Row(2, None, body, link(first.hash, body))
    (found,) = audited([first, row]).findings
    said = f"the kind {kind!r} is not known to this handrail"
    assert (found.seq, found.reason) == (2, f"it cannot be read: {said}; upgrade handrail")
    event = {"kind": kind, "at": FIRST + 10, "action": 0, "reward": 1.0}
    line = msgspec.json.encode({"seq": 2, "hash": row.hash.hex(), "event": event})
    file = written(tmp_path / "p.ndjson", [line_of(first), line + b"\n"], row.hash)
    with pytest.raises(InputError) as caught:
        import_log(file, MemoryStore(), FIRST)
    assert (caught.value.reason, caught.value.remedy) == (f"line 3: {said}", "upgrade handrail")
    (found,) = Audit("p").run(read_rows(file)).findings
    assert found.reason.endswith(f"line 3: {said}; upgrade handrail")
    # A kind that nobody ever spoke of is damage.
    other = msgspec.msgpack.encode(["tought", FIRST + 10])
    (found,) = audited([first, Row(2, None, other, link(first.hash, other))]).findings
    assert "upgrade" not in found.reason


def written(path: Path, lines: list[bytes], head: bytes) -> Path:
    """Write the file of a whole log."""
    path.write_bytes(b"".join([header_line(header_of("p", len(lines), head)), *lines]))
    return path


def changed(event: Event, **fields: Any) -> Event:
    result: Event = msgspec.structs.replace(event, **fields)
    return result


def test_events_of_version_1_keep_their_bytes_and_those_of_version_2_lose_nothing() -> None:
    store, shelf = opened(may_override=["baseline_mean"])
    decided(store, shelf, baseline_mean=0.25)
    new = [decode_row(row) for row in rows(store, "p")]
    for event in new:
        assert later_fields(event)
        assert encode(from_json(msgspec.json.decode(msgspec.json.encode(to_json(event))))) == (
            encode(event)
        )
    for path in OLD:
        for row in rows(imported(path), "p"):
            event = decode(row.body)
            assert not later_fields(event)
            assert encode(event) == row.body


def test_a_log_of_version_1_says_nothing_of_version_2() -> None:
    log = rows(imported(OLD[0]), "p")
    last = decode_row(log[-1])
    for event in (changed(last, by="0a1b2c3d"), Upgraded(at=last.at, version=9, handrail="")):
        found = audited(relinked(log, {len(log) - 1: event})).findings
        assert found[0].seq == len(log)
