"""Who only reads a SQLite file leaves it as it is, and makes nothing beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from children import child, line
from handrail.cli import main
from handrail.errors import InputError
from handrail.service.heads import read_heads
from handrail.service.sources import open_source
from handrail.service.store import open as opening
from handrail.service.store.backup import back_up, restore
from handrail.service.store.migrations import SQLITE, Migration
from handrail.service.store.open import open_store
from handrail.service.store.protocol import StoreUnavailable
from logs import add, chain

DIES = """
import sys
from logs import add, chain
from handrail.service.store.open import open_store
store = open_store(sys.argv[1], exclusive=True)
with store.writing() as writer:
    writer.append(1, chain(21, 60))
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    add(store, "news", 20)
    store.close()
    path.with_name("log.db.lock").unlink()
    return path


def found_in(folder: Path) -> dict[str, str]:
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


def count(path: Path) -> int:
    source = open_source(str(path))
    rows = list(source.rows("news", None))
    source.close()
    assert rows == chain(1, len(rows))
    return len(rows)


@pytest.mark.parametrize("kind", ["copy", "stopped"])
def test_nothing_is_changed_or_left(database: Path, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    path = folder / "copy.db"
    if kind == "copy":
        back_up(str(database), path)
    else:  # noted in the file that it has a write-ahead log
        shutil.copyfile(database, path)
    before = found_in(folder)
    assert count(path) == 20
    if kind == "copy":
        assert [head.seq for head in read_heads(path)] == [20]
        assert main(["audit", str(database), "--heads", str(path)]) == 1  # it is no true log
        assert found_in(folder) == before
    assert main(["audit", str(path)]) == 1
    out = tmp_path / "news.ndjson"
    assert main(["export", str(path), "--policy", "news", "--out", str(out), "--until", "9"]) == 2
    restore(path, str(tmp_path / "other.db"))
    back_up(str(path), tmp_path / "again.db")
    assert found_in(folder) == before
    if kind == "copy":
        back_up(str(database), path)  # every night


@pytest.fixture
def unwritable() -> Iterator[Path]:
    """A folder in which nobody writes, also where tests are run by root."""
    if os.name != "posix":
        pytest.skip("permissions are those of POSIX")
    folder = Path(tempfile.mkdtemp())  # the folders above that of a test may be root's alone
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("kind", ["copy", "stopped"])
def test_a_folder_where_nobody_may_write(
    database: Path, tmp_path: Path, unwritable: Path, kind: str
) -> None:
    path = unwritable / "copy.db"
    if kind == "copy":
        back_up(str(database), path)
    else:
        shutil.copyfile(database, path)
    path.chmod(0o444)
    unwritable.chmod(0o555)
    with as_nobody():
        with pytest.raises(OSError, match="denied"):
            (unwritable / "more").touch()
        assert count(path) == 20
    restore(path, str(tmp_path / "other.db"))
    assert [each.name for each in unwritable.iterdir()] == ["copy.db"]


def test_a_file_that_is_served_is_read_beside_the_server(database: Path) -> None:
    with child(DIES, database) as server:
        assert line(server) == "written"
        before = found_in(database.parent)
        assert count(database) == 60  # most of it is in the write-ahead log
        after = found_in(database.parent)
        for changes in ("log.db-shm",):  # where readers note how far they read
            del before[changes], after[changes]
        assert after == before
        server.kill()
        server.wait()
        assert count(database) == 60
        assert found_in(database.parent)["log.db-wal"] == before["log.db-wal"]
        assert found_in(database.parent)["log.db"] == before["log.db"]
    store = open_store(str(database), exclusive=True)
    store.close()
    assert count(database) == 60


def test_what_is_read_while_a_server_begins_to_write_is_void(database: Path) -> None:
    source = open_source(str(database))
    assert source.policies() == ["news"]
    store = open_store(str(database), exclusive=True)
    with pytest.raises(StoreUnavailable, match="was written to while it was read"):
        source.policies()
    source.close()
    store.close()


def test_a_file_of_another_version(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = found_in(database.parent)
    more = Migration(SQLITE[-1].version + 1, ("CREATE TABLE more (a)",))
    monkeypatch.setattr(opening, "SQLITE", (*SQLITE, more))
    assert count(database) == 20  # the step is for those who write
    monkeypatch.setattr(opening, "SQLITE", SQLITE[:1])
    with pytest.raises(InputError, match="upgrade handrail"):
        open_source(str(database))
    assert found_in(database.parent) == before
