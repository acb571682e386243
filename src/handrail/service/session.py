"""A session: several requests in one transaction, each on its policy's book."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from handrail._version import __version__
from handrail.service.book import Book
from handrail.service.chain import link
from handrail.service.definition import LOG_VERSION
from handrail.service.events import Decided, Event, Upgraded, decode, encode, round_of
from handrail.service.limits import Limits
from handrail.service.problems import Problem
from handrail.service.shelf import DamagedLog, Shelf, catch_up
from handrail.service.store.protocol import (
    HeadRow,
    KeyMoved,
    LogMoved,
    PolicyRow,
    Reader,
    Row,
    Writer,
)

__all__ = ["Look", "Session"]

_PAGE: Final = 100
_LAST: Final = 253_402_300_799_000_000
"""The last second of the year 9999: nothing can read or show what lies after that year."""


class Look:
    """What requests work with that change nothing.

    Parameters
    ----------
    reader : Reader
        The transaction.
    shelf : Shelf
        The books in memory.
    shared : bool
        Whether other processes append to the same logs.
    """

    def __init__(self, reader: Reader, shelf: Shelf, *, shared: bool) -> None:
        self._reader = reader
        self.shelf = shelf
        self._shared = shared
        self._numbers: dict[int, int] = {}
        self.by: str | None = None
        """The id of the key whose request is served; None where no keys are asked for."""
        self.used: set[int] = set()
        """Policies whose books may be ahead of their logs until the transaction is committed."""

    def book(self, name: str) -> Book:
        """Return a policy's book, as of the last event of its log.

        `LogMoved` says that the log is not the one that memory knows.
        """
        number = self.shelf.number(name, self._reader)
        if number is None:
            raise Problem(404, f"there is no policy {name[:100]!r}", field="policy")
        if name in self.shelf.damaged:
            self.shelf.drop(number)
            raise _damaged(self.shelf.damaged[name])
        known = self.shelf.get(number) is not None
        try:
            book = self.shelf.book(number, self._reader)
            if book.definition["name"] != name:
                raise LogMoved(f"{name}: its number {number} is that of another policy's log")
            if self._shared and number not in self.used:
                catch_up(book, self._reader, number)
        except (DamagedLog, LogMoved) as error:
            self.shelf.drop(number)
            # What was in memory may be of another log; what has just been read is the log itself.
            if known or self._reader.find(name) != (number, name):
                raise LogMoved(str(error)) from error
            raise _damaged(str(error)) from error
        self.used.add(number)
        self._numbers[id(book)] = number
        return book

    def number(self, book: Book) -> int:
        """Return the number of a policy by its book."""
        return self._numbers[id(book)]


def _damaged(reason: str) -> Problem:
    return Problem(
        503, f"its log is damaged: {reason}", field="policy", remedy="run handrail audit"
    )


class Session(Look):
    """What the requests of one transaction work with.

    Parameters
    ----------
    log : Writer
        The transaction.
    shelf : Shelf
        The books in memory.
    limits : Limits
        What is taken at most.
    now : int
        The time, in microseconds since 1970.
    shared : bool
        Whether other processes append to the same logs.
    """

    def __init__(
        self, log: Writer, shelf: Shelf, limits: Limits, now: int, *, shared: bool
    ) -> None:
        super().__init__(log, shelf, shared=shared)
        self.log = log
        self.limits = limits
        self.now = min(now, _LAST)  # a clock that is past it stands still
        self._fresh: dict[int, list[Row]] = {}
        self._befores: dict[int, HeadRow] = {}
        """The events that the fresh ones follow."""
        self._keys: dict[tuple[int, str], tuple[int, Decided]] = {}
        self.created: list[str] = []
        """Policies made in this transaction."""
        self.wrote = False
        """Whether an event was written."""

    def lock(self, names: Sequence[str]) -> None:
        """Keep other processes from appending to these policies' logs."""
        found = {name: self.shelf.number(name, self.log) for name in names}
        policies = [PolicyRow(each, name) for name, each in found.items() if each is not None]
        if policies:
            self.log.lock(policies)

    def open_book(self, row: PolicyRow, book: Book) -> None:
        """Take in a new policy."""
        self.shelf.add(row, book)
        self.created.append(row.name)
        self.used.add(row.number)
        self._numbers[id(book)] = row.number

    def time(self, book: Book) -> int:
        """Return the time of the next event: a clock that jumps back stands still."""
        return max(self.now, book.at)

    def write(self, book: Book, event: Event) -> Row:
        """Append an event, which the book has counted already, to its log."""
        if book.version < LOG_VERSION:
            upgraded = Upgraded(at=event.at, version=LOG_VERSION, handrail=__version__)
            book.apply(upgraded)
            self._append(book, upgraded)
        return self._append(book, event)

    def _append(self, book: Book, event: Event) -> Row:
        event.by = self.by
        body = encode(event)
        number = self._numbers[id(book)]
        fresh = self._fresh.setdefault(number, [])
        if not fresh and book.seq > 0:
            self._befores[number] = HeadRow(book.definition["name"], book.seq, book.head)
        book.head = link(book.head, body)
        book.seq += 1
        row = Row(book.seq, round_of(event), body, book.head)
        fresh.append(row)
        self.wrote = True
        return row

    def remember(self, book: Book, key: str, seq: int, event: Decided) -> None:
        """Keep the idempotency key that a decision was made under."""
        self._keys[self._numbers[id(book)], key] = seq, event

    def keyed(self, book: Book, key: str) -> Decided | None:
        """Return the decision that was made under an idempotency key, if it is still kept."""
        number = self._numbers[id(book)]
        fresh = self._keys.get((number, key))
        if fresh is not None:
            return fresh[1]
        try:
            row = self.log.keyed(number, key)
            if row is None:
                return None
            event = decode(row.body)
            if isinstance(event, Decided) and event.key == key:
                return event
        except (KeyMoved, msgspec.MsgspecError):
            pass
        return self._search(number, key)

    def _search(self, number: int, key: str) -> Decided | None:
        """Look for the decision under a key whose row leads to no event, or to another one.

        Either a restore removed it, or the row is rotten: then it is where the row says when it was
        made. Where the row does not say that, nobody may decide again: it could be twice.
        """
        seq, at = self.log.kept(number, key)
        found = None if at is None else self._made(number, key, at)
        if found is None and seq is not None and at is not None:
            return None
        self.shelf.note_rotten("idempotency", [f"policy {number}, key {key!r}"])
        if found is None:
            raise Problem(
                503,
                "what was kept of it is damaged, and whether anything was decided is not known",
                field="idempotency_key",
                remedy="play the baseline, and use a new key for another round",
            )
        return found

    def _made(self, number: int, key: str, at: int) -> Decided | None:
        """Return the decision that was made under a key at this time; times never go back."""
        head = self.log.head(number)
        first, last = 1, 1 if head is None else head.seq + 1
        try:
            while first < last:
                middle = (first + last) // 2
                if decode(self._event(number, middle).body).at < at:
                    first = middle + 1
                else:
                    last = middle
            while rows := self.log.events(number, first - 1, _PAGE):
                for row in rows:
                    event = decode(row.body)
                    if event.at != at:
                        return None
                    if isinstance(event, Decided) and event.key == key:
                        return event
                first = rows[-1].seq + 1
        except msgspec.MsgspecError as error:
            raise _damaged(f"an event cannot be read ({error})") from error
        return None

    def _event(self, number: int, seq: int) -> Row:
        rows = self.log.events(number, seq - 1, 1)
        if not rows or rows[0].seq != seq:
            raise _damaged(f"event {seq} is missing")
        return rows[0]

    def flush(self) -> None:
        """Hand over what was written, so that it can be read within the transaction."""
        for number, rows in self._fresh.items():
            if rows:
                self.log.append(number, rows, self._befores.pop(number, None))
                self._fresh[number] = []
        for (number, key), (seq, event) in self._keys.items():
            self.log.remember(number, key, seq, event.at)
        self._keys.clear()
