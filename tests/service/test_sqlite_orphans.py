"""A write-ahead log whose database file is gone or damaged: what is in it is lost to nobody.

Nothing is made in the place of a file that is gone, and no pages are moved into a damaged one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from children import child, line
from handrail.cli import main
from handrail.errors import InputError
from handrail.service.store.backup import back_up, restore
from handrail.service.store.open import open_store
from handrail.service.store.protocol import StoreBroken
from handrail.service.store.sqlite import SqliteStore
from logs import add, chain

KILLED = """
import sys
from logs import add
from handrail.service.store.open import open_store
store = open_store(sys.argv[1], exclusive=True)
add(store, "news", 40)
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of which all events are in the write-ahead log, as a killed server leaves it."""
    database = tmp_path / "log.db"
    with child(KILLED, database) as server:
        assert line(server) == "written"
        server.kill()
        server.wait()
    assert wal(database).stat().st_size > 0
    return database


def wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def events(path: Path) -> int:
    """Return how many events the one log has, all of them right."""
    store = open_store(str(path), exclusive=True, create=False)
    with store.reading() as reader:
        found = reader.events(1)
    store.close()
    assert found == chain(1, len(found))
    return len(found)


@pytest.mark.parametrize("exclusive", [True, False])
def test_no_file_is_made_beside_a_write_ahead_log_that_was_left(
    path: Path, tmp_path: Path, exclusive: bool
) -> None:
    """SQLite would remove it, or take it for that of the new file."""
    content = wal(path).read_bytes()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(InputError, match=r"log\.db-wal is left of a file .* put that file back"):
        open_store(str(path), exclusive=exclusive)
    assert not path.exists()
    assert wal(path).read_bytes() == content
    (tmp_path / "moved.db").rename(path)
    assert events(path) == 40


def test_once_it_is_moved_away_a_file_is_made(path: Path, tmp_path: Path) -> None:
    path.unlink()
    wal(path).rename(tmp_path / "kept")
    store = open_store(str(path), exclusive=True)
    assert add(store, "sport", 3) == 1
    store.close()


def test_commands_that_may_make_a_file_do_not(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = wal(path).read_bytes()
    path.rename(tmp_path / "moved.db")
    assert main(["keys", "create", "--role", "admin", "--database", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{wal(path)} is left of a file" in said.err
    assert not path.exists()
    assert wal(path).read_bytes() == content


def test_a_copy_is_not_put_beside_it(path: Path, tmp_path: Path) -> None:
    """Nor is it removed: what was answered may be nowhere else."""
    copy = tmp_path / "copy.db"
    back_up(str(path), copy)
    content = wal(path).read_bytes()
    path.unlink()
    with pytest.raises(InputError, match="is left of a file"):
        restore(copy, str(path))
    assert not path.exists()
    assert wal(path).read_bytes() == content
    assert not list(tmp_path.glob(".*"))
    wal(path).rename(tmp_path / "kept")
    restore(copy, str(path))
    assert events(path) == 40


def test_a_journal_that_was_left_is_rolled_back_into_no_other_file(
    path: Path, tmp_path: Path
) -> None:
    path.unlink()
    wal(path).rename(tmp_path / "log.db-journal")
    with pytest.raises(InputError, match=r"log\.db-journal is left of a file"):
        open_store(str(path), exclusive=True)
    assert not path.exists()


def test_an_empty_one_holds_nothing(tmp_path: Path) -> None:
    wal(tmp_path / "log.db").touch()
    open_store(str(tmp_path / "log.db"), exclusive=True).close()


def test_a_file_that_was_moved_and_linked_to_without_its_write_ahead_log(
    path: Path, tmp_path: Path
) -> None:
    """The file is there, and lacks what was answered last: SQLite looks beside the file only."""
    other = tmp_path / "other" / "moved.db"
    other.parent.mkdir()
    path.rename(other)
    path.symlink_to(other)
    content = wal(path).read_bytes()
    with pytest.raises(InputError, match=r"log\.db-wal is left of a file"):
        open_store(str(path), exclusive=True)
    assert wal(path).read_bytes() == content
    shutil.move(wal(path), wal(other))
    assert events(path) == 40


def test_a_folder_may_be_linked_to(path: Path, tmp_path: Path) -> None:
    """The write-ahead log then lies beside both names, and is the file's own."""
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(tmp_path)
    assert events(link / path.name) == 40


def damaged(path: Path) -> None:
    """Write over the last pages of a file, which are not where its mark is."""
    with path.open("r+b") as file:
        file.seek(-8 * 4096, os.SEEK_END)
        file.write(b"\xff" * 8 * 4096)


@pytest.mark.parametrize("by", ["who writes", "who reads"])
def test_no_pages_are_moved_into_a_file_that_is_damaged(tmp_path: Path, by: str) -> None:
    """What is in the write-ahead log is sound, and may be the only place where it is."""
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    assert isinstance(store, SqliteStore)
    policy = add(store, "news", 400)
    store._checkpoint()
    with store.writing() as writer:
        writer.append(policy, chain(401, 420))
    damaged(path)
    content, log = path.read_bytes(), wal(path).read_bytes()
    store._connection.execute("PRAGMA shrink_memory")
    store._connection.execute("PRAGMA cache_size=1")
    store._connection.execute("PRAGMA cache_size=2000")
    with pytest.raises(StoreBroken, match="SQLITE_CORRUPT"):  # noqa: PT012
        if by == "who writes":
            with store.writing() as writer:
                writer.events(policy)
        else:
            with store.reading() as reader:
                reader.events(policy)
    store.close()
    del store
    assert path.read_bytes() == content
    assert wal(path).read_bytes() == log


def test_no_pages_are_moved_into_a_file_that_cannot_be_opened(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)  # behind the head, by which the file is told from others
        file.write(b"\xff" * (path.stat().st_size - 100))
    content, log = path.read_bytes(), wal(path).read_bytes()
    with pytest.raises(InputError, match="is damaged"):
        open_store(str(path), exclusive=True)
    assert path.read_bytes() == content
    assert wal(path).read_bytes() == log
