"""uvicorn's protocol, and what it lacks: clients that are slow, endless or too many.

A connection is looked at once in a while (`look`) rather than timed: on the way of a request that
behaves, this costs a comparison and no timer.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from handrail.service.http.asgi import Receive, Scope, Send
from handrail.service.http.replies import from_problem, on_the_wire
from handrail.service.limits import Limits
from handrail.service.problems import Problem

__all__ = ["Watched", "watched"]

_LINGER: Final = 2.0
"""Seconds in which a connection that is closed has to take what it was sent."""
_SURPLUS: Final = 100
"""Connections beyond the limit that are told so; those beyond are cut off."""

_BAD: Final = on_the_wire(Problem(400, "is not HTTP/1.1", field="request"))
_SLOW: Final = on_the_wire(Problem(408, "did not arrive in time", field="request"))
_LINE_BYTES: Final = len(b"  HTTP/1.1\r\n\r\n")
"""Of a head besides its method, its address and its headers."""

_CODING: Final = b"transfer-encoding"
_ONCE: Final = (b"authorization", b"content-encoding", b"content-type", b"host", b"origin", _CODING)
"""Headers of which a second one would say something else to whoever reads the first."""
_HOST: Final = re.compile(rb"(?:\[[0-9A-Za-z:.%_-]+\]|[0-9A-Za-z._-]*)(?::[0-9]*)?[ \t]*")
"""A name or an address, and a port: nothing that somebody else may read another host from."""
_PIPELINED: Final = 100
"""Requests that wait behind one of the same connection: all in a piece are taken in one go."""


def _too_large(most: int) -> bytes:
    return on_the_wire(Problem(431, f"is larger than {most} bytes", field="head"))


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a connection that is one too many."""
    problem = Problem(503, "too many connections", remedy="use fewer, and keep them alive")
    await from_problem(problem, [(b"connection", b"close")]).send(send, receive)


class Watched(HttpToolsProtocol):
    """A connection that is watched; made by `watched`."""

    limits: Limits

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._since = 0.0
        """When the present request began to arrive, or the connection was made."""
        self._head = True
        """Whether a request's line and headers are awaited."""
        self._begun = False
        """Whether they began to arrive."""
        self._bytes = 0
        """How much of the present request arrived, after the piece that it began in."""
        self._refusal = _BAD
        """What is answered to what the parser does not take."""
        self._closing = 0.0
        self._paused = 0.0
        self._served: RequestResponseCycle | None = None
        """The request that is answered now; uvicorn has only the one that came last."""
        self._last = False
        """Whether it is the last one of this connection, whatever else comes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        self._since = self.loop.time()
        surplus = len(self.connections) - self.limits.connections
        if surplus > _SURPLUS:
            transport.abort()
        elif surplus > 0:
            self.app = _busy

    def data_received(self, data: bytes) -> None:
        """Take bytes, and no more of them than a request may have."""
        if self._last:
            return
        self._bytes += len(data)
        super().data_received(data)
        if self._head:
            if self._bytes > self.limits.head_bytes:
                self._end(_too_large(self.limits.head_bytes))
        elif self.cycle.more_body:
            # Chunks may be tiny and cost more than they bring, but not without end.
            if self._bytes > self.limits.head_bytes + 2 * self.limits.body_bytes:
                self._end(b"")
        elif self.timeout_keep_alive_task is None and self.cycle.response_complete:
            # What came was no request, not even its beginning, and stopped uvicorn's timer.
            self._head = True
            self._since = self.loop.time()

    def on_message_begin(self) -> None:
        """Begin to watch a request."""
        super().on_message_begin()
        self._head = self._begun = True
        self._bytes = 0
        self._since = self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is none, and nobody before us has looked at it."""
        if self._head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand on a request whose head is whole; what came in one piece is measured only now."""
        line = len(self.parser.get_method()) + len(self.url) + _LINE_BYTES
        size = line + sum([len(name) + len(value) + 4 for name, value in self.headers])
        if size > self.limits.head_bytes:
            self._refusal = _too_large(self.limits.head_bytes)
            raise ValueError("the head is too large")  # the parser stops: `send_400_response`
        if self._is_ambiguous() or len(self.pipeline) >= _PIPELINED:
            raise ValueError("the request is ambiguous, or one of too many")
        is_next = not self._in_flight()
        super().on_headers_complete()
        if is_next:
            self._served = self.cycle
        self._head = self._begun = False

    def _is_ambiguous(self) -> bool:
        """Say whether a proxy in front may have understood another request than we do."""
        version = self.parser.get_http_version()
        head = dict(self.headers)
        # Of 1.0, which knows neither a transfer coding nor that there has to be a host.
        if version != "1.1" and (version != "1.0" or _CODING in head):
            return True
        if not _HOST.fullmatch(head.get(b"host", b"" if version == "1.0" else b"/")):
            return True
        if len(head) < len(self.headers):
            names = [name for name, _ in self.headers]
            if any(names.count(name) > 1 for name in _ONCE):
                return True
        return head.get(_CODING, b"chunked").lower() != b"chunked"

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as if no upgrade had been asked for, and then close: the parser is done."""
        self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP, or too much of it."""
        self._end(self._refusal)

    def pause_writing(self) -> None:
        """Remember since when the client has not read what it was sent."""
        super().pause_writing()
        self._paused = self.loop.time()

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        super().resume_writing()
        self._paused = 0.0

    def on_response_complete(self) -> None:
        """Close if nobody can tell whether the rest of the request still comes."""
        if self.pipeline:  # uvicorn goes on with the oldest
            self._served = self.pipeline[-1][0]
        super().on_response_complete()
        if self.expect_100_continue and self.cycle.more_body:
            self.transport.close()

    def _end(self, answer: bytes) -> None:
        """Close, with an answer unless it would be taken for that to another request."""
        if self.transport.is_closing():
            return
        served = self._served
        came = self._head or served is not self.cycle or not self.cycle.more_body
        if came and served is not None and not served.response_complete:
            # It came whole and may have changed something: its answer is the last one.
            served.keep_alive = False
            self.pipeline.clear()
            self._last = True
            return
        if answer and (self._head or not self.cycle.response_started):
            self.transport.write(answer)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is answered now: uvicorn tells the one that came last."""
        if self._served is not None:
            self._served.disconnected = True
            self._served.message_event.set()
        super().connection_lost(exc)

    def _in_flight(self) -> bool:
        """Say whether an earlier request of this connection is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def look(self, now: float) -> None:
        """Close the connection if its client is too slow."""
        limits = self.limits
        if self.transport.is_closing():
            self._closing = self._closing or now
            if now - self._closing > _LINGER:
                self.transport.abort()
        elif self._paused and now - self._paused > limits.body_seconds:
            self.transport.abort()
        elif self._head:
            if now - self._since > limits.header_seconds and not self._in_flight():
                self._end(_SLOW if self._begun else b"")
        elif self.cycle.more_body and now - self._since > limits.body_seconds:
            self._end(_SLOW)


def watched(limits: Limits) -> type[Watched]:
    """Return the protocol with these limits."""
    return type("Watched", (Watched,), {"limits": limits})
