"""Where finished blocks are kept, by key: in memory, or in one SQLite file that survives a crash.

A key is a content address: it names what its block depends on. The same key is the same block,
whichever run or figure computed it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import zlib
from pathlib import Path
from typing import Any, Final, Protocol, Self

from handrail.errors import InputError

__all__ = ["MemoryStore", "SqliteStore", "Store", "check_unused", "store_files"]

_APPLICATION: Final = 0x68616E64
"""Says in the file's header that it is ours ("hand")."""

_VERSION: Final = 1
_COMPANIONS: Final = ("-wal", "-shm", "-journal")
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""The last: the file has another table than it says."""
_LOCKED: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Store(Protocol):
    """Finished blocks by key; usable from several threads, and closed by whoever opened it."""

    def get(self, key: str) -> bytes:
        """Return a block; KeyError where there is none of this key."""
        ...

    def put(self, key: str, payload: bytes) -> None:
        """Keep a block, whole or not at all; the first one of a key stays."""
        ...

    def keys(self) -> set[str]:
        """Return the keys of all blocks."""
        ...

    def __contains__(self, key: object) -> bool: ...

    def close(self) -> None:
        """Let go of what the store holds; a second time does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class MemoryStore:
    """A store that ends with its process.

    Examples
    --------
    >>> with MemoryStore() as store:
    ...     store.put("key", b"block")
    ...     store.get("key"), "other" in store
    (b'block', False)
    """

    def __init__(self) -> None:
        self._blocks: dict[str, bytes] = {}

    def get(self, key: str) -> bytes:
        """Return a block; KeyError where there is none of this key."""
        return self._blocks[key]

    def put(self, key: str, payload: bytes) -> None:
        """Keep a block; the first one of a key stays."""
        self._blocks.setdefault(key, payload)

    def keys(self) -> set[str]:
        """Return the keys of all blocks."""
        return set(self._blocks)

    def __contains__(self, key: object) -> bool:
        return key in self._blocks

    def close(self) -> None:
        """Do nothing: what was computed can still be read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class SqliteStore:
    """A store in one SQLite file, for one process at a time.

    Killed at any moment, also by ``kill -9``, the file holds whole blocks only, and all those
    whose `put` returned. While it is open, no other code of this process may open the file:
    closing it again would drop the lock that keeps other processes out.

    Parameters
    ----------
    path : str or path
        The file; made if it is missing.

    Raises
    ------
    InputError
        The file is in use by another process, damaged, not a store or cannot be written. Also
        raised by later calls, then for a full disk too: what was stored before stays.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        try:
            self._connection = _connect(self._path)
        except sqlite3.Error as error:
            raise _explain(self._path, error) from error
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def get(self, key: str) -> bytes:
        """Return a block; KeyError where there is none of this key."""
        rows = self._execute("SELECT checksum, payload FROM blocks WHERE key = ?", key)
        if not rows:
            if key in self.keys():
                raise _damaged(self._path, f"block {key} is lost")
            raise KeyError(key)
        [(checksum, payload)] = rows
        if not isinstance(payload, bytes) or checksum != _checksum(key, payload):
            raise _damaged(self._path, f"the checksum of block {key} is wrong")
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keep a block, whole or not at all; the first one of a key stays."""
        # A transaction of one statement, which is one call into SQLite: a KeyboardInterrupt
        # comes before or after it, never in between.
        insert = "INSERT OR IGNORE INTO blocks (key, checksum, payload) VALUES (?, ?, ?)"
        self._execute(insert, key, _checksum(key, payload), payload)

    def keys(self) -> set[str]:
        """Return the keys of all blocks."""
        return {key for (key,) in self._execute("SELECT key FROM blocks")}

    def __contains__(self, key: object) -> bool:
        return bool(self._execute("SELECT 1 FROM blocks WHERE key = ?", key))

    def close(self) -> None:
        """Bring all blocks into the one file and let go of it; a second time does nothing."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _execute(self, statement: str, *values: object) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _explain(self._path, error) from error
        except UnicodeDecodeError as error:  # SQLite quotes what it cannot make sense of
            raise _damaged(self._path, "malformed text") from error

    def _prepare(self) -> None:
        """Lock the file, see that it is ours, and make the table if it is new."""
        # Reads before it writes: a file of somebody else's stays as it is.
        [(application,)] = self._execute("PRAGMA application_id")
        [(version,)] = self._execute("PRAGMA user_version")
        [(tables,)] = self._execute("SELECT count(*) FROM sqlite_master")
        if application != _APPLICATION and (application or version or tables):
            raise _damaged(self._path, "it holds something else")
        if version > _VERSION:
            raise InputError(
                "out",
                f"{self._path} has format version {version}, this handrail reads up to {_VERSION}",
                "upgrade handrail, or choose another folder",
            )
        self._execute("PRAGMA journal_mode = WAL")
        self._execute("PRAGMA synchronous = NORMAL")
        self._execute("BEGIN IMMEDIATE")
        self._execute(
            "CREATE TABLE IF NOT EXISTS blocks"
            " (key TEXT NOT NULL PRIMARY KEY, checksum INTEGER NOT NULL, payload BLOB NOT NULL)"
        )
        self._execute(f"PRAGMA application_id = {_APPLICATION}")
        self._execute(f"PRAGMA user_version = {_VERSION}")
        self._execute("COMMIT")


