"""The database file is swapped under a store: it stops before it acknowledges anything more."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from children import child, line
from handrail import InputError
from handrail.service.store.backup import back_up, restore
from handrail.service.store.open import open_store
from handrail.service.store.protocol import HeadRow, StoreBroken, StoreUnavailable
from handrail.service.store.sqlite import SqliteStore
from handrail.service.store.sqlite_file import BESIDE, connect
from logs import add, chain


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def remove_wal(path: Path, _: Path) -> None:
    beside(path, "-wal").unlink()


def remove_shm(path: Path, _: Path) -> None:
    beside(path, "-shm").unlink()


def remove_both(path: Path, _: Path) -> None:
    beside(path, "-wal").unlink()
    beside(path, "-shm").unlink()


def rename_over(path: Path, copy: Path) -> None:
    copy.replace(path)


def rename_all_away(path: Path, _: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        beside(path, ending).rename(beside(path, ending + ".old"))


def move_and_link(path: Path, copy: Path) -> None:
    """Move the file to another folder, and leave a link to it: its write-ahead log stays."""
    moved = copy.parent / "moved.db"
    path.rename(moved)
    path.symlink_to(moved)


def empty_wal(path: Path, _: Path) -> None:
    beside(path, "-wal").write_bytes(b"")


def cut_wal(path: Path, _: Path) -> None:
    with beside(path, "-wal").open("r+b") as file:
        file.truncate(beside(path, "-wal").stat().st_size - 4000)


def new_wal(path: Path, _: Path) -> None:
    wal = beside(path, "-wal")
    content = wal.read_bytes()
    wal.unlink()
    wal.write_bytes(content)


def copy_over(path: Path, copy: Path) -> None:
    shutil.copyfile(copy, path)


def documented_before(path: Path, copy: Path) -> None:
    """The commands that docs/operations.md had for a server that is stopped."""
    remove_both(path, copy)
    copy_over(path, copy)


KEEPS = [remove_wal, remove_shm, remove_both, rename_over, rename_all_away, move_and_link]
"""What leaves the pages that the store has open as they were."""
LOSES = [empty_wal, cut_wal, new_wal, copy_over, documented_before]
Swap = Callable[[Path, Path], None]


class Swapped:
    """A store with some events in the file and some in the write-ahead log, and a copy."""

    def __init__(self, folder: Path) -> None:
        self.path, self.copy = folder / "log.db", folder / "copy" / "copy.db"
        self.copy.parent.mkdir()
        store = open_store(str(self.path), exclusive=True)
        assert isinstance(store, SqliteStore)
        self.store = store
        self.policy = add(store, "news", 40)
        back_up(str(self.path), self.copy)
        self.write(41, 200)
        store._writer.pages = 10**6  # the next transaction moves them into the file
        self.write(201, 230)

    def write(self, first: int, last: int, during: Callable[[], None] = lambda: None) -> None:
        with self.store.writing() as writer:
            before = HeadRow("news", first - 1, chain(first - 1, first - 1)[0].hash)
            writer.append(self.policy, chain(first, last), before)
            during()

    def rescued(self) -> list[Path]:
        return sorted(self.path.parent.glob("log.db.rescued-*"))


def events(path: Path) -> int:
    """Return how many events a file has, all of them right."""
    store = open_store(str(path), create=False)
    with store.reading() as reader:
        found = reader.events(1)
    store.close()
    assert found == chain(1, len(found))
    return len(found)


@pytest.fixture
def swapped(tmp_path: Path) -> Swapped:
    return Swapped(tmp_path)


@pytest.mark.parametrize("swap", [*KEEPS, *LOSES])
def test_nothing_more_is_acknowledged(swapped: Swapped, swap: Swap) -> None:
    swap(swapped.path, swapped.copy)
    for _ in range(2):
        with pytest.raises(StoreBroken):
            swapped.write(231, 240)
    swapped.store.close()


@pytest.mark.parametrize("swap", [*KEEPS, *LOSES])
def test_what_is_on_its_way_is_not_acknowledged(swapped: Swapped, swap: Swap) -> None:
    with pytest.raises(StoreBroken):  # it is on disk, and not in the file that has the name
        swapped.write(231, 240, lambda: swap(swapped.path, swapped.copy))
    with pytest.raises(StoreBroken):
        swapped.write(231, 240)
    swapped.store.close()


@pytest.mark.parametrize("swap", [empty_wal, cut_wal])
def test_a_write_ahead_log_that_is_as_long_as_before_when_it_is_written_to(
    tmp_path: Path, swap: Swap
) -> None:
    """It was never begun anew: what follows is written to where it ended."""
    store = open_store(str(tmp_path / "log.db"), exclusive=True)
    policy = add(store, "news", 40)
    size = beside(tmp_path / "log.db", "-wal").stat().st_size
    swap(tmp_path / "log.db", tmp_path)
    with pytest.raises(StoreBroken, match="was cut off"), store.writing() as writer:
        writer.append(policy, chain(41, 200))
    assert beside(tmp_path / "log.db", "-wal").stat().st_size < size  # nothing was written
    store.close()


def test_a_write_ahead_log_that_is_emptied_while_it_is_written_to(swapped: Swapped) -> None:
    commit = swapped.store._writer.commit

    def emptied() -> None:
        empty_wal(swapped.path, swapped.copy)
        commit()

    size = beside(swapped.path, "-wal").stat().st_size
    swapped.store._writer.commit = emptied  # type: ignore[method-assign]
    with pytest.raises(StoreBroken, match="was cut off or written over"):
        swapped.write(231, 1500)
    assert beside(swapped.path, "-wal").stat().st_size > size
    swapped.store.close()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a folder cannot be opened")
def test_a_look_after_the_commit_that_fails_is_no_batch_to_repeat(swapped: Swapped) -> None:
    """The disk does not say what became of a commit that is on it."""
    commit = swapped.store._writer.commit

    def unreadable() -> None:
        commit()
        folder = os.open(swapped.path.parent, os.O_RDONLY)
        os.dup2(folder, swapped.store._files._log or 0)
        os.close(folder)

    swapped.store._writer.commit = unreadable  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(StoreBroken, match="-wal cannot be read"):
            swapped.write(231, 240)
    swapped.store.close()
    assert events(swapped.rescued()[0]) == 240


def test_what_another_tool_writes_without_the_index_is_left_alone(tmp_path: Path) -> None:
    """It makes an index of its own, in which it is the only one who writes."""
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    policy = add(store, "news", 40)
    remove_shm(path, path)
    with child(
        "import sys; from logs import *; from handrail.service.store.open import open_store; "
        "store = open_store(sys.argv[1]); add(store, 'sport', 300); store.close(); print('done')",
        path,
    ) as tool:
        assert line(tool) == "done"
    content = beside(path, "-wal").read_bytes()
    with pytest.raises(StoreBroken, match="-shm was"), store.writing() as writer:
        writer.append(policy, chain(41, 50))
    assert beside(path, "-wal").read_bytes() == content
    store.close()
    (rescued,) = tmp_path.glob("log.db.rescued-*")
    assert events(rescued) == 40


@pytest.mark.parametrize("swap", KEEPS)
def test_what_the_store_had_open_is_rescued(swapped: Swapped, swap: Swap) -> None:
    with pytest.raises(StoreBroken, match=r"log\.db\.rescued-"):
        swapped.write(231, 240, lambda: swap(swapped.path, swapped.copy))
    swapped.store.close()
    (rescued,) = swapped.rescued()
    assert events(rescued) == 230  # what was acknowledged
    assert rescued.stat().st_mode & 0o777 == 0o600


def test_a_link_that_leads_elsewhere_is_noticed(swapped: Swapped) -> None:
    """Tools that are called by the same name would have another file, and another lock."""
    swapped.store.close()
    link = swapped.copy.parent / "link.db"
    link.symlink_to(swapped.path)
    store = open_store(str(link), exclusive=True)
    store.check()
    link.unlink()
    link.symlink_to(swapped.copy)
    with pytest.raises(StoreBroken, match=r"link\.db was made to lead to another file"):
        store.check()
    store.close()
    (rescued,) = swapped.rescued()
    assert events(rescued) == 230
    with pytest.raises(InputError, match=f"link.db was made to .* is in {rescued}"):
        open_store(str(link), exclusive=True)


@pytest.mark.parametrize("swap", [documented_before, rename_over, copy_over])
def test_what_was_put_in_its_place_is_left_alone(swapped: Swapped, swap: Swap) -> None:
    """Closed by SQLite, the store would move its pages into a file that is another one."""
    content = swapped.copy.read_bytes()
    swap(swapped.path, swapped.copy)
    with pytest.raises(StoreBroken):
        swapped.write(231, 240)
    swapped.store.close()
    del swapped.store
    assert swapped.path.read_bytes() == content
    # In another process: in this one the old connection is still open.
    with child(
        "import sys; from test_sqlite_swapped import *; print(events(Path(sys.argv[1])))",
        swapped.path,
    ) as other:
        assert line(other) == "40"  # with no pages of the old one's write-ahead log


@pytest.mark.parametrize("swap", [rename_over, remove_wal, remove_shm])
def test_who_reads_before_it_is_noticed(swapped: Swapped, swap: Swap) -> None:
    """A new connection joins the file of that name with the write-ahead log of the old one."""
    content = swapped.copy.read_bytes()
    with swapped.store.reading() as reader:
        assert len(reader.events(swapped.policy)) == 230
        swap(swapped.path, swapped.copy)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="swapped"), swapped.store.reading():
                pass
        assert len(reader.events(swapped.policy)) == 230
        with pytest.raises(StoreBroken):
            swapped.store.check()
        swapped.store.close()
    (rescued,) = swapped.rescued()
    assert events(rescued) == 230
    if swap is rename_over:
        assert swapped.path.read_bytes() == content


def test_who_only_reads_moves_no_pages(swapped: Swapped) -> None:
    """Not even as the last one who has the file open."""
    with swapped.store.reading():
        rename_over(swapped.path, swapped.copy)
        connection = connect(swapped.path, BESIDE)
        with contextlib.suppress(sqlite3.DatabaseError):
            connection.execute("SELECT count(*) FROM events").fetchone()
        content = swapped.path.read_bytes()
        connection.close()
        assert swapped.path.read_bytes() == content
    swapped.store.close()
    assert events(swapped.rescued()[0]) == 230


@pytest.mark.parametrize("swap", [remove_both, rename_over, documented_before])
def test_it_is_noticed_without_a_request(swapped: Swapped, swap: Swap) -> None:
    swapped.store.check()
    swap(swapped.path, swapped.copy)
    with pytest.raises(StoreBroken):
        swapped.store.check()
    swapped.store.close()


def test_no_server_starts_beside_what_was_rescued(swapped: Swapped) -> None:
    """Started anew by whoever watches it, it would serve the file that was put in its place."""
    rename_over(swapped.path, swapped.copy)
    swapped.store.close()
    (rescued,) = swapped.rescued()
    with pytest.raises(InputError, match=f"{rescued} holds what a server .* handrail restore"):
        open_store(str(swapped.path), exclusive=True)
    assert events(swapped.path) == 40  # tools may look
    restore(rescued, str(swapped.path))
    assert events(swapped.path) == 230
    with pytest.raises(InputError, match="rescued"):  # until somebody has seen to it
        open_store(str(swapped.path), exclusive=True)
    rescued.rename(swapped.copy.parent / rescued.name)
    beside(rescued, "-shm").touch()  # as whoever looked into it may have left it
    open_store(str(swapped.path), exclusive=True).close()


def test_a_note_says_in_the_end_what_there_is(
    swapped: Swapped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there before the copy, and no longer afterwards; shorter than what it said before."""
    found: list[list[Path]] = []

    def short(*_: object) -> None:
        found.append(swapped.rescued())
        raise OSError(errno.EIO, "x")

    with monkeypatch.context() as patch:
        patch.setattr("handrail.service.store.sqlite.copy_to", short)
        rename_over(swapped.path, swapped.copy)
        with pytest.raises(StoreBroken, match="cannot be rescued"):
            swapped.store.check()
    swapped.store.close()
    ((note,),) = found
    assert note.read_text().count("\n") == 1
    assert note.read_text().endswith("may be lost: [Errno 5] x\n")


