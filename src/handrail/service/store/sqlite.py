"""The log in a SQLite file: one process serves it, others may look."""

from __future__ import annotations

import contextlib
import ctypes
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handrail.errors import InputError
from handrail.files import replacing
from handrail.service.store.lock import ServerLock
from handrail.service.store.protocol import StoreBroken, StoreUnavailable
from handrail.service.store.sqlite_file import RESCUED, WAIT_SECONDS, Files, connect, copy_to
from handrail.service.store.sqlite_rows import PAGE_BITS, SqliteReader, SqliteWriter

__all__ = ["SqliteStore", "judge"]

_IDLE_READERS: Final = 8
"""Read connections that are kept for the next reader."""

_CHECKPOINT_PAGES: Final = 2000
"""Pages in the write-ahead log after which they are moved into the file: about 8 MB."""

_LOG_BYTES: Final = _CHECKPOINT_PAGES << PAGE_BITS
"""How large the write-ahead log may stay when its pages are in the file."""

_CHECKPOINT_SECONDS: Final = 0.1
"""How long writers wait for readers to let go of the write-ahead log, once in so many pages."""


class SqliteStore:
    """A SQLite file, open and of the right version; made by `open_store`.

    Parameters
    ----------
    path : Path
        The file, without links in its name.
    lock : ServerLock, optional
        The server's lock, released when the store is closed.
    """

    shared = False

    def __init__(self, path: Path, lock: ServerLock | None = None) -> None:
        self._path = path
        self._lock = lock
        self._turn = threading.Lock()
        self._connection = connect(path)
        # What a large transaction or a long read made of the write-ahead log is given back.
        self._connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        self._writer = SqliteWriter(self._connection)
        self._writer.pages = self._left_pages()
        self._readers: list[sqlite3.Connection] = []
        self._closed = False
        self._broken: str | None = None
        self._swapped = False
        self._connection.execute("PRAGMA schema_version").fetchone()  # opens the write-ahead log
        self._files = Files(path)

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._path)!r})"

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteWriter]:
        """Begin a transaction: on disk when the block ends, undone if it raises.

        Notes
        -----
        Nobody else appends to these logs while the server has its lock, so `lock` has nothing to
        do, and the transaction begins when it must. Others, which write keys or import another
        policy beside it, lock the file at once.

        The files are looked at after the commit and before anybody hears of it. A commit to a file
        that had lost its name by then is not acknowledged; one that was in the file of that name is
        in whatever that file is called since.
        """
        with self._turn:
            if self._broken is not None:
                raise StoreBroken(self._broken)
            try:
                if self._lock is None:
                    self._writer.begin()
                elif self._writer.pages > _CHECKPOINT_PAGES:
                    self._check()  # pages are not moved into another file
                    self._checkpoint()
                yield self._writer
                self._writer.commit()
            except sqlite3.Error as error:
                self._undo()
                found = judge(error)
                if found is None:
                    raise
                if isinstance(found, StoreBroken):
                    self._check()  # it may be why
                    self._broken = str(found)
                raise found from error
            except BaseException:
                self._undo()
                raise
            self._check()

    def check(self) -> None:
        """Raise `StoreBroken` if the files are not those that were opened."""
        with self._turn:
            self._check()

    def _check(self) -> None:
        if self._broken is not None:
            raise StoreBroken(self._broken)
        changed = self._files.changed(_LOG_BYTES)
        if changed is not None:
            self._broken = changed
            self._swapped = True
            if self._lock is not None:
                self._broken = f"{changed}; {self._rescue()}"
            raise StoreBroken(self._broken)

    def _rescue(self) -> str:
        """Copy what the connection has open to a file of another name; say where it is."""
        out = self._path.with_name(f"{self._path.name}{RESCUED}{secrets.token_hex(4)}")
        said = f"what the server had of it is in {out}"
        left: Path | None = None
        try:
            with replacing(out) as part:
                copy_to(self._connection, part)
        except (sqlite3.Error, OSError, InputError) as error:
            said = f"what the server had of it cannot be rescued: {error}"
            left = out.with_name(f"{out.name}.wal")
        with contextlib.suppress(OSError):
            self._files.leave(left)
        return said

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Begin to read, from any thread; what is committed meanwhile is not seen."""
        connection: sqlite3.Connection | None = None
        try:
            with contextlib.suppress(IndexError):
                connection = self._readers.pop()  # of a list, this is safe between threads
            if connection is None:
                connection = connect(self._path)
                connection.execute("PRAGMA query_only=1")
            connection.execute("BEGIN")
            yield SqliteReader(connection)
            connection.execute("COMMIT")
            if len(self._readers) < _IDLE_READERS and not self._closed:
                self._readers.append(connection)
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
        """Let go of the file."""
        with self._turn:
            with contextlib.suppress(StoreBroken):
                self._check()
            self._closed = True
            while self._readers:
                self._readers.pop().close()
            if self._swapped:
                # The last connection that SQLite closes moves the pages of its write-ahead log into
                # the file, which is another one by now. So it stays open until the process ends.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            else:
                self._connection.close()
            if self._lock is not None:
                self._lock.release()

    def _left_pages(self) -> int:
        """Return how many pages a server that was killed left in the write-ahead log.

        One that is killed again and again may never come to move any by what it wrote itself.
        """
        try:
            return self._path.with_name(f"{self._path.name}-wal").stat().st_size >> PAGE_BITS
        except OSError:
            return 0

    def _checkpoint(self) -> None:
        """Move the pages of the write-ahead log into the file, and begin it anew.

        Where readers come all the time there is always one that keeps it from beginning anew, and
        it would grow for ever: new ones are let in only behind us, and we wait for the old ones. A
        reader that takes longer lets it grow until the next try.

        Done here and not by SQLite within a commit, because there it would keep a failed fsync to
        itself. RESTART holds the write lock meanwhile: versions of SQLite before 3.51.3 may lose
        pages when another connection writes at the wrong moment of a checkpoint.
        """
        self._connection.execute(f"PRAGMA busy_timeout={round(1000 * _CHECKPOINT_SECONDS)}")
        try:
            self._connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
            self._writer.pages = 0
        except sqlite3.Error as error:
            if not isinstance(judge(error), StoreUnavailable):
                raise
            # A full disk: what was committed is in the write-ahead log, and stays there.
        finally:
            self._connection.execute(f"PRAGMA busy_timeout={round(1000 * WAIT_SECONDS)}")
            self._files.resize()

    def _undo(self) -> None:
        """Leave the transaction."""
        try:
            self._writer.undo()
        except sqlite3.Error as error:
            self._broken = f"a transaction cannot be undone: {error}"
            raise StoreBroken(self._broken) from error


# SQLite says FULL when the system says ENOSPC, and IOERR_WRITE for a quota or a limit of the
# file's size; the file of shared memory beside the database has its own word for all of them.
# None is a lie: the pages are not committed, and those committed before are on disk. What is left
# of IOERR is: a failed fsync means that pages the system took from us may be gone.
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CONSTRAINT,  # this seq is taken: somebody else wrote, we did not
    }
)
_PASSING_EXTENDED: Final = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMMAP,
        sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_NOMEM,
    }
)
_BROKEN: Final = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def judge(error: sqlite3.Error) -> StoreUnavailable | StoreBroken | None:
    """Return what an error of SQLite's means for the service; None if it is our own mistake."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    text = f"{error} ({error.sqlite_errorname})"
    if code in _PASSING_EXTENDED:
        return StoreUnavailable(text)
    if code == sqlite3.SQLITE_READONLY_DBMOVED or code & 0xFF in _BROKEN:
        return StoreBroken(text)
    return StoreUnavailable(text) if code & 0xFF in _PASSING else None
