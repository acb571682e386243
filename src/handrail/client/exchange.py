"""HTTP/1.1 on one connection, without the connection: bytes to send, bytes that came."""

from __future__ import annotations

from typing import Final

import h11

from handrail._version import __version__
from handrail.client.journey import TooLarge
from handrail.client.settings import Settings
from handrail.client.steps import Reply, Request

__all__ = ["Exchange"]

_HEAD: Final = 64 * 2**10
"""Bytes of an answer's headers."""
_LARGEST: Final = 64 * 2**20
"""Bytes of an answer; what is larger is not the service's."""


class Exchange:
    """Requests and answers, one after the other.

    Parameters
    ----------
    settings : Settings
        The client's.
    """

    def __init__(self, settings: Settings) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._base = settings.base
        self._headers = [
            ("Host", settings.netloc),
            ("Accept", "application/json, application/problem+json, application/x-ndjson"),
            ("Accept-Encoding", "identity"),
            ("User-Agent", f"handrail/{__version__}"),
        ]
        if settings.key is not None:
            self._headers.append(("Authorization", f"Bearer {settings.key}"))
        self._status = 0
        self._body: list[bytes] = []
        self._size = 0

    def begin(self, request: Request) -> bytes:
        """Return the bytes of a request."""
        headers = [*self._headers]
        if request.body is not None:
            headers.append(("Content-Length", str(len(request.body))))
            if request.body:
                headers.append(("Content-Type", "application/json"))
        self._status, self._body, self._size = 0, [], 0
        http = self._http
        parts = [
            http.send(
                h11.Request(
                    method=request.method, target=self._base + request.path, headers=headers
                )
            )
        ]
        if request.body:
            parts.append(http.send(h11.Data(data=request.body)))
        parts.append(http.send(h11.EndOfMessage()))
        return b"".join(part for part in parts if part is not None)

    def receive(self, data: bytes) -> Reply | None:
        """Take bytes, none at the connection's end; return the answer once it is whole."""
        if not data and not self._status:
            raise ConnectionError("it was closed before an answer came")
        self._http.receive_data(data)
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                return None
            if isinstance(event, h11.Response):
                self._status = event.status_code
            elif isinstance(event, h11.Data):
                self._body.append(bytes(event.data))
                self._size += len(event.data)
                if self._size > _LARGEST:
                    raise TooLarge(f"the answer has more than {_LARGEST} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return Reply(self._status, b"".join(self._body))

    def renew(self) -> bool:
        """Make ready for the next request; return whether the connection can carry one."""
        http = self._http
        if http.trailing_data[0] or http.our_state is not h11.DONE:
            return False
        if http.their_state is not h11.DONE:
            return False
        http.start_next_cycle()
        return True
