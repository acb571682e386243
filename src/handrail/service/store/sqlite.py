"""The log in a SQLite file: one process serves it, others may look."""

from __future__ import annotations

import contextlib
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
from handrail.service.store.sqlite_errors import judge
from handrail.service.store.sqlite_file import (
    BESIDE,
    RESCUED,
    WAIT_SECONDS,
    Files,
    bare,
    copy_to,
    join,
    keep_away,
    keep_open,
    mark,
)
from handrail.service.store.sqlite_rows import PAGE_BITS, SqliteReader, SqliteWriter
from handrail.service.store.sqlite_view import Readers

__all__ = ["SqliteStore"]

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
    given : Path, optional
        The name under which it was opened, which may be a link to it.
    """

    shared = False

    def __init__(
        self, path: Path, lock: ServerLock | None = None, given: Path | None = None
    ) -> None:
        self._path = path
        self._given = given or path
        self._lock = lock
        self._turn = threading.Lock()
        self._connection = join(path)
        # What a large transaction or a long read made of the write-ahead log is given back.
        self._connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        self._writer = SqliteWriter(self._connection)
        self._readers = Readers(self._connect)
        self._broken: str | None = None
        self._damaged = False
        self._mark_written: bytes | None = None
        self._marked = True
        """Whether the file has the mark that was written last; only a server marks it."""
        self._files = Files(path, self._given)
        if lock is not None:
            # What a server that was killed left in the write-ahead log. One that is killed again
            # and again may never come to move any pages by what it wrote itself.
            self._files.know(self._connection)
            self._checkpoint()

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
        in whatever that file is called since. They are looked at before the commit, too: a
        write-ahead log that was cut off has its old size when it is written to where it ended, and
        without an index beside the file others write where we would.
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
                self._check()
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
        """Raise `StoreBroken` if the files are not those that were opened.

        Where they could not be marked so that this can be told (somebody read them since before the
        start, or the disk was full) it is tried again, without waiting for anybody.
        """
        with self._turn:
            self._check()
            if self._marked:
                return
            try:
                self._checkpoint(again=True)
            except sqlite3.Error as error:
                found = judge(error)
                if not isinstance(found, StoreBroken):
                    raise
                self._broken = str(found)
                raise found from error

    def _check(self) -> None:
        if self._broken is not None:
            raise StoreBroken(self._broken)
        changed = self._files.changed(_LOG_BYTES)
        if changed is not None:
            self._broken = changed
            if self._lock is not None:
                self._broken = f"{changed}; {self._rescue(changed)}"
            raise StoreBroken(self._broken)

    def _rescue(self, changed: str) -> str:
        """Copy what the connection has open to a file of another name; say where it is.

        No server starts while that lies there, nor if there is only a note that says why not: what
        is left of the file is less than was answered. The note is there before the copy, which
        takes its time, in which the server may be killed.
        """
        ending = f"{RESCUED}{secrets.token_hex(4)}"
        out = self._path.with_name(f"{self._path.name}{ending}")
        # Also beside the link: who starts a server by that name is to know.
        note, *others = (
            name.with_name(f"{name.name}{ending}.txt")
            for name in dict.fromkeys((self._path, self._given))
        )
        for each in (note, *others):
            keep_away(
                each,
                f"{changed}; a server began to copy what it had of it to {out}: if that is there "
                "it is whole, and if not what was answered may be lost",
            )
        said = f"what the server had of it is in {out}"
        left: Path | None = None
        try:
            self._writer.undo()  # what is not committed is not to be in the copy
            with replacing(out) as part:
                copy_to(self._connection, part)
        except (sqlite3.Error, OSError, InputError) as error:
            said = f"what the server had of it cannot be rescued, and may be lost: {error}"
            left = out.with_name(f"{out.name}.wal")
            others.append(note)
        for each in others:
            keep_away(each, f"{changed}; {said}")
        with contextlib.suppress(OSError):
            self._files.leave(left)
        if left is None:
            with contextlib.suppress(OSError):
                note.unlink()
        return said

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Begin to read, from any thread; what is committed meanwhile is not seen."""
        try:
            with self._readers.reading() as reader:
                yield reader
        except StoreBroken:
            self._damaged = True
            raise

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            with contextlib.suppress(StoreBroken):
                self._check()
            self._files.close()
            self._readers.close()
            if self._broken is not None or self._damaged:
                # The last connection that SQLite closes moves the pages of its write-ahead log into
                # the file, which is another one by now or is damaged, and removes them where they
                # are sound. So it stays open until the process ends.
                keep_open(self._connection)
            else:
                self._connection.close()
            if self._lock is not None:
                self._lock.release()

    def _connect(self) -> sqlite3.Connection:
        """Connect another reader, to the files that the writer has open and to no others."""
        connection = bare(self._path, BESIDE)
        try:
            connection.execute("PRAGMA schema_version").fetchone()  # opens the write-ahead log
        finally:
            if not self._files.same():
                # Whoever looks next says what became of them, and rescues what there was. Closed,
                # this connection would take with it the writer's locks on what is the same file.
                keep_open(connection)
                raise StoreUnavailable(f"{self._path} was swapped, or what lies beside it")
        return connection

    def _checkpoint(self, again: bool = False) -> None:
        """Move the pages of the write-ahead log into the file, and begin it anew.

        Where readers come all the time there is always one that keeps it from beginning anew, and
        it would grow for ever: new ones are let in only behind us, and we wait for the old ones. A
        reader that takes longer lets it grow until the next try. Tried `again`, for the mark that
        was written before, nobody is waited for.

        Done here and not by SQLite within a commit, because there it would keep a failed fsync to
        itself. RESTART holds the write lock meanwhile: versions of SQLite before 3.51.3 may lose
        pages when another connection writes at the wrong moment of a checkpoint.
        """
        seconds = 0.0 if again else _CHECKPOINT_SECONDS
        self._connection.execute(f"PRAGMA busy_timeout={round(1000 * seconds)}")
        self._marked = False
        try:
            if not again or self._mark_written is None:
                self._mark_written = self._mark()
                if self._mark_written is not None:
                    # Others may move it, if we cannot.
                    self._files.mark(self._mark_written, complete=False)
            (_, pages, moved) = self._connection.execute(
                "PRAGMA wal_checkpoint(RESTART)"
            ).fetchone()
            if not again:
                self._writer.pages = 0
            # Both are -1 where nothing was looked at, because another program is moving pages.
            if self._mark_written is not None and pages == moved >= 0:
                self._files.mark(self._mark_written, complete=True)
                self._marked = True
        except sqlite3.Error as error:
            if not isinstance(judge(error), StoreUnavailable):
                raise
            # A full disk: what was committed is in the write-ahead log, and stays there.
        finally:
            self._connection.execute(f"PRAGMA busy_timeout={round(1000 * WAIT_SECONDS)}")
            self._files.resize()

    def _mark(self) -> bytes | None:
        """Write a mark that no other state of the file has; it gets there with the pages."""
        try:
            return mark(self._connection)
        except sqlite3.Error as error:
            if not isinstance(judge(error), StoreUnavailable):
                raise
            return None  # a full disk: to move pages may be what makes room in the log

    def _undo(self) -> None:
        """Leave the transaction."""
        try:
            self._writer.undo()
        except sqlite3.Error as error:
            self._broken = f"a transaction cannot be undone: {error}"
            raise StoreBroken(self._broken) from error
