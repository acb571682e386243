"""A file is written over in place: the mark that its server wrote tells it from its copies."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from children import READS, child, line
from handrail.service.store.backup import back_up, restore
from handrail.service.store.open import open_store
from handrail.service.store.protocol import StoreBroken
from handrail.service.store.sqlite import SqliteStore
from logs import add, chain


@pytest.mark.parametrize("kind", ["of a backup", "by cp", "of the moment"])
def test_a_copy_that_is_not_shorter_is_noticed(tmp_path: Path, kind: str) -> None:
    """It is written into the same file, and the write-ahead log is as it was."""
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    store = open_store(str(path), exclusive=True)
    policy = add(store, "news", 40)
    if kind == "of a backup":
        back_up(str(path), copy)
    elif kind == "by cp":
        shutil.copyfile(path, copy)
    with store.writing() as writer:
        writer.append(policy, chain(41, 60))
    store.close()
    store = open_store(str(path), exclusive=True)
    if kind == "of the moment":  # nothing is lost now, but its pages are not those of the file
        back_up(str(path), copy)
    with copy.open("ab") as file:
        file.truncate(200_000)
    store.check()
    shutil.copyfile(copy, path)
    with pytest.raises(StoreBroken, match="was written over"), store.writing() as writer:
        writer.append(policy, chain(61, 61))
    store.close()
    assert path.read_bytes() == copy.read_bytes()
    assert not path.with_name("log.db-wal").exists()  # its pages would be moved into the copy


MOVES = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
print(connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[2], flush=True)
connection.close()
"""


def test_another_program_may_move_pages(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    assert isinstance(store, SqliteStore)
    policy = add(store)
    for first in (1, 101, 201):
        with store.writing() as writer:
            writer.append(policy, chain(first, first + 99))
        before = path.stat().st_mtime_ns
        with child(MOVES, path) as other:
            assert int(line(other)) > 0
        assert path.stat().st_mtime_ns > before
        store.check()
    # While they are being moved the file is shorter than its first page says.
    os.truncate(path, path.stat().st_size - 4096)
    store._files.resize()
    os.utime(path)
    store.check()
    store.close()


def test_a_copy_over_the_file_with_the_time_that_it_had(tmp_path: Path) -> None:
    """Its time can be set; the system's cannot."""
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    store = open_store(str(path), exclusive=True)
    add(store)
    back_up(str(path), copy)
    before = path.stat()
    path.write_bytes(copy.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(StoreBroken, match="written over"):
        store.check()
    store.close()


HOLDS = """
import fcntl, sys
index = open(sys.argv[1] + "-shm", "r+b")
fcntl.lockf(index, fcntl.LOCK_EX, 1, 121)  # where SQLite says that it moves pages
print("held", flush=True)
sys.stdin.read()
"""


def test_another_program_may_be_moving_pages(tmp_path: Path) -> None:
    """The server's own attempt moves nothing, so the file has its old mark."""
    pytest.importorskip("fcntl")
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    assert isinstance(store, SqliteStore)
    policy = add(store)
    with child(HOLDS, path) as other:
        assert line(other) == "held"
        store._writer.pages = 10**6
        with store.writing() as writer:
            writer.append(policy, chain(1, 50))
    os.utime(path)
    store.check()
    with child(MOVES, path) as other:
        assert int(line(other)) > 0
    store.check()
    store.close()
    assert list(tmp_path.glob("*rescued*")) == []


def failing(connection: sqlite3.Connection, code: int, name: str) -> Any:
    """Return a connection that fails to move pages, and does all else."""

    class Failing:
        def execute(self, statement: str, values: tuple[bytes, ...] = ()) -> sqlite3.Cursor:
            if "wal_checkpoint" in statement:
                error = sqlite3.OperationalError(f"as the system says ({name})")
                error.sqlite_errorcode, error.sqlite_errorname = code, name
                raise error
            return connection.execute(statement, values)

    return Failing()


def test_pages_that_cannot_be_moved_may_be_moved_by_another_program(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    assert isinstance(store, SqliteStore)
    connection = store._connection
    store._connection = failing(connection, sqlite3.SQLITE_FULL, "SQLITE_FULL")
    store._checkpoint()
    store._connection = connection
    with child(MOVES, path) as other:
        assert int(line(other)) > 0
    store.check()
    store.close()


def grown(copy: Path) -> None:
    """Make a copy as long as any file of these tests, so that none is cut off by it."""
    with copy.open("ab") as file:
        file.truncate(400_000)


@pytest.mark.parametrize("begun", ["as new", "restored", "served"])
def test_a_copy_over_a_file_that_is_being_read_since_the_start(tmp_path: Path, begun: str) -> None:
    """Its pages cannot be moved, nor what the server marks it with."""
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    if begun != "as new":
        store = open_store(str(path), exclusive=True)
        add(store, "news", 40)
        store.close()
        if begun == "restored":
            back_up(str(path), copy)
            restore(copy, str(path))
    open_store(str(path)).close()  # by `handrail keys`, for one
    back_up(str(path), copy)
    grown(copy)
    with child(READS, path) as reads:
        assert line(reads) == "reads"
        store = open_store(str(path), exclusive=True)
        store.check()
        shutil.copyfile(copy, path)
        with pytest.raises(StoreBroken, match="was written over"):
            store.check()
    store.close()
    assert path.read_bytes() == copy.read_bytes()


def unmarked(path: Path) -> SqliteStore:
    """Open a file as an earlier release left it."""
    open_store(str(path), exclusive=True).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE mark")
    store = open_store(str(path), exclusive=True)
    assert isinstance(store, SqliteStore)
    return store


def test_a_file_is_marked_as_soon_as_nobody_reads_it(tmp_path: Path) -> None:
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    unmarked(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE mark")
    with child(READS, path) as reads:
        assert line(reads) == "reads"
        store = open_store(str(path), exclusive=True)
        log = path.with_name("log.db-wal")
        size = log.stat().st_size
        for _ in range(3):
            store.check()
        assert log.stat().st_size == size  # nothing is written again and again
    store.check()
    back_up(str(path), copy)
    grown(copy)
    shutil.copyfile(copy, path)
    with pytest.raises(StoreBroken, match="was written over"):
        store.check()
    store.close()


def test_a_file_is_marked_as_soon_as_the_disk_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    open_store(str(path), exclusive=True).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE mark")
    with monkeypatch.context() as full:
        full.setattr(SqliteStore, "_mark", lambda _: None)
        store = open_store(str(path), exclusive=True)
        store.check()
    store.check()
    back_up(str(path), copy)
    grown(copy)
    shutil.copyfile(copy, path)
    with pytest.raises(StoreBroken, match="was written over"):
        store.check()
    store.close()


def test_a_mark_that_is_tried_again_and_finds_the_disk_failing(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "log.db"), exclusive=True)
    assert isinstance(store, SqliteStore)
    connection = store._connection
    store._marked = False
    store._connection = failing(connection, sqlite3.SQLITE_IOERR_FSYNC, "SQLITE_IOERR_FSYNC")
    for _ in range(2):
        with pytest.raises(StoreBroken, match="SQLITE_IOERR_FSYNC"):
            store.check()
    store._connection = connection
    store.close()


def test_the_server_does_not_look_at_what_it_wrote_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(tmp_path / "log.db"), exclusive=True)
    assert isinstance(store, SqliteStore)
    policy = add(store)
    monkeypatch.setattr("handrail.service.store.sqlite_file.sqlite3.connect", None)
    for row in chain(1, 5):
        store._writer.pages = 10**6
        with store.writing() as writer:
            writer.append(policy, [row])
    store.close()