def test_a_write_ahead_log_that_could_not_be_rescued_keeps_servers_away(
    swapped: Swapped, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("handrail.service.store.sqlite.copy_to", full)
    rename_over(swapped.path, swapped.copy)
    with pytest.raises(StoreBroken, match="cannot be rescued"):
        swapped.store.check()
    swapped.store.close()
    note, left = swapped.rescued()
    assert left.suffix == ".wal"
    with pytest.raises(InputError, match=f"{note} was left by a server: .* no space"):
        open_store(str(swapped.path), exclusive=True)
    note.unlink()
    with pytest.raises(InputError, match=f"{left} holds what a server"):
        open_store(str(swapped.path), exclusive=True)


DIES = """
import os, sys
from pathlib import Path
from handrail.service.store import sqlite
from handrail.service.store.open import open_store

def dies(connection, part):
    part.write_bytes(b"half of it")
    os._exit(9)

store = open_store(sys.argv[1], exclusive=True)
copy = sqlite.copy_to
sqlite.copy_to = dies
Path(sys.argv[2]).replace(sys.argv[3])
print("replaced", flush=True)
store.check()
"""


@pytest.mark.parametrize("linked", [False, True])
def test_a_rescue_that_is_interrupted_keeps_servers_away(swapped: Swapped, linked: bool) -> None:
    name = swapped.path
    swapped.store.close()
    if linked:
        name = swapped.copy.parent / "link.db"
        name.symlink_to(swapped.path)
    with child(DIES, name, swapped.copy, swapped.path) as server:
        assert line(server) == "replaced"
        assert server.wait() == 9
    for each in {swapped.path, name}:
        with pytest.raises(InputError, match=r"was left by a server: .* was replaced .* is whole"):
            open_store(str(each), exclusive=True)
    (note,) = swapped.rescued()
    assert note.suffix == ".txt"


def test_no_server_goes_on_with_what_is_left(swapped: Swapped) -> None:
    """The file is the one that was served, but what was in its write-ahead log is gone."""
    swapped.store._connection.execute("PRAGMA cache_size=1")
    empty_wal(swapped.path, swapped.copy)
    with pytest.raises(StoreBroken, match="cannot be rescued, and may be lost"):
        swapped.store.check()
    swapped.store.close()
    (note,) = swapped.rescued()
    again = "-wal was cut off .* cannot be rescued, .* move that file elsewhere"
    with pytest.raises(InputError, match=again):
        open_store(str(swapped.path), exclusive=True)
    note.write_bytes(b"")  # as on a disk that was full
    with pytest.raises(InputError, match="was left by a server"):
        open_store(str(swapped.path), exclusive=True)


def test_nothing_new_is_made_where_the_file_was_moved_away(swapped: Swapped) -> None:
    rename_all_away(swapped.path, swapped.copy)
    swapped.store.close()
    for exclusive in (True, False):
        with pytest.raises(InputError, match="holds what a server had"):
            open_store(str(swapped.path), exclusive=exclusive)
    assert not swapped.path.exists()


def test_a_server_that_is_started_by_the_link_that_was_left_is_kept_away(swapped: Swapped) -> None:
    move_and_link(swapped.path, swapped.copy)
    swapped.store.close()
    with pytest.raises(InputError, match="holds what a server had"):
        open_store(str(swapped.path), exclusive=True)


def test_a_store_that_is_closed_after_it_was_swapped(swapped: Swapped) -> None:
    """Nobody wrote any more, and what it had is there all the same."""
    remove_both(swapped.path, swapped.copy)
    swapped.store.close()
    (rescued,) = swapped.rescued()
    assert events(rescued) == 230


def test_what_grows_and_shrinks_by_itself_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.service.store.sqlite._CHECKPOINT_PAGES", 20)
    monkeypatch.setattr("handrail.service.store.sqlite._LOG_BYTES", 100_000)
    path = tmp_path / "log.db"
    store = open_store(str(path), exclusive=True)
    policy = add(store)
    rows = chain(1, 900)
    with store.writing() as writer:
        writer.append(policy, rows[:500])
    sizes = {beside(path, "-wal").stat().st_size}
    for row in rows[500:]:
        with store.writing() as writer:
            writer.append(policy, [row])
        sizes.add(beside(path, "-wal").stat().st_size)
        store.check()
    assert max(sizes) > 100_000 >= min(sizes)
    tool = open_store(str(path))  # beside the server
    add(tool, "sport", 3)
    tool.close()
    with store.writing() as writer:
        assert len(writer.events(policy)) == 900
    store.close()
    assert list(tmp_path.glob("*rescued*")) == []
