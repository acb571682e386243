"""Disks that are full or fail under a server: it says so, loses nothing, and never lies."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from service_load import Ledger, Load, create_policies
from service_processes import Server, seeded, until
from service_truth import audit, check, finish, fold_again, repeat

Change = Callable[[], None]
Changes = Callable[[Server], tuple[Change, Change]]
"""Of a server: how to fill its disk, and how to make room again."""


@contextmanager
def small_disk(folder: Path) -> Iterator[Changes]:
    """A disk of a few megabytes, and a file that takes the rest of it."""
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"mount cannot be run: {error}")
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    ballast = folder / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    try:
        yield lambda _: (fill, ballast.unlink)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def limited_files(folder: Path) -> Iterator[Changes]:
    """A limit on the size of files, set on the server while it runs."""
    if sys.platform != "linux":
        pytest.skip("only Linux sets limits on other processes")
    import resource

    def changes(server: Server) -> tuple[Change, Change]:
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)

        def fill() -> None:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (20_000, before[1]))

        def free() -> None:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

        return fill, free

    yield changes


@pytest.mark.parametrize("cause", [small_disk, limited_files])
def test_a_full_disk(
    cause: Callable[[Path], AbstractContextManager[Changes]],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    database, log = str(folder / "log.db"), tmp_path / "server.log"
    ledger = Ledger()
    with seeded(6) as rng, cause(folder) as changes:
        with Server(database, log) as server, server.ready().asker() as asker:
            fill, free = changes(server)
            create_policies(server)
            with Load([server], ledger, f"{rng.random()}", patient=True) as load:
                load.until_answered(rng.randrange(50, 300))
                fill()
                until("requests are refused", lambda: load.refused(server) > 10)
            # A little may still fit in: then it is ready until there is more to write.
            until("it is not ready", lambda: ledger.is_refused(asker) and not server.is_ready())
            assert asker.get("/v1/policies/arms/decisions?limit=1")["decisions"]
            free()
            until("it is ready again", server.is_ready)
            with Load([server], ledger, f"{rng.random()}") as load:
                load.until_answered(100)
            finish(asker, ledger)
            repeat(asker, ledger, rng)
            heads = check(asker, ledger)
            server.process.terminate()
            assert server.wait(60) == 0
        fold_again(database, heads)
        audit(database)


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int fails(void) {
    const char *path = getenv("FAIL_FSYNC");
    if (path == NULL || access(path, F_OK) != 0)
        return 0;
    errno = EIO;
    return 1;
}

int fsync(int file) {
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fsync");
    return fails() ? -1 : real(file);
}

int fdatasync(int file) {
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    return fails() ? -1 : real(file);
}
"""


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    """A library whose fsync fails as soon as a certain file exists."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a C compiler and Linux are needed to make fsync fail")
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def test_a_failed_fsync_ends_the_server(shim: Path, tmp_path: Path) -> None:
    database, log = str(tmp_path / "log.db"), tmp_path / "server.log"
    fail = tmp_path / "fail"
    ledger = Ledger()
    environment = {"LD_PRELOAD": str(shim), "FAIL_FSYNC": str(fail)}
    with seeded(7) as rng:
        with Server(database, log, environment=environment) as server:
            create_policies(server.ready())
            with Load([server], ledger, f"{rng.random()}", refusable=True) as load:
                load.until_answered(rng.randrange(50, 300))
                fail.touch()
                assert server.wait(60) == 1
        assert "IOERR_FSYNC" in log.read_text()
        assert len(ledger.open) > 0
        # The system may have kept what it could not bring to disk, but nobody was told.
        with Server(database, log, server.key) as server, server.ready().asker() as asker:
            check(asker, ledger)
            finish(asker, ledger)
            repeat(asker, ledger, rng)
            heads = check(asker, ledger)
    fold_again(database, heads)
    audit(database)
