"""A copy of a SQLite file, taken while a server writes to it, and put back while none does."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

from handrail.errors import InputError
from handrail.files import parts, replacing, sync_folder
from handrail.service.chain import START, link, lost
from handrail.service.events import name_in
from handrail.service.store.lock import ServerLock
from handrail.service.store.migrations import SQLITE, missing
from handrail.service.store.open import is_postgres, sqlite_path, view_file
from handrail.service.store.protocol import HeadRow, StoreUnavailable
from handrail.service.store.sqlite_file import (
    UNMARK,
    check_file,
    check_only_name,
    check_orphans,
    connect,
    copy_to,
    mark,
    version,
)
from handrail.service.store.sqlite_rows import SqliteReader, text_of
from handrail.service.store.sqlite_view import SqliteView

__all__ = ["Backup", "back_up", "restore"]


class Backup(NamedTuple):
    """What a copy holds."""

    path: Path
    policies: int
    events: int
    bytes: int


def back_up(source: str, out: str | os.PathLike[str]) -> Backup:
    """Copy a SQLite file as it is at one moment, check the copy, and put it in place.

    A server may go on writing meanwhile. The copy is one file, with nothing beside it; `restore`
    puts it back.

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
    view = view_file(path)  # refuses what cannot be read or is too new
    try:
        with replacing(target) as part:
            return _copy(view, part, note=True)._replace(path=target)
    except (OSError, sqlite3.Error, StoreUnavailable) as error:
        raise InputError(
            "--out", f"{target} was not written: {error}", "see to both files and their disks"
        ) from error


def restore(backup: str | os.PathLike[str], database: str) -> Backup:
    """Put a copy where the database is, as a whole or not at all, while no server has it.

    What is there before is replaced: the copy is made and checked under another name first. The
    write-ahead log of the old file is moved into it before the new file gets the name, so that
    either of them is whole at every moment, also after a crash. Nobody else has the old file open
    meanwhile.

    Parameters
    ----------
    backup : path
        What `back_up` wrote, or a server rescued; it is only read.
    database : str
        The SQLite file; it need not exist.

    Returns
    -------
    Backup
        What is in it.
    """
    if is_postgres(database):
        raise InputError("database", "is PostgreSQL, which has its own backups", "use pg_restore")
    source, target = Path(os.path.realpath(backup)), sqlite_path(database)
    check_file(source, "backup")
    check_only_name(source, "backup")
    if source == target:
        raise InputError("backup", "is the database itself", "name another file")
    if not target.parent.is_dir():
        raise InputError("database", f"{target.parent} is no folder", "make it first")
    if target.exists():
        check_file(target)
        check_only_name(target)
    lock = ServerLock(target)
    try:
        check_orphans(target)
        for left in parts(target):  # by a restore that was killed: nobody else has the lock
            _remove_beside(left)
            left.unlink(missing_ok=True)
        with contextlib.ExitStack() as held:
            with replacing(target) as part:
                done = _copy(SqliteView(source), part, note=False)._replace(path=target)
                if target.exists():
                    _settle(target, held)
                else:
                    _claim(part, target)
            part.unlink(missing_ok=True)  # of two names of one file neither takes the other's place
        return done
    except (OSError, sqlite3.Error, StoreUnavailable) as error:
        raise InputError(
            "database", f"{target} was not restored: {error}", "see to both files and their disks"
        ) from error
    finally:
        lock.release()


def _hold(target: Path) -> sqlite3.Connection:
    """Keep everybody from a file that is to be replaced: nobody has it open, and nobody gets in.

    All pages of its write-ahead log are in it then, and it has none: who had it open would write
    to one that lies beside the next file. Who is let in when it has lost its name finds a file
    without a write-ahead log, in which SQLite refuses to write to a file that was moved.
    """
    old = connect(target)
    try:
        old.execute("PRAGMA locking_mode=EXCLUSIVE").fetchone()
        old.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # replays a journal
        old.execute("PRAGMA journal_mode=DELETE").fetchone()
        old.execute("PRAGMA journal_mode=MEMORY").fetchone()  # no file of a name to be removed
        old.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        old.close()
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        raise InputError(
            "database",
            f"{target} is in use by another process, and nothing was replaced",
            "wait until it is done, or end it",
        ) from error
    except BaseException:
        old.close()
        raise
    return old


