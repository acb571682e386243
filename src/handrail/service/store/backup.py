"""A copy of a SQLite file, taken while a server writes to it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

from handrail.errors import InputError
from handrail.files import replacing
from handrail.service.store.open import is_postgres, open_store, sqlite_path
from handrail.service.store.sqlite_file import check_file, connect

__all__ = ["Backup", "back_up"]


class Backup(NamedTuple):
    """What a copy holds."""

    path: Path
    policies: int
    events: int
    bytes: int


def back_up(source: str, out: str | os.PathLike[str]) -> Backup:
    """Copy a SQLite file as it is at one moment, check the copy, and put it in place.

    A server may go on writing meanwhile. The copy is one file, with nothing beside it; to restore
    it, stop the server and put it where the database is, without what lies beside that
    (``-wal`` and ``-shm``).

    Parameters
    ----------
    source : str
        The SQLite file.
    out : path
        The copy; an earlier copy there is replaced, any other file is left alone.

    Returns
    -------
    Backup
        What is in it.
    """
    if is_postgres(source):
        raise InputError("source", "is PostgreSQL, which has its own backups", "use pg_dump")
    path, target = sqlite_path(source), Path(os.path.realpath(out))
    _check_target(path, target)
    store = open_store(source, create=False)  # refuses what cannot be read or is too new
    try:
        with replacing(target) as part:
            return _copy(path, part)._replace(path=target)
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            "--out", f"{target} was not written: {error}", "see to both files and their disks"
        ) from error
    finally:
        store.close()


def _check_target(path: Path, target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError("--out", f"{target.parent} is no folder", "name a file in one")
    if target.exists():
        check_file(target, "--out")
    beside = [target.with_name(target.name + ending) for ending in ("-wal", "-journal", ".lock")]
    if target == path or any(each.exists() for each in beside):
        raise InputError("--out", f"{target} is a database in use", "name another file")


def _copy(path: Path, part: Path) -> Backup:
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with contextlib.closing(connect(part)) as copy:
        with contextlib.closing(connect(path)) as original:
            # In one go, so that it is one moment and writers cannot make it start over; they do
            # not wait for it either.
            original.backup(copy)
        # One file, whole by itself. SQLite brings it to disk before it says so.
        copy.execute("PRAGMA journal_mode=DELETE").fetchone()
        (verdict,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise InputError("source", f"{path} is damaged: {verdict}", "restore an older backup")
        policies, events = (
            copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("policies", "events")
        )
    return Backup(part, policies, events, part.stat().st_size)
