"""A SQLite file: told from other files, made as a whole or not at all, brought up to date."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from handrail.errors import InputError
from handrail.files import beside, parts, sync_folder
from handrail.service.store.lock import ServerLock
from handrail.service.store.migrations import Migration, missing, newest

__all__ = [
    "RESCUED",
    "WAIT_SECONDS",
    "Files",
    "check_file",
    "check_only_name",
    "check_rescued",
    "connect",
    "copy_to",
    "make_file",
    "migrate",
]

APPLICATION_ID: Final = int.from_bytes(b"hrl1", "big")
"""What SQLite notes in the file's head, so that nobody takes it for another program's."""

WAIT_SECONDS: Final = 5.0
"""How long to wait for another process that writes."""

RESCUED: Final = ".rescued-"
"""What is put behind the file's name, with a random number, for what a server rescued."""

_MAGIC: Final = b"SQLite format 3\0"
_HEAD: Final = 100
_APPLICATION_AT: Final = 68


def check_rescued(path: Path) -> None:
    """Refuse to serve a file while something lies beside it that a server rescued.

    The file at this name is not the one that was served: whoever swapped it has to choose.
    """
    # Not what SQLite leaves beside such a file when it is looked at.
    rescued = re.compile(f"{re.escape(path.name + RESCUED)}[0-9a-f]{{8}}(\\.wal)?")
    found = sorted(each for each in path.parent.iterdir() if rescued.fullmatch(each.name))
    if found:
        raise InputError(
            "database",
            f"{found[0]} holds what a server had when {path} was swapped under it",
            "handrail restore puts it back; then, or if it is not wanted, move it elsewhere",
        )


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
    """Connect to a file that exists; transactions are begun and ended in plain sight."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    # A commit returns when it is on disk. On macOS that takes more than fsync.
    for setting in ("synchronous=FULL", "fullfsync=1", "checkpoint_fullfsync=1"):
        connection.execute(f"PRAGMA {setting}")
    # Only the server's own write connection moves the log's pages into the file, when it chooses.
    connection.execute("PRAGMA wal_autocheckpoint=0")
    return connection


_Seen = tuple[int, int, int]
"""The device, the number of the file on it, and its size."""


class Files:
    """A database file and its write-ahead log, as a connection that is open has them.

    What a connection writes goes to the files that it opened, whatever became of their names: a
    commit to a file that was removed is on disk, and gone when the connection is.

    Parameters
    ----------
    path : Path
        The database file, no link to it; a connection has its write-ahead log open.
    """

    def __init__(self, path: Path) -> None:
        self._names = (str(path), f"{path}-wal")
        self._found = self._look()

    def changed(self, log_bytes: int) -> str | None:
        """Say what became of the files, if they are not those that were opened.

        SQLite itself cuts off the write-ahead log only down to `log_bytes`.
        """
        found = self._look()
        said = self._compare(0, found[0], None) or self._compare(1, found[1], log_bytes)
        if said is None:
            self._found = found
        return said

    def _compare(self, number: int, now: _Seen | None, least: int | None) -> str | None:
        name, before = self._names[number], self._found[number]
        if now is None or before is None:
            return f"{name} was removed under the server"
        if now[:2] != before[:2]:
            return f"{name} was replaced under the server"
        if now[2] < (before[2] if least is None else min(before[2], least)):
            return f"{name} was cut off or written over under the server"
        return None

    def leave(self, name: Path | None) -> None:
        """Take the write-ahead log away from a file that is not its own.

        SQLite would move its pages into that file when it is opened next. Where they are in no
        other place it gets this name.
        """
        file, log = self._look()
        if self._compare(0, file, None) is None or self._compare(1, log, 0) is not None:
            return
        if name is None:
            Path(self._names[1]).unlink()
        else:
            Path(self._names[1]).rename(name)
        Path(f"{self._names[0]}-shm").unlink(missing_ok=True)

    def resize(self) -> None:
        """Take the sizes as they are: the server itself has just moved pages."""
        sizes = [None if each is None else each[2] for each in self._look()]
        self._found = [
            before if before is None or size is None else (*before[:2], size)
            for before, size in zip(self._found, sizes, strict=True)
        ]

    def _look(self) -> list[_Seen | None]:
        """Return what tells each file from another one of its name, and its size."""
        found: list[_Seen | None] = []
        for name in self._names:
            try:
                # The name was no link when it was opened: a link to the file is another name.
                seen = os.lstat(name)  # a third of the time of Path's
                found.append((seen.st_dev, seen.st_ino, seen.st_size))
            except OSError:
                found.append(None)
        return found


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
    if not missing(migrations, _version(connection)):
        return
    lock = None if locked else ServerLock(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _apply(connection, missing(migrations, _version(connection)))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    finally:
        if lock is not None:
            lock.release()


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    for migration in migrations:
        for statement in migration.statements:
            connection.execute(statement)
    if migrations:
        connection.execute(f"PRAGMA user_version={newest(migrations)}")
