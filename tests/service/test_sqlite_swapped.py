"""The database file is swapped under a store: it stops before it acknowledges anything more."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from children import child, line
from handrail import InputError
from handrail.service.store.backup import back_up, restore
from handrail.service.store.open import open_store
from handrail.service.store.protocol import StoreBroken
from handrail.service.store.sqlite import SqliteStore
from logs import add, chain


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def remove_wal(path: Path, _: Path) -> None:
    beside(path, "-wal").unlink()


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


KEEPS = [remove_wal, remove_both, rename_over, rename_all_away, move_and_link]
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
            writer.append(self.policy, chain(first, last), chain(first - 1, first - 1)[0].hash)
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


# A write-ahead log that is cut off in that moment has its old size when it is written to.
@pytest.mark.parametrize("swap", [*KEEPS, new_wal, copy_over, documented_before])
def test_what_is_on_its_way_is_not_acknowledged(swapped: Swapped, swap: Swap) -> None:
    with pytest.raises(StoreBroken):  # it is on disk, and not in the file that has the name
        swapped.write(231, 240, lambda: swap(swapped.path, swapped.copy))
    with pytest.raises(StoreBroken):
        swapped.write(231, 240)
    swapped.store.close()


@pytest.mark.parametrize("swap", KEEPS)
def test_what_the_store_had_open_is_rescued(swapped: Swapped, swap: Swap) -> None:
    swap(swapped.path, swapped.copy)
    with pytest.raises(StoreBroken, match=r"log\.db\.rescued-"):
        swapped.write(231, 240)
    swapped.store.close()
    (rescued,) = swapped.rescued()
    assert events(rescued) == 240  # what was acknowledged, and what was on its way
    assert rescued.stat().st_mode & 0o777 == 0o600


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
    (left,) = swapped.rescued()
    assert left.suffix == ".wal"
    with pytest.raises(InputError, match=f"{left} holds what a server"):
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