def _settle(target: Path, held: contextlib.ExitStack) -> None:
    """Keep what is there to ourselves, and leave nothing beside it that the next would have.

    All of its pages have to be in the file first, unless that is damaged.
    """
    try:
        held.callback(_hold(target).close)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
    if os.name != "posix":  # there a file that anybody has open is not replaced
        held.close()
    _remove_beside(target)
    sync_folder(target.parent)


def _claim(part: Path, target: Path) -> None:
    """Give the new file the name where there is none of it, unless somebody else takes it."""
    check_orphans(target)
    _remove_beside(target)
    sync_folder(target.parent)
    try:
        os.link(part, target)
    except FileExistsError:
        raise InputError(
            "database",
            f"{target} was made meanwhile, and was not replaced",
            "try again if it is to be replaced",
        ) from None
    except OSError:
        return  # a file system without links: it is renamed


def _remove_beside(path: Path) -> None:
    """Remove what SQLite puts beside a file."""
    for ending in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _check_target(path: Path, target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError("--out", f"{target.parent} is no folder", "name a file in one")
    if target.exists():
        check_file(target, "--out")
    beside = [target.with_name(target.name + ending) for ending in ("-wal", "-journal", ".lock")]
    if target == path or any(each.exists() for each in beside):
        raise InputError("--out", f"{target} is a database in use", "name another file")


def _copy(view: SqliteView, part: Path, note: bool) -> Backup:
    """Copy a file and check the copy, also by what it notes itself; note where its logs end."""
    with view.connection() as original:
        copy_to(original, part)
    with contextlib.closing(connect(part)) as copy:
        missing(SQLITE, version(copy))  # is not too new
        copy.text_factory = text_of
        policies = dict(copy.execute("SELECT number, name FROM policies"))
        heads = _heads(copy, policies)
        _compare(SqliteReader(copy), snapshots=note)
        copy.execute(UNMARK)  # a server has to know it from its own file
        if note:
            _note(copy, heads)
        else:
            mark(copy)
        events = sum(head.seq for head in heads.values())
    return Backup(part, len(policies), events, part.stat().st_size)


def _note(copy: sqlite3.Connection, heads: dict[int, HeadRow]) -> None:
    """Note the heads in a table that only copies have, and what was restored from one."""
    copy.execute("BEGIN IMMEDIATE")
    copy.execute("DROP TABLE IF EXISTS heads")
    copy.execute(
        "CREATE TABLE heads (number INTEGER PRIMARY KEY, policy TEXT NOT NULL, "
        "seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT"
    )
    rows = [(number, *head) for number, head in heads.items()]
    copy.executemany("INSERT INTO heads VALUES (?, ?, ?, ?)", rows)
    copy.execute("COMMIT")


def _compare(reader: SqliteReader, snapshots: bool) -> None:
    """Refuse a copy that lost what it noted, and a database that lost events before a snapshot.

    A copy is put back whatever its snapshots say: it may be all there is.
    """
    for head in reader.noted():
        policy = reader.find(head.policy)
        if policy is None:
            raise _wrong(f"heads of {head.policy!r} were noted, and there is no such policy")
        for said in lost(reader, policy, [head], []):
            raise _wrong(said)
    for policy in reader.policies() if snapshots else []:
        for said in lost(reader, policy, [], reader.snapshots(policy.number)):
            raise _wrong(said)


def _heads(copy: sqlite3.Connection, policies: dict[int, str]) -> dict[int, HeadRow]:
    """Return where each log ends; InputError at an event that does not follow the one before it."""
    heads: dict[int, HeadRow] = {}
    for policy, seq, body, hash in copy.execute(
        "SELECT policy, seq, body, hash FROM events ORDER BY id"
    ):
        name = policies.get(policy)
        if name is None:
            raise _wrong(f"event {seq} is of no policy: there is none of number {policy}")
        before = heads.get(policy, HeadRow(name, 0, START))
        if seq != before.seq + 1 or link(before.hash, body) != hash:
            raise _wrong(f"event {seq} of {name!r} does not follow event {before.seq}")
        if seq == 1 and (made := name_in(body)) not in (None, name):
            raise _wrong(f"event 1 of {name!r} creates {made!r}")
        heads[policy] = HeadRow(name, seq, hash)
    return heads


def _wrong(reason: str) -> InputError:
    return InputError("source", f"{reason}, and nothing was replaced", "run handrail audit")
