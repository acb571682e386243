"""Connections for asyncio: names are looked up outside the application's threads.

The deadline is the event loop's business: whoever carries a request stops it there. A lookup it
cannot stop, and asyncio would run each in one of the few threads that the application has for its
own work.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from handrail.client.journey import JOURNEY
from handrail.client.lookup import Lookups

__all__ = ["AsyncNetwork"]


class AsyncNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections that note when a request begins to leave."""

    def __init__(self) -> None:
        self._inner = httpcore.AnyIOBackend()
        self._lookups = Lookups()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers; each gets its share of the time."""
        try:
            addresses = await asyncio.wrap_future(self._lookups.start(host))
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        for place, address in enumerate(addresses, start=1):
            left = JOURNEY.get().left(httpcore.ConnectTimeout)
            share = left / (len(addresses) + 1 - place)
            try:
                stream = await self._inner.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses):
                    raise
            else:
                return _Stream(stream)
        raise httpcore.ConnectError(f"{host} has no address")


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that notes when a request begins to leave."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there, or wait for something."""
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        JOURNEY.get().sent = True
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Shake hands."""
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of the connection."""
        return self._inner.get_extra_info(info)
