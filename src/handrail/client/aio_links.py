"""Connections for asyncio; the event loop ends what takes too long."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future

from handrail.client.exchange import Exchange
from handrail.client.journey import Journey, TooLarge
from handrail.client.links import CHUNK, IDLE_SECONDS
from handrail.client.lookup import Found, Lookups
from handrail.client.settings import Settings
from handrail.client.steps import Outcome, Reply, Request

__all__ = ["AsyncWire"]


class _Link:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settings: Settings
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._exchange = Exchange(settings)
        self._since = 0.0

    async def carry(self, request: Request, journey: Journey) -> Reply:
        """Send a request and read its answer."""
        data = self._exchange.begin(request)
        journey.sent = True
        try:
            self._writer.write(data)
            await self._writer.drain()
        except TimeoutError:
            raise
        except OSError:
            pass  # who refuses to read on may have said why
        reply = None
        while reply is None:
            reply = self._exchange.receive(await self._reader.read(CHUNK))
        return reply

    def rest(self) -> bool:
        """Be put aside; return whether it can carry another request."""
        self._since = time.monotonic()
        return self._exchange.renew()

    def usable(self) -> bool:
        """Return whether it is worth another request: not old, and still open."""
        return not (self.old() or self._reader.at_eof() or self._writer.is_closing())

    def old(self) -> bool:
        """Return whether it was put aside too long ago."""
        return time.monotonic() - self._since > IDLE_SECONDS

    def close(self) -> None:
        """Close it at once: nothing is under way, or nobody waits for it any more."""
        self._writer.transport.abort()


class AsyncWire:
    """Carries requests in an event loop; one for each loop.

    Parameters
    ----------
    settings : Settings
        The client's.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lookups = Lookups()
        self._slots = asyncio.Semaphore(settings.connections)
        self._idle: list[_Link] = []
        self._closed = False

    async def send(self, request: Request) -> Outcome:
        """Return what became of a request; an error is no exception here."""
        if request.delay:
            await asyncio.sleep(request.delay)
        journey = Journey(request.deadline)
        try:
            if self._closed:
                raise ConnectionError("the client was closed")
            async with asyncio.timeout(journey.left()), self._slots:
                return await self._carry(request, journey)
        except Exception as error:
            return journey.failure(error)

    async def _carry(self, request: Request, journey: Journey) -> Reply:
        """Use a connection that is there; a new one if that breaks, or may not be tried."""
        link = self._take() if request.again else None
        if link is not None:
            try:
                return await self._carry_over(link, request, journey)
            except (TimeoutError, TooLarge):
                raise
            except Exception:
                self._drop()  # the others have been there as long: the service may be a new one
        return await self._carry_over(await self._connect(journey), request, journey)

    async def _carry_over(self, link: _Link, request: Request, journey: Journey) -> Reply:
        keep = False
        try:
            reply = await link.carry(request, journey)
            keep = link.rest()
            return reply
        finally:
            self._put(link, keep)

    def _take(self) -> _Link | None:
        """Return the connection used last that is still good."""
        while self._idle:
            link = self._idle.pop()
            if link.usable():
                return link
            link.close()
        return None

    def _put(self, link: _Link, keep: bool) -> None:
        """Put a connection aside, or close it; close what nobody used for long."""
        if keep and not self._closed:
            self._idle.append(link)
            while self._idle and self._idle[0].old():
                self._idle.pop(0).close()
        else:
            link.close()

    async def _connect(self, journey: Journey) -> _Link:
        """Connect to the first address that answers; each gets its share of the time."""
        settings = self._settings
        # Not by the loop: it would use one of the few threads that the application has.
        answer: Future[Found] = Future()
        answer.set_running_or_notify_cancel()  # who gives up cancels nothing
        self._lookups.start(settings.host, answer.set_result)
        addresses = await asyncio.wrap_future(answer)
        if isinstance(addresses, OSError):
            raise addresses
        name = settings.host if settings.context is not None else None
        for place, address in enumerate(addresses, start=1):
            share = journey.left() / (len(addresses) + 1 - place)
            try:
                async with asyncio.timeout(share):
                    reader, writer = await asyncio.open_connection(
                        address, settings.port, ssl=settings.context, server_hostname=name
                    )
            except OSError:  # a time-out is one
                if place == len(addresses):
                    raise
            else:
                return _Link(reader, writer, settings)
        raise OSError(f"{settings.host} has no address")

    def _drop(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def close(self) -> None:
        """Close all connections; those in use close when they are done."""
        self._closed = True
        self._drop()
        await asyncio.sleep(0)  # sockets are closed in the loop's next turn
