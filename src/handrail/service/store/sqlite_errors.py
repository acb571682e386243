"""What SQLite's errors mean for the service."""

from __future__ import annotations

import sqlite3
from typing import Final

from handrail.service.store.protocol import StoreBroken, StoreUnavailable

__all__ = ["judge"]

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
