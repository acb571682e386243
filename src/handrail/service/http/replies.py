"""Answers: their bodies in compact JSON, and the headers that all of them have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, Final

import msgspec

from handrail.service.http.asgi import Disconnected, Header, Receive, Send, until_gone
from handrail.service.problems import Problem

__all__ = ["JSON", "PROBLEM", "SECURITY", "Reply", "from_problem", "json_reply", "on_the_wire"]

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"

SECURITY: Final[tuple[Header, ...]] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""An answer is data for a program: no browser shall run, frame, guess or keep it."""

_JSON_HEADERS: Final = ((b"content-type", JSON.encode()), *SECURITY)
_PROBLEM_HEADERS: Final = ((b"content-type", PROBLEM.encode()), *SECURITY)
_EXTRA: Final[dict[int, tuple[Header, ...]]] = {
    401: ((b"www-authenticate", b'Bearer realm="handrail"'),),
    503: ((b"retry-after", b"1"),),
}

_encode: Final = msgspec.json.Encoder().encode


class Reply:
    """An answer.

    Parameters
    ----------
    status : int
        The HTTP status.
    headers : sequence
        All headers but the length.
    body : bytes, default=b""
        The whole body, unless it is a stream.
    stream : async generator of bytes, optional
        The body in parts.
    close : callable, optional
        What lets go of the stream's source, be it read or not.
    """

    __slots__ = ("body", "close", "headers", "status", "stream")

    def __init__(
        self,
        status: int,
        headers: Sequence[Header],
        body: bytes = b"",
        stream: AsyncGenerator[bytes, None] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.stream = stream
        self.close = close

    async def send(self, send: Send, receive: Receive, head: bool = False) -> None:
        """Send it, without the body if only the head was asked for."""
        if self.stream is not None:
            try:
                async with aclosing(self.stream):
                    await self._send_stream(self.stream, send, receive, head)
            finally:
                if self.close is not None:
                    self.close()
            return
        length = (b"content-length", b"%d" % len(self.body))
        headers = [*self.headers, length]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if head else self.body})

    async def _send_stream(
        self, stream: AsyncGenerator[bytes, None], send: Send, receive: Receive, head: bool
    ) -> None:
        """Send a stream; one that fails is broken off, so that nobody takes it for whole."""
        headers = list(self.headers)
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        if not head:
            gone = asyncio.ensure_future(until_gone(receive))
            try:
                async for part in stream:
                    if gone.done():
                        raise Disconnected
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            finally:
                gone.cancel()
        await send({"type": "http.response.body", "body": b""})


def json_reply(answer: Any, status: int = 200, headers: Sequence[Header] = ()) -> Reply:
    """Return an answer as JSON."""
    return Reply(status, (*_JSON_HEADERS, *headers) if headers else _JSON_HEADERS, _encode(answer))


def from_problem(problem: Problem, headers: Sequence[Header] = ()) -> Reply:
    """Return the answer that says no."""
    extra = _EXTRA.get(problem.status, ())
    return Reply(problem.status, (*_PROBLEM_HEADERS, *extra, *headers), _encode(problem.document()))


def on_the_wire(problem: Problem) -> bytes:
    """Return a whole HTTP answer that says no and closes, for what never became a request."""
    reply = from_problem(problem, [(b"connection", b"close")])
    lines = [b"HTTP/1.1 %d %s" % (reply.status, HTTPStatus(reply.status).phrase.encode())]
    lines += [b"%s: %s" % header for header in reply.headers]
    lines += [b"content-length: %d" % len(reply.body), b"", reply.body]
    return b"\r\n".join(lines)