def store_files(name: str) -> tuple[str, ...]:
    """Return the names of all files that a store may leave in its folder when it is killed.

    Parameters
    ----------
    name : str
        The name of the store's file.

    Returns
    -------
    tuple of str
        That name and those of SQLite's companions.

    Examples
    --------
    >>> store_files("blocks.sqlite")[:2]
    ('blocks.sqlite', 'blocks.sqlite-wal')
    """
    return (name, *(name + companion for companion in _COMPANIONS))


def check_unused(path: Path) -> None:
    """Refuse a file that another process has open as a store; any other file passes.

    Parameters
    ----------
    path : pathlib.Path
        A file that is about to be removed.

    Raises
    ------
    InputError
        It is in use.
    """
    if not path.is_file():
        return
    try:
        with contextlib.closing(_connect(path)) as connection:
            connection.execute("PRAGMA application_id").fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.Error) and _primary(error) in _LOCKED:
            raise _explain(path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    # One lock for all threads is the store's, and a lock of another process is final.
    connection = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    # Before the file is first read: then no other process gets in, and SQLite needs no memory
    # shared between processes, which not every file system has.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def _checksum(key: str, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(key.encode()))


def _primary(error: sqlite3.Error) -> int:
    """Return SQLite's code without its details; -1 where the error is not SQLite's own."""
    code: int = getattr(error, "sqlite_errorcode", -1)
    return code & 0xFF if code >= 0 else -1


def _damaged(path: Path, why: str) -> InputError:
    return InputError(
        "out",
        f"{path} cannot be read as a store of blocks ({why})",
        "restore it from a copy, or start afresh with --force",
    )


def _explain(path: Path, error: sqlite3.Error) -> Exception:
    """Return what to raise for an error of SQLite's."""
    code = _primary(error)
    if code < 0:  # not SQLite's: text that is none, or a call that is wrong
        return _damaged(path, str(error)) if isinstance(error, sqlite3.OperationalError) else error
    if code in _LOCKED:
        return InputError(
            "out", f"{path} is in use by another process", "wait for it, or choose another folder"
        )
    if code in _DAMAGED:
        return _damaged(path, str(error))
    if code == sqlite3.SQLITE_FULL:
        return InputError(
            "out",
            f"no disk space is left for {path}",
            "free some and run the same command again: what was computed is kept",
        )
    return InputError("out", f"{path} cannot be written ({error})", "choose another folder")
