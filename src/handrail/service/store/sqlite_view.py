"""A SQLite file that is only read, and left as it is with all that lies beside it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from handrail.service.store.protocol import StoreUnavailable
from handrail.service.store.sqlite_errors import judge
from handrail.service.store.sqlite_file import ALONE, connect
from handrail.service.store.sqlite_rows import SqliteReader

__all__ = ["Readers", "SqliteView"]

_IDLE: Final = 8
"""Read connections that are kept for the next reader."""


class Readers:
    """Connections that read, from any thread.

    Parameters
    ----------
    connect : callable
        Makes a connection.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Begin to read; what is committed meanwhile is not seen."""
        connection: sqlite3.Connection | None = None
        try:
            with contextlib.suppress(IndexError):
                connection = self._idle.pop()  # of a list, this is safe between threads
            if connection is None:
                connection = self._connect()
                connection.execute("PRAGMA query_only=1")
            connection.execute("BEGIN")
            yield SqliteReader(connection)
            connection.execute("COMMIT")
            if len(self._idle) < _IDLE and not self._closed:
                self._idle.append(connection)
                connection = None
        except sqlite3.Error as error:
            found = judge(error)
            if found is None:
                raise
            raise found from error
        finally:
            if connection is not None:
                connection.close()

    def close(self) -> None:
        """Close the connections; those in use are closed when the reader is done."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class SqliteView:
    """A SQLite file for those who only read it.

    A connection that may only read has SQLite make an index and a write-ahead log beside a file
    that was served once, and leave them there. Where nothing lies beside the file nobody has it
    open: then it is read as it is, without locks. What was read while somebody wrote to it after
    all is void.

    Parameters
    ----------
    path : Path
        The file, without links in its name.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        seen = self._state()  # before looking who has it open
        beside = (Path(f"{path}{ending}") for ending in ("-wal", "-shm", "-journal"))
        self._seen = None if any(each.exists() for each in beside) else seen
        self._readers = Readers(self._connect)

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Connect to the file for as long as the block takes."""
        with contextlib.closing(self._connect()) as connection:
            yield connection
        self._check()

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Begin to read, from any thread."""
        with self._readers.reading() as reader:
            yield reader
        self._check()

    def close(self) -> None:
        """Let go of the file."""
        self._readers.close()

    def _connect(self) -> sqlite3.Connection:
        return connect(self._path, "ro" if self._seen is None else ALONE)

    def _check(self) -> None:
        if self._seen is not None and self._state() != self._seen:
            raise StoreUnavailable(f"{self._path} was written to while it was read")

    def _state(self) -> tuple[int, int, int]:
        found = self._path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
