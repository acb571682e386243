"""Carrying requests: once in the calling thread, once in an event loop."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpcore
import httpx

from handrail._version import __version__
from handrail.client.deadline import Deadline, DeadlineBackend
from handrail.client.settings import Settings
from handrail.client.steps import Failure, Outcome, Reply, Request

__all__ = ["AsyncWire", "Wire"]

_CONNECTIONS: Final = 100
_IDLE_SECONDS: Final = 20.0
"""Less than servers and what stands before them commonly keep an idle connection."""
_LARGEST: Final = 64 * 2**20
"""Bytes of an answer; what is larger is not the service's."""
_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.InvalidURL,
    httpx.LocalProtocolError,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
)


class _TooLarge(Exception):
    """The answer is larger than any of the service's."""


class _Body:
    """Gathers an answer's body."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > _LARGEST:
            raise _TooLarge

    def reply(self, status: int) -> Reply:
        return Reply(status, b"".join(self._parts))


def _headers(settings: Settings) -> dict[str, str]:
    headers = {
        "Accept": "application/json, application/problem+json, application/x-ndjson",
        "Accept-Encoding": "identity",
        "User-Agent": f"handrail/{__version__}",
    }
    if settings.key is not None:
        headers["Authorization"] = f"Bearer {settings.key}"
    return headers


def _content_type(request: Request) -> dict[str, str]:
    return {"Content-Type": "application/json"} if request.body else {}


def _failure(error: Exception, request: Request, began: float) -> Failure:
    """Return what an exception means."""
    said = str(error) or type(error).__name__
    sent = not isinstance(error, _NEVER_SENT)
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return Failure("timeout", f"no answer within {request.deadline - began:.3g} s", sent)
    if isinstance(error, _TooLarge):
        return Failure("unreadable", f"the answer has more than {_LARGEST} bytes", sent=True)
    if isinstance(error, httpx.TransportError) and sent:
        return Failure("broken", f"the connection broke: {said}", sent=True)
    return Failure("unreachable", said, sent)


def _too_late(request: Request, now: float) -> Failure | None:
    if request.deadline > now:
        return None
    return Failure("timeout", "the time was over before anything was sent", sent=False)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise httpcore's errors as httpx's of the same names."""
    try:
        yield
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        kind = getattr(httpx, type(error).__name__, httpx.TransportError)
        raise kind(str(error)) from error


class _Parts(httpx.SyncByteStream):
    """An answer's body as it comes."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _translated():
            yield from self._response.iter_stream()

    def close(self) -> None:
        """Give the connection back, or close it if the body was not read to its end."""
        self._response.close()


class _Transport(httpx.BaseTransport):
    """A pool of connections that keep to the deadline of the thread that uses them."""

    def __init__(self, context: ssl.SSLContext, deadline: Deadline) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=_CONNECTIONS,
            max_keepalive_connections=_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=DeadlineBackend(deadline),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's body is read later."""
        assert isinstance(request.stream, httpx.SyncByteStream)
        with _translated():
            response = self._pool.handle_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(
                        scheme=request.url.raw_scheme,
                        host=request.url.raw_host,
                        port=request.url.port,
                        target=request.url.raw_path,
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(response.status, headers=response.headers, stream=_Parts(response))

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class Wire:
    """Carries requests in the calling thread; calls from several threads are fine."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.url
        self._deadline = Deadline()
        self._http = httpx.Client(
            transport=_Transport(settings.context, self._deadline),
            headers=_headers(settings),
            trust_env=False,
        )

    def send(self, request: Request) -> Outcome:
        """Return what became of a request; an error is no exception here."""
        if request.delay:
            time.sleep(request.delay)
        began = time.monotonic()
        late = _too_late(request, began)
        if late is not None:
            return late
        try:
            with (
                self._deadline.until(request.deadline),
                self._http.stream(
                    request.method,
                    self._url + request.path,
                    content=request.body,
                    headers=_content_type(request),
                    timeout=request.deadline - began,
                ) as response,
            ):
                body = _Body()
                for part in response.iter_raw():
                    body.add(part)
                return body.reply(response.status_code)
        except Exception as error:
            return _failure(error, request, began)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncWire:
    """Carries requests in an event loop; one for each loop."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.url
        limits = httpx.Limits(
            max_connections=_CONNECTIONS,
            max_keepalive_connections=_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
        )
        self._http = httpx.AsyncClient(
            verify=settings.context, headers=_headers(settings), limits=limits, trust_env=False
        )

    async def send(self, request: Request) -> Outcome:
        """Return what became of a request; an error is no exception here."""
        if request.delay:
            await asyncio.sleep(request.delay)
        began = time.monotonic()
        late = _too_late(request, began)
        if late is not None:
            return late
        left = request.deadline - began
        try:
            async with (
                asyncio.timeout(left),
                self._http.stream(
                    request.method,
                    self._url + request.path,
                    content=request.body,
                    headers=_content_type(request),
                    timeout=left,
                ) as response,
            ):
                body = _Body()
                async for part in response.aiter_raw():
                    body.add(part)
                return body.reply(response.status_code)
        except Exception as error:
            return _failure(error, request, began)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()
