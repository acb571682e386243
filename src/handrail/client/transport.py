"""httpx over connections that keep to deadlines."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final, TypedDict

import httpcore
import httpx

from handrail.client.aio_network import AsyncNetwork
from handrail.client.network import Network

__all__ = ["AsyncTransport", "Transport"]


class _Pool(TypedDict):
    """How many connections are kept, and for how long."""

    max_connections: int
    max_keepalive_connections: int
    keepalive_expiry: float


# Idle ones go before servers, and what stands before them, commonly close them.
_POOL: Final = _Pool(max_connections=100, max_keepalive_connections=100, keepalive_expiry=20.0)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise httpcore's errors as httpx's of the same names."""
    try:
        yield
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        kind = getattr(httpx, type(error).__name__, httpx.TransportError)
        raise kind(str(error)) from error


def _request(request: httpx.Request) -> httpcore.Request:
    url = request.url
    return httpcore.Request(
        method=request.method,
        url=httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        ),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


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


class Transport(httpx.BaseTransport):
    """For the calling thread."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=context, network_backend=Network(), **_POOL
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's body is read later."""
        with _translated():
            response = self._pool.handle_request(_request(request))
        return httpx.Response(response.status, headers=response.headers, stream=_Parts(response))

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class _AsyncParts(httpx.AsyncByteStream):
    """An answer's body as it comes."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        """Give the connection back, or close it if the body was not read to its end."""
        await self._response.aclose()


class AsyncTransport(httpx.AsyncBaseTransport):
    """For asyncio."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context, network_backend=AsyncNetwork(), **_POOL
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's body is read later."""
        with _translated():
            response = await self._pool.handle_async_request(_request(request))
        return httpx.Response(
            response.status, headers=response.headers, stream=_AsyncParts(response)
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()
