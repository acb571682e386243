"""Hostile logs: whatever is in them, the import and the audit say so, and nothing else happens."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handrail import InputError
from handrail.service import events
from handrail.service.audit import Audit
from handrail.service.chain import START, link
from handrail.service.logfile import header_line, header_of, line_of
from handrail.service.review import review
from handrail.service.sources import FileSource
from handrail.service.statement import make_statement
from handrail.service.store.protocol import Row
from handrail.service.transfer import import_log
from memory_store import MemoryStore
from service_logs import START as BEGIN
from service_logs import Writer, request, rows

KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("CUCB2", "arms", {"window": 5}),
    ("LinHANDRAIL", "dim", {"baseline_mean": "learned"}),
    ("LinHANDRAIL", "features", {"alpha": 0.7}),
    ("GUARD", "guard", {"alpha": 0.7}),
    ("LinUCB", "dim", {}),
]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.integers(-3, 12)
    | st.floats()
    | st.floats(-2.0, 2.0)
    | st.text(max_size=8)
    | st.sampled_from(["baseline", "optimistic", "safe", "live", "shadow", "paused"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


MADE_UP: st.SearchStrategy[events.Event] = st.one_of(
    *(
        st.from_type(kind)
        for kind in (
            *(events.Decided, events.Rewarded, events.FellBack, events.Closed, events.ModeChanged),
            *(events.ArmAdded, events.ArmRetired, events.Checkpoint, events.Archived),
        )
    )
)


@cache
def documents(kind: int) -> list[dict[str, Any]]:
    name, setting, changes = KINDS[kind]
    created = request("p", name, setting, **changes)
    log = Writer(MemoryStore(), created, seed=31).play(12).rows()
    return [events.to_json(events.decode(row.body)) for row in log]


def file_of(said: list[dict[str, Any]]) -> bytes:
    """Return the file of a log, with hashes that are right as far as there are any."""
    lines, head = [], START
    for position, document in enumerate(said):
        try:
            event = events.from_json(document)
            body = events.encode(event)
            head = link(head, body)
            row = Row(position + 1, events.round_of(event), body, head)
            lines.append(line_of(row))
        except (msgspec.MsgspecError, InputError, OverflowError, TypeError, ValueError):
            line = {"seq": position + 1, "hash": "00" * 32, "event": document}
            lines.append(json.dumps(line).encode() + b"\n")
    return header_line(header_of("p", len(said), head)) + b"".join(lines)


def survive(folder: Path, content: bytes) -> bool:
    """Import a file and audit it: clean errors only; say whether it was imported."""
    path = folder / "log.ndjson"
    path.write_bytes(content)
    store = MemoryStore()
    empty = store.content
    problem = ""
    try:
        import_log(path, store, BEGIN)
    except InputError as error:
        problem = str(error)
    imported = not problem
    assert "\n" not in problem
    assert imported == (store.content is not empty)
    try:
        found, logs = review(FileSource(path))
    except InputError:
        assert not imported
        return False
    assert found.holds == (logs[0].audit.wrong == 0)
    assert msgspec.json.encode(logs[0].data())
    if logs[0].statement is not None:
        assert logs[0].statement.sentences()
    if imported:
        assert len(rows(store, "p")) == logs[0].audit.events
    else:
        assert not found.holds
    return imported


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_what_is_left_alone_is_imported(folder: Path, kind: int) -> None:
    assert survive(folder, file_of(documents(kind)))


@settings(max_examples=100)
@given(st.data())
def test_bytes(folder: Path, data: st.DataObject) -> None:
    content = bytearray(file_of(documents(0)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        action = data.draw(st.sampled_from(["flip", "cut", "insert", "remove", "copy"]))
        if action == "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        elif action == "cut":
            del content[max(place, 1) :]
        elif action == "insert":
            content[place:place] = data.draw(st.binary(min_size=1, max_size=12))
        elif action == "remove":
            del content[place : place + data.draw(st.integers(1, 30))]
            content = content or bytearray(b"x")
        else:
            content[place:place] = content[place : place + data.draw(st.integers(1, 400))]
    survive(folder, bytes(content))


@settings(max_examples=100)
@given(st.data())
def test_lines(folder: Path, data: st.DataObject) -> None:
    """Removed, repeated and swapped, with the hashes that were there or with new ones."""
    said = list(documents(data.draw(st.integers(0, len(KINDS) - 1))))
    for _ in range(data.draw(st.integers(1, 3))):
        one = data.draw(st.integers(0, len(said) - 1))
        other = data.draw(st.integers(0, len(said) - 1))
        action = data.draw(st.sampled_from(["remove", "repeat", "swap"]))
        if action == "remove" and len(said) > 1:
            del said[one]
        elif action == "repeat":
            said.insert(other, said[one])
        else:
            said[one], said[other] = said[other], said[one]
    survive(folder, file_of(said))


@settings(max_examples=200)
@given(st.data())
def test_fields(folder: Path, data: st.DataObject) -> None:
    """Any value in any field, and all hashes written anew: only the fold can tell."""
    said = [dict(each) for each in documents(data.draw(st.integers(0, len(KINDS) - 1)))]
    for _ in range(data.draw(st.integers(1, 3))):
        document = said[data.draw(st.integers(0, len(said) - 1))]
        field = data.draw(st.sampled_from(sorted(document)))
        document[field] = data.draw(ANYTHING)
    survive(folder, file_of(said))


@settings(max_examples=120)
@given(st.data())
def test_definitions(folder: Path, data: st.DataObject) -> None:
    """Any value in any parameter of the definition."""
    said = [dict(each) for each in documents(data.draw(st.integers(0, len(KINDS) - 1)))]
    parameters = dict(said[0]["definition"]["parameters"])
    known = [*parameters, "checkpoint_gap", "checkpoints", "arms_ever", "true_means", "width"]
    for _ in range(data.draw(st.integers(1, 2))):
        parameters[data.draw(st.sampled_from(known))] = data.draw(ANYTHING)
    said[0]["definition"] = said[0]["definition"] | {"parameters": parameters}
    survive(folder, file_of(said))


@given(st.binary(max_size=200))
@example(b"\x94\xa6closed\x05\x05\xa3\xbf--")  # text that is no UTF-8
@example(b"\x92\xa6taught\xa3\xbf--")
def test_decoding(body: bytes) -> None:
    try:
        event = events.decode(body)
    except msgspec.MsgspecError:
        return
    assert events.decode(events.encode(event)) == event


@settings(max_examples=100)
@given(st.data())
def test_made_up_events(data: st.DataObject) -> None:
    """Events of the right form with any content, one after the other: the audit stands it."""
    said = [events.from_json(each) for each in documents(data.draw(st.integers(0, len(KINDS) - 1)))]
    kept = said[: data.draw(st.integers(1, len(said)))]
    made = data.draw(st.lists(MADE_UP, max_size=4))
    head, log = START, []
    for position, event in enumerate([*kept, *made]):
        try:
            body = events.encode(event)
        except (OverflowError, UnicodeEncodeError):
            return  # which no log can hold
        head = link(head, body)
        log.append(Row(position + 1, events.round_of(event), body, head))
    audit = Audit("p").run(log)
    assert audit.events >= len(kept)
    assert make_statement(audit) is not None
