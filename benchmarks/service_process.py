"""The service as a user starts it: `handrail serve`, a SQLite file, keys on."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.processes import environment, free_port, memory, stop, wait
from benchmarks.startup import handrail_command

__all__ = ["Service"]

_KEY = re.compile(rb"hr_[0-9a-f]{8}_[0-9A-Za-z-]+")


class Service:
    """A server on a database in a folder; the first start makes it and prints the key.

    Parameters
    ----------
    folder : Path
        Where the database and what the server prints are kept.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.database = folder / "handrail.db"
        self.key = ""
        self.port = 0
        self._printed = folder / "printed"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The server's process."""
        if self._process is None:
            raise RuntimeError("the server was not started")
        return self._process

    def start(self) -> float:
        """Start; return the seconds until it said that it is ready."""
        self.port = free_port()
        command = [*handrail_command(), "serve", "--database", str(self.database)]
        command += ["--port", str(self.port)]
        start = time.perf_counter()
        with self._printed.open("ab") as printed:
            self._process = subprocess.Popen(
                command, env=environment(), stdout=printed, stderr=subprocess.STDOUT
            )
        try:
            wait(self._process, self._ready)
        except (RuntimeError, TimeoutError):
            stop(self._process, kill=True)
            self._show()
            raise
        seconds = time.perf_counter() - start
        if not self.key:
            self.key = self._first_key()
        return seconds

    def _show(self) -> None:
        """Show the end of what the server printed, should it be to blame."""
        sys.stderr.buffer.write(_KEY.sub(b"hr_...", self._printed.read_bytes())[-4000:])

    def _first_key(self) -> str:
        """Return the key that the first start prints."""
        found = _KEY.search(self._printed.read_bytes())
        if found is None:
            raise RuntimeError("the first start printed no key")
        return found[0].decode()

    def _ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to a single request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            sent = None if body is None else json.dumps(body)
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request(method, path, sent, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status // 100 != 2:
            raise RuntimeError(f"{method} {path}: {response.status} {content[:500]!r}")
        return json.loads(content)

    def create(self, name: str, algorithm: str, **parameters: Any) -> None:
        """Make a policy."""
        self.call("POST", "/v1/policies", {"name": name, "algorithm": algorithm, **parameters})

    def memory(self) -> float:
        """Return the resident memory in bytes."""
        return memory(self.process.pid)

    def disk(self) -> int:
        """Return the bytes of the database, with what is written ahead of it."""
        files = self.database.parent.glob(f"{self.database.name}*")
        return sum(file.stat().st_size for file in files)

    def stop(self, *, kill: bool = False) -> float:
        """End the server; return the seconds it took."""
        start = time.perf_counter()
        stop(self.process, kill=kill)
        return time.perf_counter() - start

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ended = self.process.poll()
        if error is not None:
            print(
                f"the server {'runs' if ended is None else f'ended with {ended}'}:", file=sys.stderr
            )
            self._show()
        self.stop()
