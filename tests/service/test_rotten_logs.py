"""Bytes that rot and tails that are lost: in snapshots, in old events, in copies and at the end."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from children import child, line
from handrail.cli import main
from handrail.errors import InputError
from handrail.service.audit import Audit
from handrail.service.desk import Desk
from handrail.service.heads import read_heads
from handrail.service.limits import Limits
from handrail.service.logs import JsonLines
from handrail.service.messages import CreateRequest, DecideRequest
from handrail.service.problems import Problem
from handrail.service.shelf import load
from handrail.service.snapshots import restore, take
from handrail.service.store.backup import back_up
from handrail.service.store.backup import restore as put_back
from handrail.service.store.open import open_store
from handrail.service.store.protocol import SnapshotRow
from memory_store import MemoryStore
from service_logs import Writer

ARMS = ["apple", "banana", "cherry"]


def created(name: str) -> CreateRequest:
    return CreateRequest(
        name=name,
        algorithm="HANDRAIL",
        arms=ARMS,
        baseline="apple",
        baseline_mean=0.4,
        alpha=0.5,
        delta=0.1,
        reward_range=(0.0, 1.0),
    )


# -- snapshots -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def snapped() -> tuple[MemoryStore, SnapshotRow]:
    """A log, and a good snapshot in the middle of it."""
    store = MemoryStore()
    writer = Writer(store, created("p"), 3).play(20)
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
        assert (book.saved, book.names) == (0, ARMS)
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


# -- events older than the snapshot ----------------------------------------------------------------


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def started_until(database: Path, true: Callable[[], bool]) -> None:
    """Start on a database, and stop when something is true."""

    async def story() -> None:
        store = open_store(str(database), exclusive=True)
        desk = Desk(store)
        await desk.start()
        await eventually(true)
        await desk.stop(30.0)
        store.close()

    asyncio.run(story())


async def status(desk: Desk, name: str) -> int:
    try:
        await desk.decide(name, [DecideRequest()])
    except Problem as problem:
        return problem.status if "damaged" in problem.reason else 0
    return 200


def change(path: Path, *statements: str) -> None:
    """Change a file behind handrail's back."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


