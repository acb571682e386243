"""The HTTP edge on a real socket, in a thread of this process."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from fake_desk import FakeDesk
from handrail.service.desk import Desk
from handrail.service.http.app import Application
from handrail.service.http.gate import Gate, KeyGate, OpenGate
from handrail.service.http.listener import Listener
from handrail.service.http.ports import DeskPort
from handrail.service.keys import new_key
from handrail.service.limits import Limits
from handrail.service.server import bind, new_loop
from handrail.service.store.open import open_store
from handrail.service.store.protocol import KeyRow

ROLES = ("decide", "reward", "read", "admin")


@dataclass
class Edge:
    """A server in a thread, its desk, and keys that open it."""

    desk: FakeDesk
    port: int
    keys: dict[str, str] = field(default_factory=dict)
    """By role, and by `role:policy` for those limited to one."""

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, key: str | None = "admin") -> httpx.Client:
        """Return a client that has one of the keys, or none."""
        headers = {} if key is None else {"Authorization": f"Bearer {self.keys.get(key, key)}"}
        return httpx.Client(base_url=self.url, headers=headers, trust_env=False)


def some_keys() -> tuple[dict[str, str], list[KeyRow]]:
    """Return a key of every role, for all policies and for `a` only; and what is stored."""
    keys, rows = {}, []
    for role in ROLES:
        for policy in (None, "a"):
            key, row = new_key(role, policy)
            keys[role if policy is None else f"{role}:{policy}"] = key
            rows.append(row)
    return keys, rows


@contextmanager
def at_the_edge(
    desk: FakeDesk | None = None,
    *,
    limits: Limits | None = None,
    auth: bool = True,
    log_requests: bool = False,
) -> Iterator[Edge]:
    """Serve a desk that decides nothing on a free port."""
    keys, rows = some_keys()
    desk = desk or FakeDesk(rows)
    with _serving(desk, rows if auth else None, limits or Limits(), log_requests) as port:
        yield Edge(desk, port, keys)


@contextmanager
def real_edge(database: str, *, limits: Limits | None = None) -> Iterator[tuple[str, str]]:
    """Serve a database on a free port; yield the address and an admin's key."""
    limits = limits or Limits()
    store = open_store(database, exclusive=True)
    try:
        key, row = new_key("admin")
        with store.writing() as writer:
            writer.add_key(row)
        with _serving(Desk(store, limits=limits), [row], limits) as port:
            yield f"http://127.0.0.1:{port}", key
    finally:
        store.close()


@contextmanager
def _serving(
    desk: DeskPort, rows: list[KeyRow] | None, limits: Limits, log_requests: bool = False
) -> Iterator[int]:
    gate: Gate = OpenGate() if rows is None else KeyGate(desk.keys, rows)
    socket = bind("127.0.0.1", 0)
    started = threading.Event()
    over = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        app = Application(desk, gate, limits=limits, log_requests=log_requests)
        listener = Listener(app, limits)
        app.meters.connections = lambda: listener.connections
        await listener.start(socket)
        await desk.start()
        started.set()
        await over.wait()
        await listener.stop(1.0)
        await desk.stop(10.0)

    def run() -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not started.wait(0.5):  # the rules may have to be compiled, however long that takes
        assert thread.is_alive()
    try:
        yield socket.getsockname()[1]
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(30)
        assert not thread.is_alive()


def wait_until_alone(client: httpx.Client) -> None:
    """Wait until all other connections are gone."""
    deadline = time.monotonic() + 60
    while "handrail_connections 1.0" not in client.get("/metrics").text:
        assert time.monotonic() < deadline


@contextmanager
def logging_restored() -> Iterator[None]:
    """Leave the log as it was before the block."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    levels = {name: logging.getLogger(name).level for name in ("handrail", "uvicorn", "asyncio")}
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.handlers = handlers
        root.setLevel(level)
        for name, before in levels.items():
            logging.getLogger(name).setLevel(before)
