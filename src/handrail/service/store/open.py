"""Open a database by its name: a SQLite file, or PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.service.store.lock import ServerLock
from handrail.service.store.migrations import SQLITE, missing
from handrail.service.store.protocol import Store, StoreBroken, StoreUnavailable, View
from handrail.service.store.sqlite import SqliteStore
from handrail.service.store.sqlite_errors import judge
from handrail.service.store.sqlite_file import (
    check_file,
    check_only_name,
    check_orphans,
    check_rescued,
    joined,
    make_file,
    migrate,
    version,
)
from handrail.service.store.sqlite_view import SqliteView

__all__ = ["is_postgres", "open_store", "open_view", "sqlite_path", "view_file"]

_POSTGRES = ("postgresql://", "postgres://")
_SQLITE = "sqlite:///"


def open_store(source: str, *, exclusive: bool = False, create: bool = True) -> Store:
    """Open a database, and bring its tables up to date.

    Parameters
    ----------
    source : str
        The path of a SQLite file, also as ``sqlite:///PATH``, or ``postgresql://...``.
    exclusive : bool
        Whether to be the one server of a SQLite file. Tools open it beside a server. PostgreSQL
        takes any number of servers.
    create : bool
        Whether a database that does not exist is made; otherwise it is refused.

    Returns
    -------
    Store
        The database; close it.

    Raises
    ------
    InputError
        If it cannot be opened, is not handrail's, is of a newer version, another server has it, or
        what a server rescued lies beside it.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = open_store(os.path.join(folder.name, "log.db"))
    >>> with store.writing() as writer:
    ...     writer.add_policy("news").name
    'news'
    >>> store.close()
    >>> folder.cleanup()
    """
    if is_postgres(source):
        return _open_postgres(source, create)
    given = _sqlite_name(source)
    path = Path(os.path.realpath(given))
    with _explained(path):
        return _open_sqlite(path, given, exclusive, create)


def open_view(source: str) -> View:
    """Open a database that exists for those who only read it: a SQLite file is not changed.

    It may be of an older version: what is read by those was there from the first one on.
    """
    return _open_postgres(source, False) if is_postgres(source) else view_file(sqlite_path(source))


def view_file(path: Path) -> SqliteView:
    """Open a SQLite file, without links in its name, for those who only read it."""
    with _explained(path):
        if not path.exists():
            raise InputError("database", f"{path} does not exist", "name one that does")
        check_file(path)
        check_only_name(path)
        view = SqliteView(path)
        with view.connection() as connection:
            missing(SQLITE, version(connection))  # is not too new
        return view


def is_postgres(source: str) -> bool:
    """Return whether a database's name is that of a PostgreSQL."""
    return source.startswith(_POSTGRES)


def sqlite_path(source: str) -> Path:
    """Return the SQLite file that a database's name means, without links in its path."""
    return Path(os.path.realpath(_sqlite_name(source)))


def _sqlite_name(source: str) -> Path:
    """Return the path that was given, which may be a link."""
    name = source.removeprefix(_SQLITE)
    if not name or "://" in name or name == ":memory:":
        raise InputError(
            "database",
            # What has a scheme may have a password too.
            "is of a kind that handrail does not know" if "://" in name else "is no file",
            "name a file, or postgresql://USER@HOST/NAME",
        )
    return Path(name).absolute()


def _open_postgres(source: str, create: bool) -> Store:
    try:
        need_extra("psycopg", "postgres")
    except ImportError as error:  # it is there, and finds no libpq
        raise InputError("psycopg", str(error), "pip install 'handrail[postgres]'") from error
    from handrail.service.store.postgres_tables import open_postgres

    return open_postgres(source, create)


def _open_sqlite(path: Path, given: Path, exclusive: bool, create: bool) -> SqliteStore:
    if sqlite3.sqlite_version_info < (3, 37):
        raise InputError(
            "sqlite3", f"is of version {sqlite3.sqlite_version}, not 3.37", "use a newer Python"
        )
    check_orphans(path, given)
    if not path.exists():
        if not create:
            raise InputError("database", f"{path} does not exist", "name one that does")
        if not path.parent.is_dir():
            raise InputError("database", f"{path.parent} is no folder", "make it first")
        check_rescued(path, given)  # it was moved away under a server
        make_file(path, SQLITE)
    check_file(path)
    check_only_name(path)
    lock = ServerLock(path) if exclusive else None
    try:
        if exclusive:
            check_rescued(path, given)
        with joined(path) as connection:
            migrate(connection, path, SQLITE, lock is not None)
            # A backup that was put there by hand has no write-ahead log yet.
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
            return SqliteStore(path, lock, given)
    except BaseException:
        if lock is not None:
            lock.release()
        raise


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say what SQLite or the system found wrong with a file that is to be opened or made."""
    try:
        yield
    except sqlite3.Error as error:
        found = judge(error)
        if isinstance(found, StoreBroken):
            raise InputError(
                "database", f"{path} is damaged: {found}", "restore a backup"
            ) from error
        if isinstance(found, StoreUnavailable):
            raise InputError(
                "database", f"{path} cannot be used: {found}", "see to the file and its disk"
            ) from error
        raise
    except OSError as error:
        raise InputError(
            "database", f"{path} cannot be made: {error.strerror}", "see to its folder"
        ) from error
