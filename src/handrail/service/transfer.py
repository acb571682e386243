"""Logs out of a database and into another: the same bytes, the same state."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from handrail import files
from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.service.book import Book
from handrail.service.chain import START, link
from handrail.service.definition import check_name
from handrail.service.events import UPGRADE, Created, Decided, Upgraded, decode, read
from handrail.service.limits import Limits
from handrail.service.logfile import (
    Header,
    header_line,
    header_of,
    line_of,
    parquet_schema,
    parquet_table,
    place_of,
    read_rows,
    whole_header,
)
from handrail.service.plausible import check_created, check_event
from handrail.service.snapshots import take
from handrail.service.sources import Source
from handrail.service.store.protocol import Row, Store, Writer

__all__ = ["Transferred", "export_log", "import_log"]

_PAGE: Final = 500
_GROUP: Final = 5_000
"""Events in a row group of a Parquet file."""
_SNAPSHOTS: Final = 2


class Transferred(NamedTuple):
    """What was written."""

    policy: str
    events: int
    head: str


def _linked(rows: Iterator[Row], bad: Callable[[int, str], InputError]) -> Iterator[Row]:
    """Yield events that follow each other, from the first one on; raise at one that does not."""
    head, seq = START, 0
    for row in rows:
        if row.seq != seq + 1:
            raise bad(seq + 1, f"event {row.seq} follows event {seq}")
        head = link(head, row.body)
        if head != row.hash:
            raise bad(row.seq, f"event {row.seq} was altered: its hash is not that of its bytes")
        seq = row.seq
        yield row


# -- export --------------------------------------------------------------------------------------


def export_log(source: Source, policy: str, out: Path, until: int | None = None) -> Transferred:
    """Write a policy's log to a file, all of it or nothing.

    Parameters
    ----------
    source : Source
        Where it is. Events that are appended meanwhile are left out.
    policy : str
        The policy's name.
    out : pathlib.Path
        The file: Parquet if it is called so (.parquet), else NDJSON. An older one is replaced.
    until : int, optional
        The last event to write, by default the last one there is. Nothing after it is looked at.

    Returns
    -------
    Transferred
        What was written.

    Raises
    ------
    InputError
        If the log is damaged, or the file cannot be written.
    """
    last = source.head(policy) if until is None else _event_at(source, policy, until)
    if last is None:
        raise InputError("source", "may be a part of a log", "pass a database")
    events, head = last
    header = header_of(policy, events, head, _version(source, policy, events))
    rows = islice(_linked(source.rows(policy, events), _damaged), events)
    write = _write_parquet if out.suffix == ".parquet" else _write_lines
    try:
        with files.replacing(out) as part:
            written = write(part, header, rows)
            if written != last:
                raise _damaged(written[0] + 1, "it is missing")
    except OSError as error:
        raise InputError(
            "--out", f"{out} cannot be written: {error.strerror}", "name another file"
        ) from error
    return Transferred(policy, events, header.head)


def _version(source: Source, policy: str, last: int) -> int:
    """Return the version that has to be known to read a log: an old release may read an old one.

    An event that is damaged is no matter here: who writes the file will find it.
    """
    for row in islice(source.rows(policy, last), last):
        with contextlib.suppress(msgspec.MsgspecError):
            event = decode(row.body)
            if isinstance(event, Created) and event.version is not None:
                return event.version
            if isinstance(event, Upgraded):
                return event.version
    return 1


def _event_at(source: Source, policy: str, seq: int) -> tuple[int, bytes]:
    hash = source.hash_at(policy, seq) if seq > 0 else None
    if hash is None:
        raise InputError("--until", f"there is no event {seq}", "name one that is there")
    return seq, hash


def _damaged(seq: int, reason: str) -> InputError:
    return InputError("log", f"event {seq}: {reason}", "run handrail audit")


def _private(part: Path) -> BinaryIO:
    """Open a new file that nobody else may read: a log may tell of people."""
    return os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", 1 << 20)


def _write_lines(part: Path, header: Header, rows: Iterator[Row]) -> tuple[int, bytes]:
    count, last = 0, START
    with _private(part) as file:
        file.write(header_line(header))
        for row in rows:
            file.write(line_of(row))
            count, last = row.seq, row.hash
        file.flush()
        os.fsync(file.fileno())
    return count, last


def _write_parquet(part: Path, header: Header, rows: Iterator[Row]) -> tuple[int, bytes]:
    parquet: Any = need_extra("pyarrow.parquet", "service")
    schema = parquet_schema(header)
    count, last = 0, START
    with _private(part) as file:
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            while page := list(islice(rows, _GROUP)):
                writer.write_table(parquet_table(page, schema))
                count, last = page[-1].seq, page[-1].hash
        file.flush()
        os.fsync(file.fileno())
    return count, last


# -- import --------------------------------------------------------------------------------------


def import_log(path: Path, store: Store, now: int, limits: Limits | None = None) -> Transferred:
    """Put the log in a file into a database, all of it or nothing.

    Parameters
    ----------
    path : pathlib.Path
        What `export_log` wrote.
    store : Store
        The database; it must have no policy of this name.
    now : int
        Microseconds since 1970: idempotency keys are remembered while they are young.
    limits : Limits, optional
        Of policies.

    Returns
    -------
    Transferred
        What was written.

    Raises
    ------
    InputError
        With the line that is wrong, if the file is no whole log; or if there is such a policy.

    Notes
    -----
    The file is read twice: once to check its hashes and to fold it, so that nothing is written of
    a log that leads nowhere, and once to copy it, in one transaction. Memory does not grow with
    its length.
    """
    limits = limits or Limits()
    header = whole_header(path)
    with _placed(path, 0):
        check_name(header.policy, limits)
    with store.reading() as reader:
        if reader.find(header.policy) is not None:
            raise _taken(header.policy)
    book = _folded(path, header, limits)
    oldest = now - int(limits.idempotency_seconds * 1e6)
    with store.writing() as writer:
        added = writer.add_policy(header.policy)
        if added is None:
            raise _taken(header.policy)
        _copy(path, book, writer, added.number, oldest)
        writer.put_snapshot(added.number, take(book), _SNAPSHOTS)
    return Transferred(header.policy, book.seq, book.head.hex())


def _taken(policy: str) -> InputError:
    return InputError("policy", f"there is one called {policy!r}", "import into another database")


@contextlib.contextmanager
def _placed(path: Path, seq: int) -> Iterator[None]:
    """Say at which event of the file something is wrong, whatever goes wrong there."""
    try:
        yield
    except InputError as error:
        if error.remedy == UPGRADE:  # nothing is wrong with the file
            place = place_of(path, seq)
            reason = f"{place}: {error.field}: {error.reason}"
            raise InputError(str(path), reason, UPGRADE) from error
        raise _bad(path, seq, str(error)) from error
    except Exception as error:  # a log that somebody made up can trip the rules anywhere
        raise _bad(path, seq, f"it cannot be folded ({type(error).__name__})") from error


def _bad(path: Path, seq: int, reason: str) -> InputError:
    return InputError(
        str(path), f"{place_of(path, seq)}: {reason}", "export it again, or audit its source"
    )


def _rows(path: Path) -> Iterator[Row]:
    """Yield the events of a file, checked against each other."""
    return _linked(read_rows(path), lambda seq, reason: _bad(path, seq, reason))


def _folded(path: Path, header: Header, limits: Limits) -> Book:
    """Return the state that a file's log leads to."""
    book: Book | None = None
    for row in _rows(path):
        with _placed(path, row.seq):
            event = read(row.body)
            if book is None:
                book = Book(check_created(event, header.policy, limits))
            else:
                check_event(book, event, limits)
                book.apply(event)
            book.seq, book.head = row.seq, row.hash
    if book is None or (book.seq, book.head.hex()) != (header.events, header.head):
        found = 0 if book is None else book.seq
        raise _bad(
            path,
            found,
            f"the log ends after {found} events, its header says {header.events} up to "
            f"{header.head[:16]}...",
        )
    return book


def _copy(path: Path, book: Book, writer: Writer, number: int, oldest: int) -> None:
    """Append a file's events; it must still be the file that led to the book."""
    rows = _rows(path)
    last: Row | None = None
    while page := list(islice(rows, _PAGE)):
        writer.append(number, page)
        for row in page:
            event = decode(row.body)
            if isinstance(event, Decided) and event.key is not None and event.at >= oldest:
                writer.remember(number, event.key, row.seq, event.at)
        last = page[-1]
    if last is None or (last.seq, last.hash) != (book.seq, book.head):
        raise InputError(str(path), "was changed while it was read", "import it again")