ROTTEN = [
    "UPDATE events SET body = zeroblob(length(body)) WHERE policy = 1 AND seq = 7",
    "UPDATE events SET hash = zeroblob(32) WHERE policy = 1 AND seq = 7",
    "DELETE FROM events WHERE policy = 1 AND seq = 7",
]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two policies, each with a snapshot of its last event."""
    path = tmp_path / "log.db"

    async def story() -> None:
        store = open_store(str(path), exclusive=True)
        desk = Desk(store, limits=Limits(snapshot_every=10))
        await desk.start()
        for name in ("bad", "good"):
            await desk.create(created(name))
            for _ in range(19):
                await desk.decide(name, [DecideRequest()])
        await desk.stop(30.0)
        store.close()

    asyncio.run(story())
    return path


@pytest.mark.parametrize("rotten", ROTTEN)
def test_a_rotten_event_before_the_snapshot_stops_its_policy(
    database: Path, rotten: str, caplog: pytest.LogCaptureFixture
) -> None:
    back_up(str(database), database.with_name("copy.db"))
    put_back(database.with_name("copy.db"), str(database))  # with heads of its own
    change(database, rotten)
    caplog.set_level(logging.INFO, "handrail.service")

    async def story() -> None:
        store = open_store(str(database), exclusive=True)
        desk = Desk(store)
        await desk.start()
        await eventually(lambda: "some do not follow their hashes" in caplog.text)
        assert desk.damaged == 1
        assert await status(desk, "bad") == 503
        assert await status(desk, "good") == 200
        assert desk.ready
        await desk.stop(30.0)
        store.close()

    asyncio.run(story())
    assert "the log of 'bad' is damaged: event " in caplog.text
    assert "'good'" not in caplog.text
    assert "no such policy" not in caplog.text


def test_sound_logs_are_left_alone_while_they_grow(
    database: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.service.verify._PAGE", 3)
    caplog.set_level(logging.INFO, "handrail.service")

    async def story() -> None:
        store = open_store(str(database), exclusive=True)
        desk = Desk(store)
        await desk.start()
        while "follow their hashes" not in caplog.text:
            assert await status(desk, "bad") == 200
        assert desk.damaged == 0
        await desk.stop(30.0)
        store.close()

    asyncio.run(story())


# -- copies ----------------------------------------------------------------------------------------


def test_a_copy_notes_where_its_logs_end(
    database: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    back_up(str(database), copy)
    noted = read_heads(copy)
    assert [(head.policy, head.seq) for head in noted] == [("bad", 20), ("good", 20)]
    assert main(["audit", str(database), "--heads", str(copy)]) == 0
    assert "compared with 1 noted head, up to event 20" in capfd.readouterr().out.replace(
        "\n    ", " "
    )
    change(database, "DELETE FROM events WHERE policy = 2 AND seq > 15")
    assert main(["audit", str(database), "--heads", str(copy)]) == 1
    assert "it ends with event 15, and event 20 was noted" in capfd.readouterr().out
    # A copy that lost a tail is noticed by itself, and so is a database that was restored from it.
    put_back(copy, str(database))
    assert main(["audit", str(database)]) == 0
    assert "compared with 1 noted head" in capfd.readouterr().out
    for path in (database, copy):
        change(path, "DELETE FROM events WHERE policy = 2 AND seq > 15")
    assert main(["audit", str(database)]) == 1
    with pytest.raises(InputError, match="event 20 of 'good'"):
        put_back(copy, str(database))


CUT = "DELETE FROM events WHERE policy = 2 AND seq > 15"
NO_SNAPSHOTS = "DELETE FROM snapshots"


@pytest.mark.parametrize("known", ["heads", "snapshots"])
def test_a_lost_tail_of_which_the_database_knows(
    database: Path,
    tmp_path: Path,
    known: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """By the heads of the copy it was restored from, or by a snapshot of a later event."""
    copy = tmp_path / "copy.db"
    back_up(str(database), copy)
    content = copy.read_bytes()
    if known == "heads":
        put_back(copy, str(database))
        change(database, CUT, NO_SNAPSHOTS)
    else:
        change(database, CUT)
    assert main(["audit", str(database)]) == 1
    assert "it ends with event 15, and " in capfd.readouterr().out
    with pytest.raises(InputError, match="event 20 of 'good' is not in its log, and "):
        back_up(str(database), copy)
    assert copy.read_bytes() == content  # the good copy stays
    started_until(database, lambda: "event 20 of 'good' is not in its log, and " in caplog.text)
    (said,) = (each for each in caplog.records if "event 20 of 'good'" in each.getMessage())
    assert said.levelname == "ERROR"
    assert "'bad'" not in caplog.text


def test_policies_that_are_gone_are_noticed_at_the_start(
    database: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = tmp_path / "copy.db"
    back_up(str(database), copy)
    put_back(copy, str(database))
    change(database, "DELETE FROM policies WHERE number = 1")
    started_until(database, lambda: "number 1" in caplog.text)
    assert "heads of 'bad' were noted, and there is no such policy" in caplog.text
    assert "there are events of policy number 1, and there is no such policy" in caplog.text


@pytest.mark.parametrize(
    "heads",
    [
        "CREATE TABLE heads (number INTEGER)",
        "CREATE TABLE heads AS SELECT 1 AS policy, 2 AS seq, 3 AS hash",
        "CREATE TABLE heads AS SELECT 'good' AS policy, 0 AS seq, zeroblob(32) AS hash",
        "CREATE TABLE heads AS SELECT 'good' AS policy, 5 AS seq, zeroblob(31) AS hash",
    ],
)
def test_a_table_of_heads_that_is_none(
    database: Path,
    tmp_path: Path,
    heads: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    change(database, heads)
    assert main(["audit", str(database)]) == 2
    assert capfd.readouterr().err.startswith("error: heads: ")
    with pytest.raises(InputError, match="heads: "):
        back_up(str(database), tmp_path / "copy.db")

    async def story() -> None:
        store = open_store(str(database), exclusive=True)
        desk = Desk(store)
        await desk.start()
        assert await status(desk, "good") == 200
        await eventually(lambda: "heads: " in caplog.text)
        await desk.stop(30.0)
        store.close()

    asyncio.run(story())


@pytest.mark.parametrize("rotten", ROTTEN)
def test_a_rotten_event_gives_no_copy(database: Path, rotten: str, tmp_path: Path) -> None:
    change(database, rotten)
    with pytest.raises(InputError, match="of 'bad' does not follow event"):
        back_up(str(database), tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


# -- heads in the service's log --------------------------------------------------------------------


@contextlib.contextmanager
def logged() -> Iterator[io.StringIO]:
    """Have the service's log written to a stream."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    log = logging.getLogger("handrail.service")
    log.addHandler(handler)
    before = log.level
    log.setLevel(logging.INFO)
    try:
        yield stream
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def test_heads_are_noted_at_intervals_and_at_the_end(database: Path, tmp_path: Path) -> None:
    async def story() -> None:
        store = open_store(str(database), exclusive=True)
        desk = Desk(store, limits=Limits(heads_seconds=0.2))
        await desk.start()
        for _ in range(3):
            seen = stream.getvalue().count('"head"')
            await desk.decide("bad", [DecideRequest()])
            await eventually(lambda seen=seen: stream.getvalue().count('"head"') > seen)  # type: ignore[misc]
        await desk.decide("bad", [DecideRequest()])
        await desk.stop(30.0)
        store.close()

    with logged() as stream:
        asyncio.run(story())
    lines = [json.loads(each) for each in stream.getvalue().splitlines() if '"head"' in each]
    assert [(each["policy"], each["number"], each["seq"]) for each in lines] == [
        ("bad", 1, seq) for seq in (21, 22, 23, 24)
    ]
    file = tmp_path / "service.log"
    # As a collector of logs leaves it.
    file.write_text(
        "".join(f"host handrail[7]: {each}\n" for each in stream.getvalue().splitlines())
    )
    store = open_store(str(database))
    with store.reading() as reader:
        log = reader.events(1)
    store.close()
    assert [(head.seq, head.hash) for head in read_heads(file)] == [
        (seq, log[seq - 1].hash) for seq in (21, 22, 23, 24)
    ]


