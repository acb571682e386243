"""Where logs are read from: a database that may be in use, or the file of one log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from handrail.errors import InputError
from handrail.service.chain import START
from handrail.service.events import Created, decode
from handrail.service.logfile import read_header, read_rows
from handrail.service.store.open import open_view
from handrail.service.store.protocol import HeadRow, Row, SnapshotRow, View

__all__ = ["DatabaseSource", "FileSource", "Source", "open_source"]

_PAGE: Final = 500
"""Events that are read at a time."""
_SQLITE: Final = b"SQLite format 3\0"


class Source(Protocol):
    """Logs that can be read from their first event on."""

    single: bool
    """Whether it is the file of one log, and not a database."""

    def policies(self) -> list[str]:
        """Return the names of the policies."""

    def head(self, policy: str) -> tuple[int, bytes] | None:
        """Return how many events there are, or have to be, and the last hash, where known."""

    def rows(self, policy: str, last: int | None) -> Iterator[Row]:
        """Yield a policy's events up to this one, a page at a time."""

    def snapshots(self, policy: str) -> list[SnapshotRow]:
        """Return what is kept of a policy's state beside its log."""

    def hash_at(self, policy: str, seq: int) -> bytes | None:
        """Return the hash that an event is stored with, if there is such an event."""

    def noted(self) -> list[HeadRow]:
        """Return the heads that were noted when it was made; of a log in a file, all events."""

    def ownerless(self) -> list[int]:
        """Return the numbers under which there are events and no policy."""

    def close(self) -> None:
        """Let go of it."""


class DatabaseSource:
    """The logs of a database.

    Parameters
    ----------
    store : View
        The database. It is read in short steps: a server may go on writing to it.
    """

    single = False

    def __init__(self, store: View) -> None:
        self._store = store
        self._numbers: dict[str, int] = {}

    def policies(self) -> list[str]:
        """Return the names of the policies."""
        self._numbers = {}
        last = ""
        while True:
            with self._store.reading() as reader:
                page = reader.policies(last, _PAGE)
            # A name with a flipped bit may be no text: as it is read it lies before what is stored,
            # and comes again.
            new = {row.name: row.number for row in page if row.name > last}
            if not new:
                return list(self._numbers)
            self._numbers |= new
            last = max(new)

    def head(self, policy: str) -> tuple[int, bytes]:
        """Return the last event's number and hash."""
        number = self._number(policy)
        with self._store.reading() as reader:
            found = reader.head(number)
        return (0, START) if found is None else (found.seq, found.hash)

    def rows(self, policy: str, last: int | None) -> Iterator[Row]:
        """Yield a policy's events up to this one, a page at a time."""
        number, after = self._number(policy), 0
        while last is None or after < last:
            most = _PAGE if last is None else min(_PAGE, last - after)
            with self._store.reading() as reader:
                page = reader.events(number, after, most)
            if not page:
                return
            after = page[-1].seq
            yield from page

    def snapshots(self, policy: str) -> list[SnapshotRow]:
        """Return the policy's snapshots, the newest first."""
        number = self._number(policy)
        with self._store.reading() as reader:
            return reader.snapshots(number)

    def hash_at(self, policy: str, seq: int) -> bytes | None:
        """Return the hash that an event is stored with, if there is such an event."""
        number = self._number(policy)
        with self._store.reading() as reader:
            found = reader.events(number, seq - 1, 1)
        return found[0].hash if found and found[0].seq == seq else None

    def noted(self) -> list[HeadRow]:
        """Return the heads that a backup noted."""
        with self._store.reading() as reader:
            return reader.noted()

    def ownerless(self) -> list[int]:
        """Return the numbers under which there are events and no policy."""
        with self._store.reading() as reader:
            return reader.ownerless()

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def _number(self, policy: str) -> int:
        if policy in self._numbers:  # also one that is not found by its name any more
            return self._numbers[policy]
        with self._store.reading() as reader:
            found = reader.find(policy)
        if found is None:
            raise InputError("policy", f"there is no {policy!r}", "name one that is there")
        return found.number


class FileSource:
    """The log in a file that `handrail export` made, or that the service streamed.

    Parameters
    ----------
    path : pathlib.Path
        NDJSON or Parquet.
    """

    single = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header = read_header(path)
        self._name = _name_of(path) if self._header is None else self._header.policy

    def policies(self) -> list[str]:
        """Return the one name."""
        return [self._name]

    def head(self, policy: str) -> tuple[int, bytes] | None:
        """Return what the header says."""
        if self._header is None:
            return None
        return self._header.events, bytes.fromhex(self._header.head)

    def rows(self, policy: str, last: int | None) -> Iterator[Row]:
        """Yield all of the file's events, also those beyond what its header says."""
        return read_rows(self._path)

    def snapshots(self, policy: str) -> list[SnapshotRow]:
        """Return nothing: a file holds a log alone."""
        return []

    def hash_at(self, policy: str, seq: int) -> bytes | None:
        """Return the hash that an event is stored with, if there is such an event."""
        return next((row.hash for row in read_rows(self._path) if row.seq == seq), None)

    def noted(self) -> list[HeadRow]:
        """Return every event as a head."""
        return [HeadRow(self._name, row.seq, row.hash) for row in read_rows(self._path)]

    def ownerless(self) -> list[int]:
        """Return nothing: all of it is one policy's."""
        return []

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""


def _name_of(path: Path) -> str:
    """Return the name in the event that created a policy, where a file has it."""
    first = next(read_rows(path), None)
    event = None if first is None else decode(first.body)
    name = event.definition.get("name") if isinstance(event, Created) else None
    if not isinstance(name, str):
        raise InputError(str(path), "is no log from its first event on", "export all of it")
    return name


def open_source(source: str) -> Source:
    """Open a database, or the file of a log; neither is made or changed.

    Parameters
    ----------
    source : str
        A SQLite file, a URL (postgresql://... or sqlite:///...), or an exported NDJSON or Parquet
        file.

    Returns
    -------
    Source
        The logs in it.
    """
    if "://" not in source:
        path = Path(source)
        if not path.is_file():
            raise InputError("source", f"there is no file {source}", "name a database or a log")
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
        # An empty file is what SQLite makes of a new database before anything is in it.
        if start not in (_SQLITE, b""):
            return FileSource(path)
    return DatabaseSource(open_view(source))
