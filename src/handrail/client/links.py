"""Connections for the calling thread: every operation gets what is left of the request's time.

Time-outs of sockets are for one operation, so that an answer that drips in could take for ever.
Here connecting, the TLS handshake, each write and each read end at one deadline.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

from handrail.client.exchange import Exchange
from handrail.client.journey import Journey, TooLarge
from handrail.client.lookup import Found, Lookups
from handrail.client.settings import Settings
from handrail.client.steps import Outcome, Reply, Request

__all__ = ["Wire"]

IDLE_SECONDS: Final = 20.0
"""Less than servers, and what stands before them, commonly keep an idle connection."""
CHUNK: Final = 2**16


class _Link:
    """One connection."""

    def __init__(self, end: socket.socket, settings: Settings) -> None:
        self._end = end
        self._exchange = Exchange(settings)
        self._since = 0.0

    def carry(self, request: Request, journey: Journey) -> Reply:
        """Send a request and read its answer."""
        rest = memoryview(self._exchange.begin(request))
        try:
            while rest:
                self._end.settimeout(journey.left())
                journey.sent = True
                rest = rest[self._end.send(rest) :]
        except TimeoutError:
            raise
        except OSError:
            pass  # who refuses to read on may have said why
        reply = None
        while reply is None:
            self._end.settimeout(journey.left())
            reply = self._exchange.receive(self._end.recv(CHUNK))
        return reply

    def rest(self) -> bool:
        """Be put aside; return whether it can carry another request."""
        self._since = time.monotonic()
        return self._exchange.renew()

    def usable(self) -> bool:
        """Return whether it is worth another request: not old, and still silent."""
        return not (self.old() or _readable(self._end))

    def old(self) -> bool:
        """Return whether it was put aside too long ago."""
        return time.monotonic() - self._since > IDLE_SECONDS

    def close(self) -> None:
        """Close it."""
        self._end.close()


def _readable(end: socket.socket) -> bool:
    """Return whether there is something to read, the end among it."""
    if hasattr(select, "poll"):  # unlike select, for any number of open files
        poll = select.poll()
        poll.register(end, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([end], [], [], 0)[0])


class Wire:
    """Carries requests in the calling thread; calls from several threads are fine.

    Parameters
    ----------
    settings : Settings
        The client's.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lookups = Lookups()
        # No Semaphore: the handler of a signal that raises within its code leaves its lock taken.
        self._slots: SimpleQueue[int] = SimpleQueue()
        for slot in range(1, settings.connections + 1):
            self._slots.put(slot)
        self._lock = threading.Lock()
        self._idle: list[_Link] = []  # the one used last is the last
        self._closed = False

    def send(self, request: Request) -> Outcome:
        """Return what became of a request; an error is no exception here."""
        if request.delay:
            time.sleep(request.delay)
        journey = Journey(request.deadline)
        try:
            if self._closed:
                raise ConnectionError("the client was closed")
            # A signal's handler runs after a call: raising after a plain call of `get`, it would
            # lose the slot for good. None runs after a step of an iterator that is written in C.
            for slot in iter(partial(self._slots.get, timeout=journey.left()), 0):
                try:
                    return self._carry(request, journey)
                finally:
                    self._slots.put(slot)
            raise AssertionError("there is no slot 0")
        except Empty:
            return journey.failure(TimeoutError())
        except Exception as error:
            return journey.failure(error)

    def _carry(self, request: Request, journey: Journey) -> Reply:
        """Use a connection that is there; a new one if that breaks, or may not be tried."""
        link = self._take() if request.again else None
        if link is not None:
            try:
                return self._carry_over(link, request, journey)
            except (TimeoutError, TooLarge):
                raise
            except Exception:
                self._drop()  # the others have been there as long: the service may be a new one
        return self._carry_over(self._connect(journey), request, journey)

    def _carry_over(self, link: _Link, request: Request, journey: Journey) -> Reply:
        keep = False
        try:
            reply = link.carry(request, journey)
            keep = link.rest()
            return reply
        finally:
            self._put(link, keep)

    def _take(self) -> _Link | None:
        """Return the connection used last that is still good."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                link = self._idle.pop()
            if link.usable():
                return link
            link.close()

    def _put(self, link: _Link, keep: bool) -> None:
        """Put a connection aside, or close it; close what nobody used for long."""
        gone = []
        with self._lock:
            if keep and not self._closed:
                self._idle.append(link)
                while self._idle and self._idle[0].old():
                    gone.append(self._idle.pop(0))
            else:
                gone.append(link)
        for each in gone:
            each.close()

    def _connect(self, journey: Journey) -> _Link:
        """Connect to the first address that answers; each gets its share of the time."""
        settings = self._settings
        answers: SimpleQueue[Found] = SimpleQueue()
        self._lookups.start(settings.host, answers.put)
        addresses = answers.get(timeout=journey.left())
        if isinstance(addresses, OSError):
            raise addresses
        for place, address in enumerate(addresses, start=1):
            share = journey.left() / (len(addresses) + 1 - place)
            try:
                end = socket.create_connection((address, settings.port), timeout=share)
            except OSError:
                if place == len(addresses):
                    raise
            else:
                break
        else:
            raise OSError(f"{settings.host} has no address")
        try:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.context is not None:
                end.settimeout(journey.left())
                end = settings.context.wrap_socket(end, server_hostname=settings.host)
        except BaseException:
            end.close()
            raise
        return _Link(end, settings)

    def _drop(self) -> None:
        with self._lock:
            gone, self._idle = self._idle, []
        for link in gone:
            link.close()

    def close(self) -> None:
        """Close all connections; those in use close when they are done."""
        with self._lock:
            self._closed = True
        self._drop()
