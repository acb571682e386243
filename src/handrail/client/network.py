"""Connections for the calling thread: every operation gets what is left of the request's time.

httpx bounds each operation on a socket by itself, so that an answer that drips in can take for
ever. Here connecting, the TLS handshake, each write and each read end at one deadline.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from handrail.client.journey import JOURNEY
from handrail.client.lookup import Lookups

__all__ = ["Network"]


class Network(httpcore.NetworkBackend):
    """Opens connections whose every operation ends at the deadline of the thread that uses it."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()
        self._lookups = Lookups()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers; each gets its share of the time."""
        journey = JOURNEY.get()
        try:
            left = journey.left(httpcore.ConnectTimeout)
            addresses = self._lookups.start(host).result(left)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"looking up {host} took too long") from None
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        for place, address in enumerate(addresses, start=1):
            share = journey.left(httpcore.ConnectTimeout) / (len(addresses) + 1 - place)
            try:
                stream = self._inner.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses):
                    raise
            else:
                return _Stream(stream)
        raise httpcore.ConnectError(f"{host} has no address")


class _Stream(httpcore.NetworkStream):
    """A connection; the time-outs of single operations are replaced by what is left."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there, or wait for something."""
        return self._inner.read(max_bytes, JOURNEY.get().left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it; the time is looked at after every part the system takes."""
        journey = JOURNEY.get()
        end: socket.socket = self._inner.get_extra_info("socket")
        rest = memoryview(buffer)
        while rest:
            end.settimeout(journey.left(httpcore.WriteTimeout))
            journey.sent = True
            try:
                rest = rest[end.send(rest) :]
            except TimeoutError as error:
                raise httpcore.WriteTimeout(str(error)) from error
            except OSError as error:
                raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        """Close it."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Shake hands."""
        left = JOURNEY.get().left(httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of the connection."""
        return self._inner.get_extra_info(info)
