"""A deadline for a whole request in the calling thread.

httpx bounds each operation on a socket, so that an answer that drips in can take for ever. Here
every operation gets what is left of the request's time: connecting, the TLS handshake, each write,
each read. Names are looked up in a thread of their own, because a lookup cannot be interrupted: the
caller stops waiting for it at the deadline, the thread ends when the system gives up.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import httpcore

__all__ = ["Deadline", "DeadlineBackend"]


class Deadline(threading.local):
    """When the request of this thread must be over."""

    at: float = float("inf")

    @contextmanager
    def until(self, at: float) -> Iterator[None]:
        """Set it for a while."""
        self.at = at
        try:
            yield
        finally:
            self.at = float("inf")

    def left(self, late: type[Exception]) -> float:
        """Return the seconds that are left; raise if there are none."""
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise late("the time is over")
        return min(seconds, threading.TIMEOUT_MAX)


class DeadlineBackend(httpcore.NetworkBackend):
    """Opens connections whose every operation ends at the deadline of the thread that uses it."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._inner = httpcore.SyncBackend()
        self._lookups: dict[str, Future[list[str]]] = {}
        self._lock = threading.Lock()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers; each gets its share of the time."""
        addresses = self._resolve(host)
        for place, address in enumerate(addresses, start=1):
            share = self._deadline.left(httpcore.ConnectTimeout) / (len(addresses) + 1 - place)
            try:
                stream = self._inner.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses):
                    raise
            else:
                return _Stream(stream, self._deadline)
        raise httpcore.ConnectError(f"{host} has no address")

    def _resolve(self, host: str) -> list[str]:
        """Return a host's addresses; threads that ask at the same time share a lookup."""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            pass
        else:
            return [host]
        with self._lock:
            lookup = self._lookups.get(host)
            if lookup is None:
                lookup = self._lookups[host] = Future()
                threading.Thread(
                    target=self._look_up, args=(host, lookup), daemon=True, name="handrail-lookup"
                ).start()
        try:
            return lookup.result(self._deadline.left(httpcore.ConnectTimeout))
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"looking up {host} took too long") from None
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error

    def _look_up(self, host: str, lookup: Future[list[str]]) -> None:
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        except Exception as error:
            self._lookups.pop(host, None)
            lookup.set_exception(error if isinstance(error, OSError) else OSError(str(error)))
        else:
            self._lookups.pop(host, None)
            lookup.set_result(addresses)


class _Stream(httpcore.NetworkStream):
    """A connection; the time-outs of single operations are replaced by what is left."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there, or wait for something."""
        return self._inner.read(max_bytes, self._deadline.left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it; the time is looked at after every part the system takes."""
        end: socket.socket = self._inner.get_extra_info("socket")
        rest = memoryview(buffer)
        while rest:
            try:
                end.settimeout(self._deadline.left(httpcore.WriteTimeout))
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
        left = self._deadline.left(httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of the connection."""
        return self._inner.get_extra_info(info)
