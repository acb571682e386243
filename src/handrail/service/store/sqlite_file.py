"""A SQLite file: told from other files, made as a whole or not at all, brought up to date."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from handrail.errors import InputError
from handrail.files import beside, parts, sync_folder
from handrail.service.store.lock import ServerLock
from handrail.service.store.migrations import Migration, missing, newest
from handrail.service.store.protocol import StoreUnavailable
from handrail.service.store.sqlite_errors import judge

__all__ = [
    "ALONE",
    "BESIDE",
    "RESCUED",
    "UNMARK",
    "WAIT_SECONDS",
    "Files",
    "bare",
    "check_file",
    "check_only_name",
    "check_orphans",
    "check_rescued",
    "connect",
    "copy_to",
    "join",
    "joined",
    "keep_away",
    "keep_open",
    "make_file",
    "mark",
    "migrate",
    "version",
]

APPLICATION_ID: Final = int.from_bytes(b"hrl1", "big")
"""What SQLite notes in the file's head, so that nobody takes it for another program's."""

WAIT_SECONDS: Final = 5.0
"""How long to wait for another process that writes."""

ALONE: Final = "ro&immutable=1"

BESIDE: Final = "ro&readonly_shm=1"
"""For a connection that reads beside one that writes, in the same process, and shares its index.

To another file of the same name it would be the first connection of all: one that may write
empties the index, under the one that has it open, and moves the pages of the write-ahead log into
that file when it is closed.
"""

RESCUED: Final = ".rescued-"
"""What is put behind the file's name, with a random number, for what a server rescued."""

UNMARK: Final = "DROP TABLE IF EXISTS mark"
_MARK: Final = (
    ("CREATE TABLE IF NOT EXISTS mark (id INTEGER PRIMARY KEY, mark BLOB NOT NULL) STRICT", 0),
    ("INSERT OR REPLACE INTO mark VALUES (1, ?)", 1),
)
"""How a server marks its file, each statement with its number of values.

A table that no version of the tables is about: only the server that wrote it looks for it.
"""

_MAGIC: Final = b"SQLite format 3\0"
_HEAD: Final = 100
_APPLICATION_AT: Final = 68


def check_rescued(path: Path, given: Path) -> None:
    """Refuse to serve or make a file while something lies beside it that a server rescued.

    The file at this name is not the one that was served: whoever swapped it has to choose. It is
    beside the name that the file had for the server, a link by now, or to which a link led.
    """
    for name in (path, given):
        # Not what SQLite leaves beside such a file when it is looked at.
        rescued = re.compile(f"{re.escape(name.name + RESCUED)}[0-9a-f]{{8}}(\\.wal|\\.txt)?")
        found = sorted(each for each in name.parent.iterdir() if rescued.fullmatch(each.name))
        for note in found:
            if note.suffix == ".txt":
                said = note.read_text(encoding="utf-8", errors="replace").strip()
                raise InputError(
                    "database",
                    f"{note} was left by a server: {said or 'its disk was full'}",
                    "decide what to go on with, then move that file elsewhere",
                )
        if found:
            raise InputError(
                "database",
                f"{found[0]} holds what a server had when {name} was swapped under it",
                "handrail restore puts it back; then, or if it is not wanted, move it elsewhere",
            )


def check_orphans(path: Path, given: Path | None = None) -> None:
    """Refuse to go on beside a write-ahead log or a journal whose file is gone.

    SQLite removes it when it makes a file of that name, or takes it for that of the file which is
    put there. What was answered last may be in it only. Beside a link, which it never is, it was
    left when the file was moved to where the link leads.
    """
    names = [path]
    if given is not None and given.is_symlink():
        names.append(Path(os.path.realpath(given.parent), given.name))
    for name in names:
        for ending in ("-wal", "-journal"):
            left = name.with_name(f"{name.name}{ending}")
            try:
                holds = left.stat().st_size > 0
            except OSError:
                continue
            # In this order: who has just made the file may have written to it.
            if holds and (name.is_symlink() or not name.exists()):
                raise InputError(
                    "database",
                    f"{left} is left of a file that is gone, and may hold what was answered last",
                    "put that file back beside it, or, if it is not wanted, move it elsewhere",
                )


