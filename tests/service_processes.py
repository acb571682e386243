"""Servers in processes of their own: started, asked, paused, killed and looked after."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, NamedTuple, TypeVar

__all__ = ["Asker", "Reply", "Server", "child_environment", "seeded", "until"]

_T = TypeVar("_T")

START_SECONDS = 240.0
"""The first server after an edit compiles all rules."""
SEED = "HANDRAIL_CHAOS_SEED"


def until(what: str, look: Callable[[], _T | None], seconds: float = 60.0) -> _T:
    """Look again and again until there is something to see, but not for ever."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds:g} s still not: {what}")
        time.sleep(0.01)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[random.Random]:
    """Give out random choices that a failure tells how to make again."""
    seed = int(os.environ.get(SEED, seed))
    try:
        yield random.Random(seed)
    except BaseException as error:
        error.add_note(
            f"seed {seed}: the same choices again with {SEED}={seed} in the environment "
            "(what the processes make of them depends on the machine's timing too)"
        )
        raise


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that finds the same modules as this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    content: str
    body: bytes
    retry_after: str | None = None

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_problem(self) -> bool:
        return self.content == "application/problem+json"


class Asker:
    """A connection to a server, made anew whenever it is lost; for one thread."""

    def __init__(self, url: str, key: str, timeout: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=timeout)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """Ask once; OSError or HTTPException if there is no answer."""
        sent = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, sent, self._headers)
            answer = self._connection.getresponse()
            return Reply(
                answer.status,
                answer.getheader("content-type", ""),
                answer.read(),
                answer.getheader("retry-after"),
            )
        except BaseException:
            self._connection.close()
            raise

    def get(self, path: str) -> Any:
        """Get what is there for sure."""
        reply = self.ask("GET", path)
        assert reply.status == 200, reply
        return reply.json()

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        """Post what is taken for sure."""
        reply = self.ask("POST", path, body)
        assert reply.status == status, reply
        return reply.json()

    def close(self) -> None:
        self._connection.close()


class Server:
    """`handrail serve` in a process; killed at the end of the block if it is still there.

    Parameters
    ----------
    database : str
        A path or an address.
    log : Path
        Where its stderr goes: added to, so that servers may share it.
    key : str
        An API key; the first server of a database tells its own.
    options : mapping, optional
        Settings that the command line does not offer; see `service_starter`.
    environment : mapping, optional
        More of the environment.
    """

    def __init__(
        self,
        database: str,
        log: Path,
        key: str = "",
        options: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.key = key
        self.url = ""
        self._log = log
        command = ["-m", "handrail", "serve", "--port", "0", "--database", database]
        if options is not None:
            given = {"limits": {}, "patience": {}, "database": database, **options}
            command = ["-m", "service_starter", json.dumps(given)]
        with log.open("a") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=child_environment(**(environment or {})),
            )
        assert self.process.stdout is not None
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, stdout: IO[str]) -> None:
        for line in stdout:
            self._lines.put(line.strip())
        self._lines.put(None)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        ended = self.process.poll()
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        if error is not None and self._log.exists():
            print("the server was running" if ended is None else f"the server ended: {ended}")
            print(f"the last lines of {self._log.name}:\n{self._log.read_text()[-3000:]}")

    def listening(self) -> Server:
        """Wait until it says where it listens."""
        while not self.url:
            try:
                line = self._lines.get(timeout=START_SECONDS)
            except Empty:
                raise AssertionError("the server does not say where it listens") from None
            assert line is not None, f"the server ended: {self.process.wait()}"
            if found := re.search(r"hr_\w+", line):
                self.key = found[0]
            if found := re.search(r"http://\S+", line):
                self.url = found[0]
        return self

    def ready(self) -> Server:
        """Wait until it is ready."""
        self.listening()
        until("the server is ready", self._has_started, START_SECONDS)
        return self

    def _has_started(self) -> bool:
        try:
            return self.is_ready()
        except TimeoutError:  # it compiles, and others keep the machine busy
            return False

    def is_ready(self) -> bool:
        """Say whether it says that it is ready."""
        assert self.process.poll() is None, "the server ended"
        with self.asker() as asker:
            reply = asker.ask("GET", "/readyz")
        assert reply.status == 200 or (reply.status == 503 and reply.is_problem), reply
        return reply.status == 200

    @contextlib.contextmanager
    def asker(self) -> Iterator[Asker]:
        """Give out a connection to it."""
        asker = Asker(self.url, self.key)
        try:
            yield asker
        finally:
            asker.close()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill it in the middle of whatever it does."""
        self.process.kill()
        assert self.process.wait() == -signal.SIGKILL

    def wait(self, seconds: float) -> int:
        """Wait until it ends; return its exit code."""
        return self.process.wait(seconds)
