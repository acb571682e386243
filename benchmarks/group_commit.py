"""One commit for all requests in flight: by a thread, or by the event loop itself.

Either way a row's future is resolved only after the commit that holds it came back from the disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol, TypeAlias

__all__ = ["COMMITS", "Commit", "InLoop", "InThread", "Row", "connect"]

Row: TypeAlias = tuple[str, str, float]
Waiting: TypeAlias = tuple[Row, "asyncio.Future[None]"]

LARGEST = 500
"""Rows in one commit."""
_TABLE = "CREATE TABLE IF NOT EXISTS rows (id TEXT, policy TEXT, number REAL)"


class Commit(Protocol):
    """Commits rows."""

    def add(self, row: Row) -> asyncio.Future[None]:
        """Return a future that is done when the row is on disk."""


def connect(path: Path) -> sqlite3.Connection:
    """Open a database in which a commit that returned is on disk."""
    found = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    found.execute("PRAGMA journal_mode=WAL")
    found.execute("PRAGMA synchronous=FULL")
    found.execute(_TABLE)
    return found


def _by_rows(database: sqlite3.Connection, rows: list[Row]) -> None:
    """Commit with a statement a row: every one lets go of the interpreter's lock and takes it."""
    database.execute("BEGIN")
    database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    database.execute("COMMIT")


def _at_once(database: sqlite3.Connection, rows: list[Row]) -> None:
    """Commit with one statement, which lets go of the interpreter's lock once."""
    places = ", ".join(["(?, ?, ?)"] * len(rows))
    values = [value for row in rows for value in row]
    database.execute(f"INSERT INTO rows VALUES {places}", values)


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class InLoop:
    """Commits at the end of the loop's turn, which waits for the disk meanwhile."""

    def __init__(self, path: Path, *, at_once: bool = True) -> None:
        self._database = connect(path)
        self._insert = _at_once if at_once else _by_rows
        self._waiting: list[Waiting] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, row: Row) -> asyncio.Future[None]:
        """Return a future that is done when the row is on disk."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        future = self._loop.create_future()
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append((row, future))
        return future

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        for start in range(0, len(batch), LARGEST):
            self._insert(self._database, [row for row, _ in batch[start : start + LARGEST]])
        _resolve([future for _, future in batch])


class InThread:
    """Commits in a thread that takes all that waits; the loop is called once a commit."""

    def __init__(self, path: Path, *, at_once: bool = True) -> None:
        self._database = connect(path)
        self._insert = _at_once if at_once else _by_rows
        self._queue: SimpleQueue[Waiting] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, row: Row) -> asyncio.Future[None]:
        """Return a future that is done when the row is on disk."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._run, args=(self._loop,), daemon=True).start()
        future = self._loop.create_future()
        self._queue.put((row, future))
        return future

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            batch = [self._queue.get()]
            try:
                while len(batch) < LARGEST:
                    batch.append(self._queue.get_nowait())
            except Empty:
                pass
            self._insert(self._database, [row for row, _ in batch])
            loop.call_soon_threadsafe(_resolve, [future for _, future in batch])


COMMITS: dict[str, Callable[[Path], Commit]] = {
    "loop": InLoop,
    "loop, a statement a row": partial(InLoop, at_once=False),
    "thread": InThread,
    "thread, a statement a row": partial(InThread, at_once=False),
}
