"""A client that costs little: a few keep-alive connections, one request in flight on each.

Requests are bytes made beforehand, answers are hardly looked at, and one thread waits for all of
the connections, since client and server share the machine.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Load", "User", "drive", "percentile", "request"]

User: TypeAlias = Generator[bytes, bytes, None]
"""Yields requests and is sent the bodies of the answers."""

_PATIENCE = 120_000
"""Milliseconds without a single answer after which the server counts as stuck."""


@dataclass(frozen=True)
class Load:
    """What came of it."""

    seconds: float
    latencies: list[list[float]]
    """Seconds by connection, in the order of its requests."""

    @property
    def requests(self) -> int:
        """How many were answered."""
        return sum(map(len, self.latencies))

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    def every(self, step: int, offset: int = 0) -> list[float]:
        """Return the latencies of each connection's offset-th request of every `step`, sorted."""
        return sorted(value for one in self.latencies for value in one[offset::step])


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which that share of sorted values lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def request(path: str, body: bytes, key: str, method: str = "POST") -> bytes:
    """Return a request as bytes."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection:
    """A socket, its user, and what was received of the present answer."""

    def __init__(self, port: int, user: User) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.user = user
        self.received = b""
        self.expected = 0
        self.sent = 0.0
        self.latencies: list[float] = []

    def send(self, data: bytes) -> None:
        self.sent = time.perf_counter()
        self.socket.sendall(data)

    def answer(self) -> bytes | None:
        """Receive; return the body of the answer if it is whole."""
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server closed a connection")
        self.received = data = self.received + data
        if not self.expected:
            head = data.find(b"\r\n\r\n")
            if head < 0:
                return None
            length = data[:head].lower().find(b"content-length:")
            end = data.find(b"\r\n", length)
            self.expected = head + 4 + int(data[length + 15 : end])
        if len(data) < self.expected:
            return None
        self.latencies.append(time.perf_counter() - self.sent)
        body = data[data.find(b"\r\n\r\n") + 4 :]
        if data[9:11] != b"20":
            raise ConnectionError(f"{data[9:40]!r}: {body[:500].decode(errors='replace')}")
        self.received, self.expected = b"", 0
        return body


def drive(port: int, users: Sequence[User]) -> Load:
    """Let users talk to a server of this machine, each on a connection of its own."""
    with ExitStack() as stack:
        everyone = [_Connection(port, user) for user in users]
        for connection in everyone:
            stack.enter_context(connection.socket)
        start = time.perf_counter()
        _talk(everyone)
        seconds = time.perf_counter() - start
    return Load(seconds, [connection.latencies for connection in everyone])


def _talk(everyone: Sequence[_Connection]) -> None:
    """Send and receive until all users are done."""
    poll = select.poll()
    talking = {connection.socket.fileno(): connection for connection in everyone}
    for descriptor, connection in talking.items():
        poll.register(descriptor, select.POLLIN)
        connection.send(next(connection.user))
    while talking:
        ready = poll.poll(_PATIENCE)
        if not ready:
            raise TimeoutError("the server does not answer")
        for descriptor, _ in ready:
            connection = talking[descriptor]
            body = connection.answer()
            if body is None:
                continue
            try:
                connection.send(connection.user.send(body))
            except StopIteration:
                poll.unregister(descriptor)
                del talking[descriptor]
