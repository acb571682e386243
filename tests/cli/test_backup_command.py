"""`handrail backup`: a copy that is whole, of one moment, and as good as the database."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from children import READS, child, line
from handrail.cli import main
from handrail.files import sync_folder
from handrail.service.store.open import open_store
from logs import add, chain

WRITER = """
import sys
from logs import add, chain
from handrail.service.store.open import open_store
store = open_store(sys.argv[1], exclusive=True)
policies = [add(store, "a"), add(store, "b")]
for row in chain(1, 100_000):
    with store.writing() as writer:
        for policy in policies:
            writer.append(policy, [row])
    print(row.seq, flush=True)
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    add(store, "news", 20)
    add(store, "sport", 5)
    store.close()
    return path


def back_up(source: object, out: object) -> int:
    return main(["backup", str(source), "--out", str(out)])


def counts(path: Path) -> list[int]:
    """Return how many events each log of a copy has, all of them right."""
    store = open_store(str(path), exclusive=True, create=False)
    with store.reading() as reader:
        logs = [reader.events(policy.number) for policy in reader.policies()]
    store.close()
    for log in logs:
        assert log == chain(1, len(log))
    return [len(log) for log in logs]


def test_a_copy_says_what_is_in_it(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copies").mkdir()
    out = tmp_path / "copies" / "copy.db"
    assert back_up(database, out) == 0
    size = out.stat().st_size
    assert capsys.readouterr().out == f"{out}: 2 policies, 25 events, {size} bytes\n"
    assert list(out.parent.iterdir()) == [out]  # one file, nothing beside it
    assert out.read_bytes()[18:20] == b"\1\1"  # and nothing needed to read it, as a log would be
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert counts(out) == [20, 5]


def test_a_copy_made_while_a_server_writes_is_a_prefix(tmp_path: Path) -> None:
    database, out = tmp_path / "log.db", tmp_path / "copy.db"
    taken = []
    with child(WRITER, database) as writer:
        for _ in range(5):
            done = [int(line(writer)) for _ in range(30)][-1]
            assert back_up(database, out) == 0
            still = int(line(writer))  # it went on
            one, two = counts(out)
            assert one == two  # a transaction is in it or is not
            assert one >= done
            taken.append(one)
            out.with_name("copy.db.lock").unlink()
            assert still > done
    assert taken == sorted(taken)
    assert counts(database)[0] >= taken[-1]


def test_a_copy_is_replaced_as_a_whole(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    store = open_store(str(database))
    with store.writing() as writer:
        writer.append(1, chain(21, 30))
    store.close()
    assert back_up(database, out) == 0
    assert counts(out) == [30, 5]


def test_the_copy_takes_the_place_of_the_database(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    database.unlink()
    out.rename(database)
    store = open_store(str(database), exclusive=True)
    with store.writing() as writer:
        writer.append(1, chain(21, 21))
    store.close()
    assert counts(database) == [21, 5]


def test_other_files_are_left_alone(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    assert back_up(database, notes) == 2
    assert notes.read_text() == "mine"
    other = tmp_path / "other.db"
    server = open_store(str(other), exclusive=True)
    add(server, "live", 3)
    link = tmp_path / "link.db"
    link.symlink_to(database)
    for out in (other, database, link, tmp_path / "nowhere" / "copy.db", tmp_path):
        capsys.readouterr()
        assert back_up(database, out) == 2
        assert capsys.readouterr().err.startswith("error: --out: ")
    server.close()
    assert counts(other) == [3]
    assert counts(database) == [20, 5]


def test_a_source_that_is_no_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "copy.db"
    assert back_up(tmp_path / "nothing.db", out) == 2
    assert "does not exist" in capsys.readouterr().err
    (tmp_path / "notes").write_text("mine")
    assert back_up(tmp_path / "notes", out) == 2
    assert "no database of handrail's" in capsys.readouterr().err
    assert back_up("postgresql://ann:hidden@host/logs", out) == 2
    said = capsys.readouterr().err
    assert "pg_dump" in said
    assert "hidden" not in said
    assert not out.exists()


def test_a_damaged_database_gives_no_copy(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    with contextlib.closing(sqlite3.connect(database)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'events_by_round'"
        ).fetchone()
    with database.open("r+b") as file:
        file.seek(4096 * (page - 1) + 2000)
        file.write(b"\xff" * 2000)
    assert back_up(database, out) == 2
    assert "is damaged" in capsys.readouterr().err
    assert counts(out) == [20, 5]  # the earlier copy stays
    assert not list(tmp_path.glob(".*"))


# -- handrail restore ------------------------------------------------------------------------------


def restore(backup: object, database: object) -> int:
    return main(["restore", str(backup), "--database", str(database)])


GROWN = """
import sys
from logs import chain
from handrail.service.store.open import open_store
store = open_store(sys.argv[1], exclusive=True)
with store.writing() as writer:
    writer.append(1, chain(21, 60))
print("grown", flush=True)
sys.stdin.read()
"""


def grown(database: Path) -> None:
    store = open_store(str(database), exclusive=True)
    with store.writing() as writer:
        writer.append(1, chain(21, 30))
    store.close()


def test_a_copy_is_put_back(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "copies" / "copy.db"
    out.parent.mkdir()
    assert back_up(database, out) == 0
    content = out.read_bytes()
    grown(database)
    capsys.readouterr()
    for name in (database, f"sqlite:///{database}", tmp_path / "new.db"):
        assert restore(out, name) == 0
        path = Path(str(name).removeprefix("sqlite:///"))
        size = path.stat().st_size
        assert capsys.readouterr().out == f"{path}: 2 policies, 25 events, {size} bytes\n"
        assert counts(path) == [20, 5]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert out.read_bytes() == content
    assert list(out.parent.iterdir()) == [out]


def test_a_database_that_is_served_is_refused(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    server = open_store(str(database), exclusive=True)
    assert restore(out, database) == 2
    assert "is in use by another server" in capsys.readouterr().err
    with server.writing() as writer:
        writer.append(1, chain(21, 21))
    server.close()
    assert counts(database) == [21, 5]


def grow_and_die(database: Path) -> None:
    """Append what stays in the write-ahead log, as a server does that is killed."""
    with child(GROWN, database) as killed:
        assert line(killed) == "grown"
        killed.kill()
        killed.wait()


def test_the_write_ahead_log_of_what_was_there_goes_with_it(database: Path, tmp_path: Path) -> None:
    """A server that was killed left it: SQLite would move its pages into the copy."""
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    grow_and_die(database)
    assert database.with_name("log.db-wal").stat().st_size > 0
    assert restore(out, database) == 0
    assert not database.with_name("log.db-wal").exists()
    assert counts(database) == [20, 5]


def test_what_is_only_in_the_write_ahead_log_is_not_lost_to_a_reader(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """While somebody reads, its pages cannot be moved into the file: then nothing is done."""
    monkeypatch.setattr("handrail.service.store.sqlite_file.WAIT_SECONDS", 0.2)
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    grow_and_die(database)
    with child(READS, database) as reads:
        assert line(reads) == "reads"
        assert restore(out, database) == 2
        assert "is in use by another process, and nothing" in capsys.readouterr().err
        reads.kill()
        reads.wait()
    assert counts(database) == [60, 5]
    assert not list(tmp_path.glob(".*"))
    assert restore(out, database) == 0
    assert counts(database) == [20, 5]


@pytest.mark.parametrize("moved", [False, True])
def test_a_file_that_anybody_has_open_is_not_replaced(
    database: Path,
    tmp_path: Path,
    moved: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All pages may be in the file: whoever writes next would put a log beside the new one."""
    monkeypatch.setattr("handrail.service.store.sqlite_file.WAIT_SECONDS", 0.2)
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    if moved:
        grow_and_die(database)
    with child(TOOL, database) as tool:
        assert line(tool) == "open"
        before = database.read_bytes()
        assert restore(out, database) == 2
        assert "is in use by another process, and nothing was replaced" in capsys.readouterr().err
        assert database.read_bytes() == before
        said_to(tool)
        assert line(tool) == "written"
    assert counts(database) == [60 if moved else 20, 5, 3]
    assert restore(out, database) == 0
    assert counts(database) == [20, 5]


TOOL = """
import sys
from logs import add
from handrail.service.store.open import open_store
store = open_store(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
add(store, "third", 3)
store.close()
print("written", flush=True)
"""

WRITES = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=float(sys.argv[2]))
print("connected", flush=True)
try:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("INSERT INTO policies (name) VALUES ('third')")
    print("written", flush=True)
except sqlite3.Error as error:
    print(error.sqlite_errorname, flush=True)
"""

OPENS = """
import sys
from handrail.errors import InputError
from handrail.service.store import sqlite_file
from handrail.service.store.open import open_store
bare = sqlite_file.bare

def connected(path, mode):
    connection = bare(path, mode)  # and nothing is read yet
    print("connected", flush=True)
    sys.stdin.readline()
    return connection

sqlite_file.bare = connected
try:
    open_store(sys.argv[1])
    print("open", flush=True)
except InputError as error:
    print(error, flush=True)
sys.stdin.read()
"""


def at_the_last_moment(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act when all is ready and the new file is about to get the name."""
    replace = Path.replace

    def acted(part: Path, target: Path) -> Path:
        act()
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", acted)


def said_to(process: subprocess.Popen[str], words: str = "") -> None:
    """Write a line to a process."""
    assert process.stdin is not None
    process.stdin.write(f"{words}\n")
    process.stdin.flush()


posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="a file that is open cannot be replaced there"
)


@posix_only
def test_nobody_writes_to_a_file_that_is_being_replaced(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor to what it was, when it has lost its name: the log would lie beside the new file."""
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    grow_and_die(database)
    with contextlib.ExitStack() as stack:
        waiting = []

        def act() -> None:
            one, other = (
                stack.enter_context(child(WRITES, database, wait)) for wait in (0.0, 20.0)
            )
            assert [line(each) for each in (one, other)] == ["connected"] * 2
            assert line(one) == "SQLITE_BUSY"
            waiting.append(other)

        at_the_last_moment(monkeypatch, act)
        assert restore(out, database) == 0
        assert line(waiting[0]) == "SQLITE_READONLY_DBMOVED"
    assert not database.with_name("log.db-wal").exists()
    assert counts(database) == [20, 5]


@posix_only
@pytest.mark.parametrize("left", [False, True])
def test_who_opened_what_was_there_before_is_told(
    database: Path, tmp_path: Path, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when somebody writes to the new file by then: its log is not to be taken for that."""
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    grow_and_die(database)
    with child(OPENS, database) as tool:
        at_the_last_moment(monkeypatch, lambda: line(tool))
        assert restore(out, database) == 0
        monkeypatch.undo()
        server = open_store(str(database), exclusive=True)
        if left:
            add(server, "third", 30)
        said_to(tool)
        assert "was replaced while it was being opened; try again" in line(tool)
        with server.writing() as writer:
            writer.append(1, chain(21, 40))
        server.close()
    assert counts(database) == ([40, 5, 30] if left else [40, 5])


def test_a_database_that_was_made_meanwhile_is_not_replaced(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, new = tmp_path / "copy.db", tmp_path / "new.db"
    assert back_up(database, out) == 0
    sync = sync_folder

    def made(folder: Path) -> None:
        monkeypatch.undo()
        tool = open_store(str(new))
        add(tool, "third", 3)
        tool.close()
        sync(folder)

    monkeypatch.setattr("handrail.service.store.backup.sync_folder", made)
    assert restore(out, new) == 2
    assert "was made meanwhile" in capsys.readouterr().err
    assert counts(new) == [3]
    assert not list(tmp_path.glob(".*"))
    assert restore(out, new) == 0
    assert counts(new) == [20, 5]
    assert new.stat().st_nlink == 1


def test_what_a_restore_that_was_killed_left_is_removed(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    left, others = tmp_path / ".log.db.0123abcd.part", tmp_path / ".other.db.0123abcd.part"
    for path in (left, left.with_name(f"{left.name}-journal"), others):
        path.write_text("half")
    assert restore(out, database) == 0
    assert list(tmp_path.glob(".*")) == [others]


def test_a_damaged_file_is_replaced(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    with database.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (database.stat().st_size - 4096))
    database.with_name("log.db-wal").write_bytes(b"\xff" * 100)
    assert restore(out, database) == 0
    assert counts(database) == [20, 5]


def test_copies_that_are_not_put_back(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, notes = tmp_path / "copy.db", tmp_path / "notes"
    assert back_up(database, out) == 0
    notes.write_text("mine")
    before = database.read_bytes()
    newer = tmp_path / "newer.db"
    newer.write_bytes(out.read_bytes())
    with contextlib.closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version=99")
    for wrong in (notes, tmp_path / "nothing", database, newer, tmp_path):
        capsys.readouterr()
        assert restore(wrong, database) == 2
        assert capsys.readouterr().err.startswith("error: ")
    assert restore(out, notes) == 2
    assert restore(out, "postgresql://ann:hidden@host/logs") == 2
    said = capsys.readouterr().err
    assert "pg_restore" in said
    assert "hidden" not in said
    assert database.read_bytes() == before
    assert notes.read_text() == "mine"
    assert not list(tmp_path.glob(".*"))


def test_a_copy_whose_chain_is_broken_is_not_put_back(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "copy.db"
    assert back_up(database, out) == 0
    with contextlib.closing(sqlite3.connect(out, isolation_level=None)) as connection:
        connection.execute("UPDATE events SET body = x'00' WHERE policy = 1 AND seq = 7")
    before = database.read_bytes()
    assert restore(out, database) == 2
    assert "event 7 of 'news'" in capsys.readouterr().err
    assert database.read_bytes() == before