def keep_away(note: Path, reason: str) -> None:
    """Keep servers away from a file, with a word; a full disk has none, or the one before."""
    with contextlib.suppress(OSError):
        handle = os.open(note, os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
        try:
            os.ftruncate(handle, os.write(handle, f"{reason}\n".encode()))
            os.fsync(handle)
        finally:
            os.close(handle)
    with contextlib.suppress(OSError):
        sync_folder(note.parent)


def check_only_name(path: Path, field: str = "database") -> None:
    """Refuse a file that has another name as well.

    The lock and SQLite's own files go by the name: under another one a tool would not see a
    server's write-ahead log, and write past it.
    """
    if path.stat().st_nlink > 1:
        for part in parts(path):  # the name under which it was made
            with contextlib.suppress(OSError):
                if part.samefile(path):
                    part.unlink()
    if path.stat().st_nlink > 1:
        raise InputError(
            field,
            f"{path} has another name as well",
            "remove the other hard link, or copy the file if no server has it",
        )


def check_file(path: Path, field: str = "database") -> None:
    """Refuse a file that is not handrail's; it is only read, and not through SQLite.

    SQLite would replay a journal that it finds beside the file, or leave files of its own there.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise InputError(
            field, f"{path} cannot be read: {error.strerror}", "name a SQLite file of handrail's"
        ) from error
    if not head:
        raise InputError(field, f"{path} is empty", "remove it: handrail makes its files itself")
    found = int.from_bytes(head[_APPLICATION_AT : _APPLICATION_AT + 4], "big")
    if not head.startswith(_MAGIC) or found != APPLICATION_ID:
        raise InputError(field, f"{path} is no database of handrail's", "name another file")


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """Connect to a file that exists; transactions are begun and ended in plain sight.

    In the mode `ALONE` the file is read as it is, without locks and whatever lies beside it.
    """
    connection = bare(path, mode)
    _set_up(connection)
    return connection


def join(path: Path) -> sqlite3.Connection:
    """Connect to a file that others may be about to replace; its write-ahead log is open then.

    A connection to a file that has lost its name meanwhile would take the write-ahead log of the
    next one for its own. One that has read from a file holds a lock on it, and a restore waits.
    """
    before = path.stat()
    connection = bare(path, "rw")
    try:
        _set_up(connection)
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        _leave(connection, path, before)
        raise
    if not _is_still(path, before):
        _leave(connection, path, before)
    return connection


@contextlib.contextmanager
def joined(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to such a file for as long as the block takes."""
    before = path.stat()
    connection = join(path)
    try:
        yield connection
    finally:  # in a file without a write-ahead log, nothing is locked between two statements
        _leave(connection, path, before)


def _leave(connection: sqlite3.Connection, path: Path, before: os.stat_result) -> None:
    """Close a connection, unless the file was replaced: InputError."""
    if _is_still(path, before):
        connection.close()
        return
    keep_open(connection)
    raise InputError("database", f"{path} was replaced while it was being opened", "try again")


def _is_still(path: Path, before: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(path.stat(), before)
    return False


def keep_open(connection: sqlite3.Connection) -> None:
    """Keep a connection from being closed before the process ends.

    The last one to a file that SQLite closes moves the pages of the write-ahead log that lies
    there into it, and removes that log.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _set_up(connection: sqlite3.Connection) -> None:
    # A commit returns when it is on disk. On macOS that takes more than fsync.
    for setting in ("synchronous=FULL", "fullfsync=1", "checkpoint_fullfsync=1"):
        connection.execute(f"PRAGMA {setting}")
    # Only the server's own write connection moves the log's pages into the file, when it chooses.
    connection.execute("PRAGMA wal_autocheckpoint=0")


def bare(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to a file of which nothing is read yet, without what only a writer needs."""
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


_Seen = os.stat_result | None
"""What tells a file from another one of its name, and its size; None if there is none."""

_LOG_START: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""How a write-ahead log begins."""


class Files:
    """A database file and what SQLite has beside it, as a connection that is open has them.

    What a connection writes goes to the files that it opened, whatever became of their names: a
    commit to a file that was removed is on disk, and gone when the connection is.

    Parameters
    ----------
    path : Path
        The database file, no link to it; a connection has its write-ahead log open.
    given : Path
        The name under which it was opened, which may be a link.
    """

    def __init__(self, path: Path, given: Path) -> None:
        # Who finds no index beside the file makes one, in which he is the only one who writes.
        self._names = (str(path), f"{path}-wal", f"{path}-shm")
        self._given = None if given == path else given
        self._alone = f"{path.as_uri()}?mode={ALONE}"
        # SQLite has no locks on the log itself: those on a file are gone with any of its handles.
        self._log: int | None = os.open(self._names[1], os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._found = self._look()
        self._begun = self._begins()
        self._marks: set[bytes] = set()
        """Those that the file may have; none where nothing is known of it yet."""
        self._overwritten = False
        self._written = None if self._found[0] is None else _times(self._found[0])
        """When the file was written to, by us or by who moved pages."""

    def changed(self, log_bytes: int) -> str | None:
        """Say what became of the files, if they are not those that were opened.

        SQLite itself cuts off the write-ahead log only down to `log_bytes`.
        """
        found = self._look()
        said = (
            self._compare(0, found[0], None)
            or self._compare(1, found[1], log_bytes)
            or self._compare(2, found[2], 0)
            or self._led_astray(found[0])
            or self._written_over(found[0])
        )
        begun = self._begun
        try:
            begun = self._begins()
        except OSError as error:  # nobody is to take it for a commit that failed, and repeat that
            said = said or f"{self._names[1]} cannot be read: {error.strerror}"
        if said is None and self._begun and not begun:
            # Written to where it ended, it is as long as before, with nothing in front.
            said = f"{self._names[1]} was cut off or written over under the server"
        if said is None:
            self._found, self._begun = found, begun
        return said

    def same(self) -> bool:
        """Return whether the names still are those of the files that were opened, at any time."""
        return all(
            before is not None and now is not None and os.path.samestat(now, before)
            for before, now in zip(self._found, self._look(), strict=True)
        )

    def _compare(self, number: int, now: _Seen, least: int | None) -> str | None:
        name, before = self._names[number], self._found[number]
        if now is None or before is None:
            return f"{name} was removed under the server"
        if not os.path.samestat(now, before):
            return f"{name} was replaced under the server"
        if now.st_size < (before.st_size if least is None else min(before.st_size, least)):
            return f"{name} was cut off or written over under the server"
        return None

    def _led_astray(self, file: _Seen) -> str | None:
        """Say if the link under whose name the file was opened leads to another one by now."""
        if self._given is None or file is None:
            return None
        with contextlib.suppress(OSError):
            if os.path.samestat(self._given.stat(), file):
                return None
        return f"{self._given} was made to lead to another file than {self._names[0]}"

    def _written_over(self, file: _Seen) -> str | None:
        """Say if the file was written to, and not only with the pages of its write-ahead log.

        Any program may move those, and the file has its mark all the same. What else is written
        over it was copied before the mark was there, from another file, or by `handrail backup`.
        """
        if file is None or not self._marks or _times(file) == self._written:
            return None
        try:
            found = self._marked_with()
        except sqlite3.Error as error:
            if isinstance(judge(error), StoreUnavailable):
                return None  # no handle is left, for one: it is looked at again
            found = None
        if found is None or found not in self._marks:
            self._overwritten = True
            return f"{self._names[0]} was written over under the server"
        self._written = _times(file)
        return None

    def _marked_with(self) -> bytes | None:
        """Return the mark that the file has, without what is in its write-ahead log."""
        with contextlib.closing(sqlite3.connect(self._alone, uri=True)) as alone:
            # First: while pages are being moved it may be shorter than its first page says.
            alone.execute("PRAGMA writable_schema=1")
            return _mark_in(alone)

    def know(self, connection: sqlite3.Connection) -> None:
        """Know the mark that the file has since before, and the one that its log brings."""
        with contextlib.suppress(sqlite3.Error):  # it has none: from an earlier release
            before = self._marked_with()
            if before is not None:
                self._marks = {before, _mark_in(connection) or before}

    def mark(self, mark: bytes, complete: bool) -> None:
        """Know a mark that the file has, or will have when all pages up to there are moved."""
        self._marks = {mark} if complete else self._marks and self._marks | {mark}

    def _begins(self) -> bool:
        """Return whether the write-ahead log begins as one does; it is empty at first."""
        if self._log is None:
            return self._begun
        os.lseek(self._log, 0, os.SEEK_SET)
        return os.read(self._log, 4) in _LOG_START

    def leave(self, name: Path | None) -> None:
        """Take the write-ahead log away from a file that is not its own.

        SQLite would move its pages into that file when it is opened next. Where they are in no
        other place it gets this name.
        """
        file, log, _ = self._look()
        other = self._overwritten or self._compare(0, file, None) is not None
        if not other or self._compare(1, log, 0) is not None:
            return
        if name is None:
            Path(self._names[1]).unlink()
        else:
            Path(self._names[1]).rename(name)
        Path(self._names[2]).unlink(missing_ok=True)

    def resize(self) -> None:
        """Take sizes and times as they are: the server itself has just moved pages."""
        self._found = [
            before if now is None or before is None or not os.path.samestat(now, before) else now
            for before, now in zip(self._found, self._look(), strict=True)
        ]
        if self._found[0] is not None:
            self._written = _times(self._found[0])

    def close(self) -> None:
        """Let go of the write-ahead log."""
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def _look(self) -> list[_Seen]:
        """Return what tells each file from another one of its name, and its size."""
        found: list[_Seen] = []
        for name in self._names:
            try:
                # The name was no link when it was opened: a link to the file is another name.
                found.append(os.lstat(name))  # a third of the time of Path's
            except OSError:
                found.append(None)
        return found


def _times(file: os.stat_result) -> tuple[int, int]:
    """Return when a file was written to, by its own time, which can be set, and by the system's."""
    return file.st_mtime_ns, file.st_ctime_ns


def _mark_in(connection: sqlite3.Connection) -> bytes | None:
    found = connection.execute("SELECT mark FROM mark").fetchone()
    return None if found is None else found[0]


def mark(connection: sqlite3.Connection) -> bytes:
    """Write a mark that no other state of a file has."""
    made = secrets.token_bytes(16)
    for statement, values in _MARK:
        connection.execute(statement, (made,) * values)
    return made


def copy_to(original: sqlite3.Connection, part: Path) -> None:
    """Copy a database as it is at one moment into a new file, whole by itself, and check that."""
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with contextlib.closing(connect(part)) as copy:
        # In one go, so that it is one moment and writers cannot make it start over; they do not
        # wait for it either.
        original.backup(copy)
        # One file, whole by itself. SQLite brings it to disk before it says so.
        copy.execute("PRAGMA journal_mode=DELETE").fetchone()
        (verdict,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise InputError("source", f"is damaged: {verdict}", "restore an older backup")


def make_file(path: Path, migrations: Sequence[Migration]) -> None:
    """Make a new database, unless somebody else just did.

    It is made under another name, so that a crash leaves no half-made database at this one.
    """
    part = beside(path)
    try:
        # Hashes of API keys and what users did are in it: not for everybody to read. The files
        # that SQLite puts beside it get the same mode.
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with contextlib.closing(connect(part)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            _apply(connection, migrations)
            mark(connection)  # from the first moment on: its server may get to it late
            connection.execute("COMMIT")
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
            if mode != "wal":
                raise InputError(
                    "database", f"{path.parent} takes no write-ahead log", "name a local disk"
                )
        _name(part, path)
        sync_folder(path.parent)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                part.with_name(part.name + ending).unlink()


def _name(part: Path, path: Path) -> None:
    """Give a file its name, but never take it from a file that has it."""
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not path.exists():
            part.rename(path)


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration], locked: bool
) -> None:
    """Take the steps that are missing, all or none, with no server running."""
    if not missing(migrations, version(connection)):
        return
    lock = None if locked else ServerLock(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _apply(connection, missing(migrations, version(connection)))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    finally:
        if lock is not None:
            lock.release()


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    for migration in migrations:
        for statement in migration.statements:
            connection.execute(statement)
    if migrations:
        connection.execute(f"PRAGMA user_version={newest(migrations)}")
