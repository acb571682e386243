"""The SQLite file: whose it is, which version it is of, and what is beside it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from children import child, line
from handrail.errors import InputError
from handrail.service.store import open as opening
from handrail.service.store.migrations import SQLITE, Migration
from handrail.service.store.open import open_store
from handrail.service.store.protocol import StoreBroken, StoreUnavailable
from handrail.service.store.sqlite import SqliteStore
from logs import add, chain

SERVER = """
import sys
from handrail.service.store.open import open_store
store = open_store(sys.argv[1], exclusive=True)
print("open", flush=True)
sys.stdin.read()
"""

WRITER = """
import sys
from logs import add, chain
from handrail.service.store.open import open_store
store = open_store(sys.argv[1], exclusive=True)
policy = add(store)
for row in chain(1, 100_000):
    with store.writing() as writer:
        writer.append(policy, [row])
    print(row.seq, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def opened(path: Path, *, exclusive: bool = False) -> SqliteStore:
    store = open_store(str(path), exclusive=exclusive)
    assert isinstance(store, SqliteStore)
    return store


def change(path: Path, *statements: str) -> None:
    """Change a file behind handrail's back."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_second_server_is_refused_until_the_first_is_gone(path: Path) -> None:
    with child(SERVER, path) as server:
        assert line(server) == "open"
        for _ in range(2):
            with pytest.raises(InputError, match=f"in use by another server.*{server.pid}"):
                open_store(str(path), exclusive=True)
        opened(path).close()  # a tool may look
        server.kill()  # SIGKILL: it can tidy up nothing
        server.wait()
        store = opened(path, exclusive=True)
    with child(SERVER, path) as server:
        assert line(server) == ""
        assert server.wait() == 1
    store.close()
    with child(SERVER, path) as server:
        assert line(server) == "open"


def test_a_link_to_the_file_leads_to_the_same_lock(path: Path, tmp_path: Path) -> None:
    store = opened(path, exclusive=True)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with pytest.raises(InputError, match="in use"):
        open_store(str(link), exclusive=True)
    store.close()


def test_what_was_acknowledged_survives_sigkill(path: Path) -> None:
    with child(WRITER, path) as writer:
        acknowledged = [int(line(writer)) for _ in range(200)]
        writer.kill()
        writer.wait()
        assert writer.stdout is not None
        acknowledged += map(int, writer.stdout.read().split())
    beside = path.with_name("log.db-wal")
    assert beside.stat().st_size > 0  # left behind, and needed
    store = opened(path, exclusive=True)
    with store.reading() as reader:
        (policy,) = reader.policies()
        found = reader.events(policy.number)
    # One more may have been committed and not yet printed.
    assert len(found) - acknowledged[-1] in (0, 1)
    assert found == chain(1, len(found))
    with store.writing() as transaction:
        transaction.append(policy.number, chain(len(found) + 1, len(found) + 1))
    store.close()
    assert not beside.exists()


@pytest.mark.parametrize("content", [b"", b"notes\n", b"SQLite format 3\0" + bytes(200)])
def test_a_foreign_file_is_left_untouched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for exclusive in (False, True):
        with pytest.raises(InputError) as caught:
            open_store(str(path), exclusive=exclusive)
        assert caught.value.field == "database"
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_the_database_of_another_program_is_left_untouched(path: Path) -> None:
    change(path, "PRAGMA journal_mode=WAL", "CREATE TABLE events (id)", "PRAGMA user_version=1")
    before = path.read_bytes()
    with pytest.raises(InputError, match="no database of handrail's"):
        open_store(str(path))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_newer_version_is_refused(path: Path) -> None:
    opened(path).close()
    change(path, "PRAGMA user_version=7")
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        open_store(str(path))
    assert str(caught.value) == (
        f"database: is of version 7, this handrail knows up to {SQLITE[-1].version}; "
        "upgrade handrail"
    )
    assert path.read_bytes() == before


def test_an_older_version_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(path)
    policy = add(store, "news", 3)
    store.close()
    step = Migration(3, ("ALTER TABLE policies ADD COLUMN note TEXT", "CREATE TABLE more (a)"))
    monkeypatch.setattr(opening, "SQLITE", (*SQLITE, step))
    for _ in range(2):
        store = opened(path)
        with store.reading() as reader:
            assert reader.events(policy) == chain(1, 3)
        store.close()
    change(path, "INSERT INTO more VALUES (1)", "UPDATE policies SET note = 'x'")
    monkeypatch.undo()
    with pytest.raises(InputError, match="is of version 3"):
        open_store(str(path))


def test_a_step_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(path)
    add(store, "news", 3)
    store.close()
    step = Migration(3, ("CREATE TABLE more (a)", "ALTER TABLE nothing ADD COLUMN b"))
    monkeypatch.setattr(opening, "SQLITE", (*SQLITE, step))
    with pytest.raises(sqlite3.OperationalError):
        open_store(str(path))
    monkeypatch.undo()
    opened(path).close()
    change(path, "CREATE TABLE more (a)")


def test_the_tables_are_not_changed_under_a_server(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = opened(path, exclusive=True)
    monkeypatch.setattr(opening, "SQLITE", (*SQLITE, Migration(3, ("CREATE TABLE more (a)",))))
    with pytest.raises(InputError, match="in use by another server"):
        open_store(str(path))
    server.close()
    opened(path).close()


def test_a_file_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    for name in ("nowhere/log.db", "", ":memory:", "mysql://ann:secret@host/db"):
        with pytest.raises(InputError) as caught:
            open_store(name and (name if ":" in name else str(tmp_path / name)))
        assert caught.value.field == "database"
        assert "secret" not in str(caught.value)
    with pytest.raises(InputError):
        open_store(str(tmp_path))


def test_a_crash_while_it_is_made_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SQLITE", (Migration(1, ("CREATE TABLE half (a)", "nonsense")),))
    with pytest.raises(sqlite3.OperationalError):
        open_store(str(path))
    assert list(path.parent.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
def test_only_its_owner_may_read_it(path: Path) -> None:
    store = opened(path, exclusive=True)
    add(store, "news", 1)
    for found in path.parent.iterdir():
        assert stat.S_IMODE(found.stat().st_mode) == 0o600, found
    store.close()


def test_the_other_spelling_of_a_path(path: Path) -> None:
    store = open_store(f"sqlite:///{path}")
    store.close()
    assert path.exists()


def test_a_writer_waits_for_another_and_gives_up(path: Path) -> None:
    store, other = opened(path), opened(path)
    policy = add(store, "news", 1)
    store._connection.execute("PRAGMA busy_timeout=1")
    with other.writing(), pytest.raises(StoreUnavailable, match="SQLITE_BUSY"), store.writing():
        pass
    with store.writing() as writer:
        writer.append(policy, chain(2, 2))
    store.close()
    other.close()


@pytest.mark.parametrize("removed", [True, False])
def test_a_file_that_is_taken_away_is_noticed(path: Path, *, removed: bool) -> None:
    store = opened(path, exclusive=True)
    policy = add(store, "news", 1)
    path.rename(path.with_name("moved.db"))
    if not removed:
        path.write_bytes(path.with_name("moved.db").read_bytes())
    for _ in range(2):
        with pytest.raises(StoreBroken, match=r"removed|replaced"), store.writing() as writer:
            writer.append(policy, chain(2, 2))
    store.close()


def test_damage_is_noticed(path: Path) -> None:
    store = opened(path)
    policy = add(store, "news", 500)
    store.close()
    with path.open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xff" * (path.stat().st_size - 4096 * 2))
    store = opened(path)
    with pytest.raises(StoreBroken), store.reading() as reader:
        reader.events(policy)
    with pytest.raises(StoreBroken), store.writing() as writer:
        writer.append(policy, chain(501, 501))
    with pytest.raises(StoreBroken), store.writing():  # and it stays broken
        pass
    store.close()


def test_the_write_ahead_log_stays_small(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _small_log(monkeypatch, seconds=0.001)
    store = opened(path, exclusive=True)
    policy = add(store)
    rows = iter(chain(1, 1000))
    beside = path.with_name("log.db-wal")

    def write(transactions: int) -> int:
        for _ in range(transactions):
            with store.writing() as writer:
                writer.append(policy, [next(rows)])
        return beside.stat().st_size

    size = write(300)
    assert size < 150 * 4096
    with store.reading() as reader:
        reader.head(policy)  # as long as somebody reads an old moment, it has to grow
        assert write(200) > 2 * size
    assert write(100) < 150 * 4096  # what it took meanwhile is given back
    before = write(100)
    assert write(200) == before  # its pages are used again
    with store.reading() as reader:
        assert len(reader.events(policy)) == 900
    store.close()


def _small_log(monkeypatch: pytest.MonkeyPatch, *, seconds: float) -> None:
    for name, value in (("PAGES", 50), ("SECONDS", seconds)):
        monkeypatch.setattr(f"handrail.service.store.sqlite._CHECKPOINT_{name}", value)
    monkeypatch.setattr("handrail.service.store.sqlite._LOG_BYTES", 50 * 4096)


def test_readers_that_come_all_the_time_do_not_let_the_write_ahead_log_grow(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _small_log(monkeypatch, seconds=60.0)
    store = opened(path, exclusive=True)
    policy = add(store)
    over = threading.Event()

    def read() -> None:
        with contextlib.ExitStack() as first:
            before = first
            while not over.wait(0.002):
                with contextlib.ExitStack() as now:  # begins before the one before it ends
                    now.enter_context(store.reading()).head(policy)
                    before.close()
                    before = now.pop_all()
            before.close()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for row in chain(1, 300):
            with store.writing() as writer:
                writer.append(policy, [row])
    finally:
        over.set()
        reader.join()
    assert path.with_name("log.db-wal").stat().st_size < 150 * 4096
    store.close()


def test_a_server_that_is_killed_often_has_a_small_write_ahead_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with child(WRITER, path) as writer:
        for _ in range(100):
            line(writer)
        writer.kill()
        writer.wait()
    size = path.stat().st_size
    monkeypatch.setattr("handrail.service.store.sqlite._CHECKPOINT_PAGES", 50)
    store = opened(path, exclusive=True)
    with store.writing() as transaction:
        (policy,) = transaction.policies()
        assert len(transaction.events(policy.number)) >= 100
    assert path.stat().st_size > size  # the pages are where they belong
    store.close()


def test_rounds_are_found_by_their_index(path: Path) -> None:
    store = opened(path)
    asked: list[str] = []
    with store.reading() as reader:
        reader._connection.set_trace_callback(asked.append)
        reader.rounds(1, 2, 3)
        plan = reader._connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert any("events_by_round (policy=? AND round>? AND round<?)" in row[3] for row in plan)
    store.close()
