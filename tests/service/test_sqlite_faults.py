"""Disks that are full and disks that fail: the system's own errors, not pretended ones."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from children import child, line
from handrail.service.store.open import open_store
from handrail.service.store.protocol import StoreUnavailable
from logs import add, chain

# Writes one event after the other, and says what becomes of each.
BEGIN = """
import sys
from logs import add, chain
from handrail.service.store.open import open_store
from handrail.service.store.protocol import StoreBroken, StoreUnavailable

store = open_store(sys.argv[1], exclusive=True)
policy = add(store, events=3)
rows = chain(1, 5000)

def write(seq):
    try:
        with store.writing() as writer:
            writer.append(policy, [rows[seq - 1]])
    except (StoreBroken, StoreUnavailable) as error:
        print(type(error).__name__, error, flush=True)
        return False
    return True
"""

# The kernel answers EIO to fsync and fdatasync from here on: a filter on system calls.
NO_FSYNC = """
import ctypes, errno, platform, struct

FSYNC = {"x86_64": (74, 75), "aarch64": (82, 83)}[platform.machine()]

class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

def fail_fsync():
    load, equal, answer = 0x20, 0x15, 0x06
    steps = [
        (load, 0, 0, 0),
        (equal, 2, 0, FSYNC[0]),
        (equal, 1, 0, FSYNC[1]),
        (answer, 0, 0, 0x7FFF0000),
        (answer, 0, 0, 0x00050000 | errno.EIO),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.cast(code, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        print("no filter", ctypes.get_errno(), flush=True)
        sys.exit()
"""

needs_filter = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="a filter on system calls is installed only on Linux, on x86_64 and aarch64",
)


def _events(path: Path) -> int:
    """Return how many events of the log there are, all of them right."""
    store = open_store(str(path), exclusive=True, create=False)
    with store.reading() as reader:
        found = reader.events(reader.policies()[0].number)
    store.close()
    assert found == chain(1, len(found))
    return len(found)


@needs_filter
def test_a_failed_fsync_breaks_the_store(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    code = BEGIN + NO_FSYNC + "write(4); fail_fsync(); write(5); write(6)"
    with child(code, path) as process:
        said = line(process)
        if said.startswith("no filter"):
            pytest.skip(f"the kernel takes no filter on system calls here: {said}")
        assert said.startswith("StoreBroken")
        assert "SQLITE_IOERR_FSYNC" in said
        assert line(process).startswith("StoreBroken")  # it does not try again
    assert _events(path) in (4, 5)  # nobody was told that the fifth is there


@needs_filter
def test_a_failed_fsync_of_a_checkpoint_breaks_the_store(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    code = BEGIN + NO_FSYNC + "write(4); fail_fsync(); store._writer.pages = 10**6; write(5)"
    with child(code, path) as process:
        said = line(process)
        if said.startswith("no filter"):
            pytest.skip(f"the kernel takes no filter on system calls here: {said}")
        assert said.startswith("StoreBroken")
        assert "SQLITE_IOERR_FSYNC" in said
    assert _events(path) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_limit_on_the_size_of_files_is_passing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    code = (
        BEGIN
        + """
import resource
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
done = 3
while write(done + 1):
    done += 1
print(done, flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print(write(done + 1), flush=True)
"""
    )
    with child(code, path) as process:
        said = line(process)
        assert said.startswith("StoreUnavailable")
        assert "SQLITE_IOERR_WRITE" in said
        done = int(line(process))
        assert line(process) == "True"
    assert _events(path) == done + 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"mount cannot be run: {error}")
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    yield folder
    # Lazily, so that a test that failed with the database open leaves nothing mounted.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_full_disk_is_passing(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, *, checkpoints: bool
) -> None:
    if checkpoints:  # before every transaction: the disk fills up in one of them
        monkeypatch.setattr("handrail.service.store.sqlite._CHECKPOINT_PAGES", 0)
    ballast = small_disk / "ballast"
    path = small_disk / "log.db"
    store = open_store(str(path), exclusive=True)
    policy = add(store)
    ballast.write_bytes(bytes(1_000_000))
    rows = chain(1, 4000)
    done = 0
    with pytest.raises(StoreUnavailable, match="SQLITE_FULL"):  # noqa: PT012
        for row in rows:
            with store.writing() as writer:
                writer.append(policy, [row])
            done += 1
    for _ in range(3):
        with pytest.raises(StoreUnavailable), store.writing() as writer:
            writer.append(policy, rows[done : done + 20])
        with store.reading() as reader:
            assert len(reader.events(policy)) == done
    ballast.unlink()
    for row in rows[done : done + 100]:
        with store.writing() as writer:
            writer.append(policy, [row])
    store.close()
    assert done > 0
    assert _events(path) == done + 100


def test_a_database_that_may_not_grow_is_passing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with child(BEGIN + _LIMIT_PAGES, path) as process:
        said = line(process)
        assert said.startswith("StoreUnavailable")
        assert "SQLITE_FULL" in said
        done = int(line(process))
        assert line(process) == "True"
    assert _events(path) == done + 1


_LIMIT_PAGES = """
pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
store._connection.execute(f"PRAGMA max_page_count={pages + 20}")
done = 3
while write(done + 1):
    done += 1
print(done, flush=True)
store._connection.execute("PRAGMA max_page_count=1000000")
print(write(done + 1), flush=True)
"""
