"""The lock of the one server that serves a SQLite file.

SQLite itself lets any number of processes write. A server keeps what it folded in memory, so a
second one would decide without knowing what the first decided.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from handrail.errors import InputError

__all__ = ["ServerLock"]

# Windows keeps others from reading what is locked: a byte far behind the process's number.
_PLACE = 1 << 30


def _take(handle: int) -> None:
    """Lock the file or raise OSError; the system frees it when the process ends, however."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, _PLACE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class ServerLock:
    """Holds the lock from when it is made until it is released, or the process is gone.

    The file stays where it is: if it were removed, a server that opened it just before and one
    that makes it anew would both hold a lock.

    Parameters
    ----------
    database : Path
        The SQLite file, which has one name; the lock is the file beside it that ends in ``.lock``.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        try:
            self._handle: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(
                "database", f"{path} cannot be written: {error.strerror}", "see to its folder"
            ) from error
        try:
            _take(self._handle)
        except OSError:
            holder = os.pread(self._handle, 20, 0) if hasattr(os, "pread") else b""
            self.release()
            whose = f" (process {holder.decode()})" if holder.isdigit() else ""
            raise InputError(
                "database",
                f"is in use by another server{whose}",
                "stop it first, name another file, or use PostgreSQL to serve from several",
            ) from None
        os.ftruncate(self._handle, 0)
        os.lseek(self._handle, 0, os.SEEK_SET)
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the number
            os.write(self._handle, str(os.getpid()).encode())

    def release(self) -> None:
        """Let the next server have it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
