"""The server's life: bind, open, serve, and stop without losing or inventing an answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from handrail.errors import InputError
from handrail.service.http.app import Application
from handrail.service.http.gate import Gate, KeyGate, OpenGate, is_loopback
from handrail.service.http.listener import Listener
from handrail.service.http.ports import DeskPort
from handrail.service.keys import Keyring, new_key
from handrail.service.limits import Limits
from handrail.service.store.protocol import KeyRow, Store

__all__ = ["Settings", "bind", "first_keys", "new_loop", "serve"]

_log = logging.getLogger("handrail.server")
_GLANCE: Final = 0.05
"""Seconds between two looks at whether the desk is broken."""

_LAST: Final = 2.0
"""Seconds in which a server that has stopped may tidy up."""


@dataclass(frozen=True)
class Settings:
    """How a server is started.

    Attributes
    ----------
    host, port : str, int
        Where it listens; port 0 stands for a free one.
    database : str
        A file's path, or an address that begins with `postgresql://`.
    auth : bool
        Whether keys are asked for.
    log_requests : bool
        Whether each request is a line in the log.
    limits : Limits
        What is taken at most.
    """

    host: str
    port: int
    database: str
    auth: bool = True
    log_requests: bool = False
    limits: Limits = field(default_factory=Limits)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address, or say why it cannot be."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise InputError(
            "host", f"{host!r} is no address of this machine", "try 127.0.0.1"
        ) from error
    family, kind, protocol, _, address = found[0]
    bound = socket.socket(family, kind, protocol)
    if os.name == "posix":  # elsewhere this would let two servers share a port
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
        bound.listen(2048)
    except OSError as error:
        bound.close()
        raise InputError(
            "port", f"cannot listen on {host} port {port}: {error.strerror}", "choose another one"
        ) from error
    return bound


def first_keys(store: Store, settings: Settings, say: Callable[[str], None]) -> list[KeyRow]:
    """Return the stored keys; make the first one where nobody has one yet.

    Only where no other machine can connect: the first key is printed for whoever sits here.
    """
    with store.reading() as reader:
        rows = reader.keys()
    if not len(Keyring(rows)) and not is_loopback(settings.host):
        raise InputError(
            "host",
            f"{settings.host} can be reached from elsewhere, and there is no key yet",
            "make one: handrail keys create --role admin",
        )
    if rows:
        return rows
    key, row = new_key("admin")
    with store.writing() as writer:
        writer.add_key(row)
    say(f"the first key, role admin, shown only this once: {key}")
    return [row]


def serve(
    settings: Settings,
    open_store: Callable[[str], Store],
    make_desk: Callable[[Store, Limits], DeskPort],
    say: Callable[[str], None],
) -> int:
    """Serve until told to stop.

    Parameters
    ----------
    settings : Settings
        How.
    open_store : callable
        Opens a database for this server alone.
    make_desk : callable
        Makes the desk on it.
    say : callable
        Tells the person at the terminal: where it listens, and the first key.

    Returns
    -------
    int
        0 after a signal, 1 if the database can no longer be relied on.
    """
    if not settings.auth and not is_loopback(settings.host):
        raise InputError(
            "no-auth",
            f"{settings.host} can be reached from elsewhere",
            "listen on 127.0.0.1, or use keys",
        )
    _raise_file_limit(2 * settings.limits.connections)
    with contextlib.closing(bind(settings.host, settings.port)) as listening:
        store = open_store(settings.database)
        try:
            rows = first_keys(store, settings, say) if settings.auth else None
            desk = make_desk(store, settings.limits)
            with asyncio.Runner(loop_factory=new_loop) as runner:
                code = runner.run(_Server(settings, desk, rows, listening, say).run())
                # All is answered and written. What still runs in a thread, such as compiling,
                # cannot be interrupted and need not be waited for.
                leave = threading.Timer(_LAST, os._exit, [code])
                leave.daemon = True
                leave.start()
        finally:
            store.close()
    leave.cancel()
    return code


def _raise_file_limit(wanted: int) -> None:
    """Let there be as many open files as connections, and some: the usual limit is lower."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop: uvloop's, where there is one."""
    try:
        import uvloop
    except ModuleNotFoundError:  # not on Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class _Server:
    """A server while it runs."""

    def __init__(
        self,
        settings: Settings,
        desk: DeskPort,
        keys: list[KeyRow] | None,
        listening: socket.socket,
        say: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._desk = desk
        self._keys = keys
        self._listening = listening
        self._say = say
        self._told = 0

    async def run(self) -> int:
        """Serve until told to stop; return the exit code."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        loop.set_exception_handler(_log_unforeseen)
        for number in (signal.SIGTERM, signal.SIGINT):
            _on_signal(loop, number, partial(self._signalled, number, stop))
        gate: Gate = OpenGate()
        note_used: Callable[[], Awaitable[None]] | None = None
        tasks = [loop.create_task(self._broken()), loop.create_task(stop.wait())]
        if self._keys is not None:
            gate = KeyGate(self._desk.keys, self._keys, note=self._desk.note_used)
            tasks.append(loop.create_task(gate.keep_fresh()))
            note_used = gate.note_used
        limits = self._settings.limits
        app = Application(self._desk, gate, limits=limits, log_requests=self._settings.log_requests)
        listener = Listener(app, limits)
        app.meters.connections = lambda: listener.connections
        await listener.start(self._listening)
        self._say(f"listening on {_address(self._listening)}")
        starting = loop.create_task(self._desk.start())
        tasks.append(starting)
        try:
            code = await self._until_over(tasks, starting)
            if code == 0:
                await self._stop(listener, note_used)
                code = 0 if self._desk.broken is None else 1
            else:
                await listener.abort()
        finally:
            for task in tasks:
                task.cancel()
        return code

    def _signalled(self, number: int, stop: asyncio.Event) -> None:
        """Stop in order; told twice, leave at once."""
        self._told += 1
        if self._told > 1:
            os._exit(128 + number)
        stop.set()

    async def _broken(self) -> None:
        """Wait until the desk is broken."""
        while self._desk.broken is None:
            await asyncio.sleep(_GLANCE)

    async def _until_over(
        self, tasks: list[asyncio.Task[Any]], starting: asyncio.Task[None]
    ) -> int:
        """Wait for the first reason to end."""
        broken, stop = tasks[:2]
        waiting = {broken, stop, starting}
        while not (broken.done() or stop.done()):
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if starting in done:
                starting.result()
                waiting.discard(starting)
                _log.info("ready")
        if self._desk.broken is not None:
            _log.critical("the database can no longer be relied on, the server ends")
            return 1
        return 0

    async def _stop(
        self, listener: Listener, note_used: Callable[[], Awaitable[None]] | None
    ) -> None:
        """Answer what is in flight, note which keys were used, then let the desk finish."""
        loop = asyncio.get_running_loop()
        grace = self._settings.limits.shutdown_seconds
        deadline = loop.time() + grace
        _log.info("stopping", extra={"seconds": grace})
        await listener.stop(grace)
        if note_used is not None:
            with contextlib.suppress(TimeoutError):  # of a database that hangs
                await asyncio.wait_for(note_used(), _LAST)
        await self._desk.stop(max(1.0, deadline - loop.time()))
        _log.info("stopped")


def _on_signal(
    loop: asyncio.AbstractEventLoop, number: signal.Signals, act: Callable[[], None]
) -> None:
    try:
        loop.add_signal_handler(number, act)
    except NotImplementedError:  # on Windows
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _log_unforeseen(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    _log.error(
        context.get("message", "an error nobody waited for"), exc_info=context.get("exception")
    )
