"""Servers as processes of their own: start, wait until they listen, look at their memory, stop."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["environment", "free_port", "listening", "memory", "on_disk", "served", "stop", "wait"]

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 300.0
"""Seconds: the first start of all may have the rules to compile."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def listening(port: int) -> bool:
    """Return whether somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a server: it runs the same sources as this process."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    return {**os.environ, "PYTHONPATH": path, **(more or {})}


@contextmanager
def on_disk() -> Iterator[Path]:
    """Make a folder for the block where the results go: a temporary one may be in memory."""
    place = ROOT / "out"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


def wait(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
    """Wait until a server is ready."""
    end = time.monotonic() + PATIENCE
    while not ready():
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        if time.monotonic() > end:
            raise TimeoutError(f"{process.args!r} is not ready after {PATIENCE:.0f} s")
        time.sleep(0.005)


def stop(process: subprocess.Popen[bytes], *, kill: bool = False) -> None:
    """End a server and wait until it has ended."""
    if kill:
        process.kill()
    else:
        process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def served(
    command: Sequence[str], port: int, more: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, env=environment(more), stdout=subprocess.DEVNULL)
    try:
        wait(process, lambda: listening(port))
        yield process
    finally:
        stop(process)


def memory(pid: int) -> float:
    """Return the resident memory of a process in bytes."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        shown = subprocess.check_output(["ps", "-o", "rss=", "-p", str(pid)])
        return int(shown) * 1024.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