SERVED = """
import asyncio, logging, sys
from pathlib import Path
from handrail.service.desk import Desk
from handrail.service.limits import Limits
from handrail.service.logs import log_to
from handrail.service.messages import DecideRequest
from handrail.service.store.open import open_store

async def story():
    desk = Desk(open_store(sys.argv[1], exclusive=True), limits=Limits(heads_seconds=0.0))
    await desk.start()
    for _ in range(40):
        await desk.decide("good", [DecideRequest()])
    await desk.show("good")
    print("done", flush=True)
    sys.stdin.read()

log_to(open(sys.argv[2], "a", buffering=1))
asyncio.run(story())
"""


def test_a_write_ahead_log_that_was_cut_off(
    database: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = tmp_path / "service.log"
    with child(SERVED, database, said) as server:
        assert line(server) == "done"
        server.kill()
        server.wait()
    wal = database.with_name("log.db-wal")
    with wal.open("r+b") as file:
        file.truncate(wal.stat().st_size // 2)
    assert main(["audit", str(database)]) == 0  # nothing in it tells
    words = " ".join(capfd.readouterr().out.split())
    assert "It was compared with no noted heads: a tail that was lost is not noticed." in words
    assert main(["audit", str(database), "--heads", str(said), "--json"]) == 1
    found = json.loads(capfd.readouterr().out)
    (good,) = [each for each in found["policies"] if each["policy"] == "good"]
    assert "event 60 was noted: its tail is lost" in good["problems"][-1]["reason"]
    assert good["statement"]["compared_heads"] > 5


def test_files_without_heads(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    for content in (
        "",
        "nothing\n",
        '{"message": "ready"}\n',
        '{"message": "head", "policy": "p"}\n',
        '{"message": "head", "policy": "p", "seq": 1, "hash": "00"}\n',
        '{"message": "head", "policy": "p", "seq": "x", "hash": "' + "0" * 64 + '"}\n',
    ):
        path.write_text(content)
        with pytest.raises(InputError):
            read_heads(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_heads(tmp_path / "nothing")
