"""Bytes that rot and tails that are lost: in snapshots, in old events, in copies and at the end."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from children import child, line
from handrail.cli import main
from handrail.errors import InputError
from handrail.service.chain import link
from handrail.service.desk import Desk
from handrail.service.events import name_in
from handrail.service.heads import read_heads
from handrail.service.limits import Limits
from handrail.service.logs import JsonLines
from handrail.service.messages import DecideRequest
from handrail.service.problems import Problem
from handrail.service.store.backup import back_up
from handrail.service.store.backup import restore as put_back
from handrail.service.store.open import open_store
from service_logs import fruit

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


def one_is_damaged(database: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Start, and see that `bad` is found to be damaged and `good` is served."""

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
            await desk.create(fruit(name))
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

    one_is_damaged(database, caplog)
    assert "the log of 'bad' is damaged: event " in caplog.text
    assert "'good'" not in caplog.text
    assert "no such policy" not in caplog.text


def flip_type(path: Path, seq: int, column: str) -> None:
    """Flip the bit of the file that says whether a value of an event of `bad` is bytes or text."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        body, hash_ = connection.execute(
            "SELECT body, hash FROM events WHERE policy = 1 AND seq = ?", (seq,)
        ).fetchone()
    raw = bytearray(path.read_bytes())
    # Before the values stands a byte for each: how long the header is, no id, round, body, hash.
    # The body's takes two, as does a text of its length.
    end = raw.index(body + hash_) - 1
    assert raw[end - 1] == 12 + 2 * 32
    raw[end - 1 if column == "hash" else end - 2] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("column", ["hash", "body"])
def test_a_value_that_is_no_bytes_any_more(
    database: Path,
    column: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """SQLite gives it as a text then, or fails to: that is its log's damage and no other's."""
    flip_type(database, 7, column)
    change(database, CUT)
    caplog.set_level(logging.INFO, "handrail.service")

    one_is_damaged(database, caplog)
    assert "the log of 'bad' is damaged: event 7 does not follow event 6" in caplog.text
    assert "event 20 of 'good' is not in its log" in caplog.text  # it was looked at, too
    assert main(["audit", str(database)]) == 1
    said = capfd.readouterr().out
    assert "WRONG: event 7: it was altered" in said
    assert "== good" in said
    out = ["--out", str(tmp_path / "bad.ndjson")]
    assert main(["export", str(database), "--policy", "bad", *out]) == 2
    assert capfd.readouterr().err.startswith("error: log: event 7: ")
    with pytest.raises(InputError, match="is damaged: non-BLOB value"):
        back_up(str(database), tmp_path / "copy.db")


@pytest.mark.parametrize("name", ["'bat'", "CAST(x'6261ff' AS TEXT)"])
def test_a_name_that_is_not_that_of_the_log(
    database: Path,
    name: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    change(database, f"UPDATE policies SET name = {name} WHERE number = 1")
    started_until(database, lambda: "event 1 creates 'bad'" in caplog.text)
    assert "is damaged: event 1 creates 'bad'" in caplog.text
    assert "'good'" not in caplog.text
    with pytest.raises(InputError, match="creates 'bad'"):
        back_up(str(database), tmp_path / "copy.db")
    if name == "'bat'":
        assert main(["audit", str(database)]) == 1
        assert "WRONG: event 1: " in capfd.readouterr().out


def test_a_log_that_cannot_be_followed_is_damaged(
    database: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in it, the others are checked."""
    change(database, CUT)

    def other(before: bytes, body: bytes) -> bytes:
        if name_in(body) == "bad":  # not by its letters, which an id may have by chance
            raise OverflowError("whatever it is")
        return link(before, body)

    monkeypatch.setattr("handrail.service.verify.link", other)
    started_until(database, lambda: "event 20 of 'good' is not in its log" in caplog.text)
    assert "'bad' is damaged: it cannot be followed: OverflowError: whatever it is" in caplog.text


def test_the_older_snapshot_is_looked_at_too(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change(
        database,
        "UPDATE snapshots SET body = CAST(body || x'00' AS BLOB) WHERE policy = 2 AND seq = "
        "(SELECT min(seq) FROM snapshots WHERE policy = 2)",
    )
    started_until(database, lambda: "snapshot of 'good'" in caplog.text)
    assert "the snapshot of 'good' after event 10 is damaged: nobody uses it" in caplog.text


def test_a_damaged_log_stays_so_when_another_is_restored(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its snapshot and all after it are sound: it would be served again."""
    change(database, ROTTEN[0])

    async def story() -> None:
        store = open_store(str(database), exclusive=True)
        desk = Desk(store)
        await desk.start()
        await eventually(lambda: desk.damaged == 1)
        assert await status(desk, "good") == 200
        change(database, CUT, NO_SNAPSHOTS)
        assert await status(desk, "good") == 200
        assert desk.restored == 1
        assert await status(desk, "bad") == 503
        assert desk.damaged == 1
        await desk.stop(30.0)
        store.close()

    asyncio.run(story())
    assert "the log of 'bad' is damaged: event 7" in caplog.text


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
    said = capfd.readouterr().out
    assert "it ends with event 15, and event 20 was noted" in said
    assert "compared with 1 noted head: 1 of them of a later event, which was not found." in said
    assert "compared with no noted heads" not in said
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
