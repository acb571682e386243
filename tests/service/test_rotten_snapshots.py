"""Snapshots whose bytes rot, or that do not fit their log: they are not used, and it is said."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from handrail.service.audit import Audit
from handrail.service.shelf import load
from handrail.service.snapshots import restore, take
from handrail.service.store.protocol import SnapshotRow
from memory_store import MemoryStore
from service_logs import FRUIT, Writer, fruit


@pytest.fixture(scope="module")
def snapped() -> tuple[MemoryStore, SnapshotRow]:
    """A log, and a good snapshot in the middle of it."""
    store = MemoryStore()
    writer = Writer(store, fruit("p"), 3).play(20)
    with store.reading() as reader:
        good = take(load(reader, 1))
    writer.play(10)
    return store, good


def flips(good: SnapshotRow) -> Iterator[SnapshotRow]:
    """Each byte of the names and of what is around them flipped, and many others."""
    first = good.body.index(b"apple") - 10
    places = {*range(first, first + 60), *random.Random(4).sample(range(len(good.body)), 300)}
    for place in sorted(places):
        body = bytearray(good.body)
        body[place] ^= 1 << place % 8
        yield good._replace(body=bytes(body))


def test_a_snapshot_with_a_flipped_byte_is_not_used(
    snapped: tuple[MemoryStore, SnapshotRow], caplog: pytest.LogCaptureFixture
) -> None:
    store, good = snapped
    with store.reading() as reader:
        folded = load(reader, 1)
    first = folded.policy.to_bytes()
    for wrong in flips(good):
        store.content.pictures[1] = [wrong]
        with store.reading() as reader:
            book = load(reader, 1)
        assert (book.saved, book.names) == (0, FRUIT)
    assert book.policy.to_bytes() == first
    assert "a snapshot of 'p' is damaged" in caplog.text
    store.content.pictures[1] = [good]
    with store.reading() as reader:
        assert load(reader, 1).saved == good.seq
    store.content.pictures[1] = [good._replace(body=good.body[:-1])]
    with store.reading() as reader:
        assert load(reader, 1).saved == 0


def test_a_snapshot_is_of_its_event(snapped: tuple[MemoryStore, SnapshotRow]) -> None:
    """Filed under another event, whose hash it is told, it is no snapshot."""
    store, good = snapped
    row = store.content.logs[1][good.seq]
    with store.reading() as reader:
        event = load(reader, 1)
    moved = SnapshotRow(row.seq, row.hash, good.body)
    first = next(iter(store.content.logs[1]))
    from handrail.service.events import Created, decode

    begun = decode(first.body)
    assert isinstance(begun, Created)
    assert restore(begun, good) is not None
    assert restore(begun, moved) is None
    assert event.seq > row.seq


def test_an_audit_names_a_damaged_snapshot(snapped: tuple[MemoryStore, SnapshotRow]) -> None:
    store, good = snapped
    log = store.content.logs[1]
    assert Audit("p", snapshots=[good]).run(log).findings == []
    wrong = list(flips(good))[5]
    (found,) = Audit("p", snapshots=[wrong]).run(log).findings
    assert (found.seq, found.reason) == (
        good.seq,
        "the snapshot after it is damaged: nobody uses it",
    )


def test_a_snapshot_that_does_not_fit_its_log_is_a_finding(
    snapped: tuple[MemoryStore, SnapshotRow], caplog: pytest.LogCaptureFixture
) -> None:
    store, good = snapped
    log = store.content.logs[1]
    other = good._replace(hash=bytes(32))
    for length, snapshot, place, reason in (
        (len(log), other, good.seq, "is of another event"),
        (
            good.seq - 1,
            good,
            None,
            f"taken after event {good.seq}: its tail is lost",
        ),
        (len(log), good._replace(body=b""), good.seq, "is damaged"),
        (len(log), good._replace(body=b"\1" + good.body[1:]), good.seq, "is damaged"),
    ):
        (found,) = Audit("p", snapshots=[snapshot]).run(log[:length]).findings
        assert found.seq == place
        assert reason in found.reason
        caplog.clear()
        content = MemoryStore()
        content.content.names["p"], content.content.logs[1] = 1, log[:length]
        content.content.pictures[1] = [snapshot]
        with content.reading() as reader:
            assert load(reader, 1).saved == 0
        (line,) = caplog.records
        assert line.levelname == "ERROR"
        assert "'p'" in line.getMessage()


def test_snapshots_of_the_release_before_are_passed_over(
    snapped: tuple[MemoryStore, SnapshotRow], caplog: pytest.LogCaptureFixture
) -> None:
    """They have no checksum: the log is folded instead, once, and nothing is wrong."""
    store, good = snapped
    old = good._replace(body=good.body[33:].replace(b"version\x02", b"version\x01"))
    assert old.body[0] == 0x83  # a map of three: version, state and policy
    store.content.pictures[1] = [old]
    with store.reading() as reader:
        assert load(reader, 1).saved == 0
    assert Audit("p", snapshots=[old]).run(store.content.logs[1]).findings == []
    assert "damaged" not in caplog.text
