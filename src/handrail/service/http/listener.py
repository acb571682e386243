"""The listening socket: connections are taken, watched, and let go in order."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from email.utils import formatdate
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from handrail.service.http.protocol import watched
from handrail.service.limits import Limits

__all__ = ["Listener"]

_log = logging.getLogger("handrail.http")


class Listener:
    """Serves an ASGI application on a socket.

    uvicorn reads and writes HTTP; its own server is left out, since that decides by itself when
    the process ends.

    Parameters
    ----------
    app : callable
        The ASGI application.
    limits : Limits
        What is taken at most.
    """

    def __init__(self, app: Any, limits: Limits) -> None:
        self._config = Config(
            app,
            interface="asgi3",
            http=watched(limits),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=limits.keep_alive_seconds,  # type: ignore[arg-type]
        )
        self._config.load()
        self._state = ServerState()
        self._server: asyncio.Server | None = None
        shortest = min(limits.header_seconds, limits.body_seconds)
        self._every = max(0.02, min(1.0, shortest / 4))
        self._watch: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._state.connections)

    async def start(self, listening: socket.socket) -> None:
        """Begin to take connections."""
        loop = asyncio.get_running_loop()
        config, state = self._config, self._state
        protocol: Any = config.http_protocol_class
        self._date()
        self._server = await loop.create_server(
            lambda: protocol(config, state, {}, loop), sock=listening, backlog=config.backlog
        )
        self._watch = loop.create_task(self._look())

    async def _look(self) -> None:
        """Look at all connections once in a while, and at the clock."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._every)
            self._date()
            now = loop.time()
            for connection in list(self._state.connections):
                connection.look(now)  # type: ignore[union-attr]

    def _date(self) -> None:
        date = formatdate(time.time(), usegmt=True).encode()
        self._state.default_headers = [(b"date", date)]

    async def stop(self, grace: float) -> None:
        """Take no more connections, answer what is in flight, and close.

        Parameters
        ----------
        grace : float
            Seconds after which what is not answered is cut off.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        while (self._state.tasks or self._state.connections) and loop.time() < deadline:
            await asyncio.sleep(0.01)
        left = len(self._state.tasks)
        if left:
            _log.warning("requests were cut off", extra={"requests": left})
        await self.abort()

    async def abort(self) -> None:
        """Cut off everything at once."""
        if self._server is not None:
            self._server.close()
        if self._watch is not None:
            self._watch.cancel()
        for connection in list(self._state.connections):
            connection.transport.abort()
        tasks = list(self._state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
