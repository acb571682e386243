"""A server on this machine that answers as badly as it is told to."""

from __future__ import annotations

import json
import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeAlias


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


Behaviour: TypeAlias = Callable[[socket.socket, Asked], None]
"""Answers one request; a connection is kept only after `answer`."""

ANSWER = {
    "id": "p-c-7-o",
    "round": 7,
    "action": "new",
    "event": "optimistic",
    "margin": 1.5,
    "reason": "It is the most promising one, and safe.",
    "awaits_reward": True,
    "repeated": False,
}

A_MINUTE = 60.0
"""Longer than any test of the client takes, shorter than who waits for the suite."""

HEARD = {"decision": "p-c-7-o", "status": "baseline", "detail": "It counts as one."}


def response(status: int, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def answer(document: object, status: int = 200) -> Behaviour:
    """Answer as the service does."""
    raw = response(status, json.dumps(document).encode())

    def behave(connection: socket.socket, _: Asked) -> None:
        connection.sendall(raw)

    behave.keeps = True  # type: ignore[attr-defined]
    return behave


def problem(status: int, **fields: str) -> Behaviour:
    return answer({"type": "about:blank", "status": status, **fields}, status)


def raw(*parts: bytes) -> Behaviour:
    """Send these bytes and close."""

    def behave(connection: socket.socket, _: Asked) -> None:
        for part in parts:
            connection.sendall(part)

    return behave


def reset(*parts: bytes) -> Behaviour:
    """Send these bytes and tear the connection down."""

    def behave(connection: socket.socket, asked: Asked) -> None:
        raw(*parts)(connection, asked)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return behave


def drip(body: bytes, every: float, finished: threading.Event) -> Behaviour:
    """Send an answer byte by byte; say so when all of it was sent and nobody had hung up."""

    def behave(connection: socket.socket, _: Asked) -> None:
        pause = threading.Event()
        for place in range(len(body)):
            connection.sendall(body[place : place + 1])
            pause.wait(every)
        finished.set()

    return behave


def after(release: threading.Event, then: Behaviour) -> Behaviour:
    """Do nothing until the test says so, or has failed before it could: then for a minute."""

    def behave(connection: socket.socket, asked: Asked) -> None:
        release.wait(A_MINUTE)
        then(connection, asked)

    return behave


class Server:
    """Where it listens and what it was asked; `plan` is used up first, then `then` for ever."""

    def __init__(
        self,
        listener: socket.socket,
        plan: Sequence[Behaviour],
        then: Behaviour,
        reports: Behaviour | None,
    ) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.asked: queue.Queue[Asked] = queue.Queue()
        self.then = then
        self.reports = reports
        self._plan = list(plan)
        self._listener = listener
        self._lock = threading.Lock()
        self.connections: list[socket.socket] = []
        self.threads: list[threading.Thread] = []

    def next(self) -> Asked:
        """Return the next request, once it is there."""
        return self.asked.get(timeout=60)

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self.connections.append(connection)
                self.threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while (asked := _read(stream)) is not None:
                behave = self._choose(asked)
                self.asked.put(asked)
                behave(connection, asked)
                if not getattr(behave, "keeps", False):
                    return

    def _choose(self, asked: Asked) -> Behaviour:
        if self.reports is not None and asked.path.endswith(("/fallback", "/played")):
            return self.reports
        with self._lock:
            return self._plan.pop(0) if self._plan else self.then


def _read(stream: Any) -> Asked | None:
    line = stream.readline().decode("latin-1").split()
    if len(line) != 3:
        return None
    headers: dict[str, str] = {}
    while (text := stream.readline().decode("latin-1").strip()) != "":
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", "0")))
    return Asked(line[0], line[1], headers, body)


@contextmanager
def misbehaving(
    *plan: Behaviour, then: Behaviour | None = None, reports: Behaviour | None = None
) -> Iterator[Server]:
    """Serve on a free port; reports come when they like and may be served apart."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(listener, plan, answer(ANSWER) if then is None else then, reports)
    thread = threading.Thread(target=server.accept)
    thread.start()
    try:
        yield server
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in server.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for worker in server.threads:
            worker.join()


def closed_port() -> int:
    """Return a port of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
