"""Servers as processes of their own: start, wait until they listen, look at their memory, stop."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["free_port", "listening", "memory", "served", "wait"]

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0


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


def wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server listens."""
    end = time.monotonic() + PATIENCE
    while not listening(port):
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        if time.monotonic() > end:
            raise TimeoutError(f"{process.args!r} does not listen after {PATIENCE:.0f} s")
        time.sleep(0.01)


@contextmanager
def served(
    command: Sequence[str], port: int, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **environment}
    process = subprocess.Popen(command, env=found, stdout=subprocess.DEVNULL)
    try:
        wait(process, port)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def memory(pid: int) -> float:
    """Return the resident memory of a process in bytes."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        shown = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], check=True, capture_output=True
        )
        return int(shown.stdout) * 1024.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
