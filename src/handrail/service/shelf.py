"""The shelf: the books that are in memory, loaded when they are asked for."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from handrail.errors import InputError
from handrail.service.book import Book
from handrail.service.chain import link, lost
from handrail.service.events import Created, Event, decode
from handrail.service.snapshots import is_damaged, restore
from handrail.service.store.protocol import LogMoved, PolicyRow, Reader, Row

__all__ = ["DamagedLog", "Shelf", "catch_up", "fold", "load", "page_after"]

_LOG: Final = logging.getLogger("handrail.service")
_PAGE: Final = 100
_PAGE_BYTES: Final = 8 * 2**20


class DamagedLog(Exception):
    """A log that cannot be folded: an audit says where."""


def load(reader: Reader, number: int) -> Book:
    """Return a policy's book: from its newest snapshot that fits the log, and what came after."""
    first = reader.events(number, 0, 1)
    if not first:
        raise DamagedLog("the log is empty")
    created = _decode(first[0])
    if not isinstance(created, Created):
        raise DamagedLog("the log does not begin with its creation")
    policy = PolicyRow(number, str(created.definition.get("name")))
    for snapshot in reader.snapshots(number):
        misfit = next(lost(reader, policy, [], [snapshot]), None)
        if misfit is not None:
            _LOG.error("%s: its tail may be lost, run handrail audit", misfit)
            continue
        book = restore(created, snapshot)
        if book is not None:
            break
        if is_damaged(snapshot):
            _LOG.error("a snapshot of %r is damaged and is not used", policy.name)
    else:
        try:
            book = Book(created)
        except InputError as error:  # of its definition, or of what a release made of it
            raise DamagedLog(f"event 1 is of no policy ({error})") from error
        book.seq, book.head = 1, link(book.head, first[0].body)
        if book.head != first[0].hash:
            raise DamagedLog("event 1 does not have its hash")
    fold(book, reader, number)
    return book


def fold(book: Book, reader: Reader, number: int) -> None:
    """Take in the events that a book has not seen."""
    page = _PAGE
    while True:
        rows = reader.events(number, book.seq, page)
        _take(book, rows)
        if len(rows) < page:
            return
        page = page_after(rows, _PAGE)


def catch_up(book: Book, reader: Reader, number: int) -> None:
    """Take in what others appended, if the log still has the last event that the book has seen.

    One statement reads that event and those after it.
    """
    rows = reader.since(number, book.seq, _PAGE)
    if not rows or (rows[0].seq, rows[0].hash) != (book.seq, book.head):
        raise LogMoved(f"{book.definition['name']}: event {book.seq} is not in its log any more")
    _take(book, rows[1:])
    if len(rows) == _PAGE:
        fold(book, reader, number)


def _take(book: Book, rows: Sequence[Row]) -> None:
    for row in rows:
        head = link(book.head, row.body)
        if row.seq != book.seq + 1 or row.hash != head:
            raise DamagedLog(f"event {row.seq} does not follow event {book.seq}")
        try:
            book.apply(_decode(row))
        except InputError as error:
            raise DamagedLog(f"event {row.seq}: {error}") from error
        book.seq, book.head = row.seq, head


def page_after(rows: Sequence[Row], most: int) -> int:
    """Return how many rows like these to read next: a page is measured in bytes, too."""
    return max(1, min(most, _PAGE_BYTES * len(rows) // sum(len(row.body) for row in rows)))


def _decode(row: Row) -> Event:
    try:
        return decode(row.body)
    except msgspec.MsgspecError as error:
        raise DamagedLog(f"event {row.seq} cannot be read ({error})") from error


class Shelf:
    """Books by policy, the ones used last kept.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._books: OrderedDict[int, Book] = OrderedDict()
        self._numbers: dict[str, int] = {}
        self.damaged: dict[str, str] = {}
        """Policies whose logs were found not to follow their hashes, by name, and where."""
        self.rotten: dict[str, frozenset[str]] = dict.fromkeys(("idempotency", "keys"), frozenset())
        """Rows that nobody wrote, by table, in words."""

    def __len__(self) -> int:
        return len(self._books)

    def get(self, number: int) -> Book | None:
        """Return a book if it is in memory."""
        return self._books.get(number)

    def items(self) -> list[tuple[int, Book]]:
        """Return all policies in memory, with their books."""
        return list(self._books.items())

    def number(self, name: str, reader: Reader) -> int | None:
        """Return the number of a policy by its name, which never changes."""
        number = self._numbers.get(name)
        if number is None:
            row = reader.find(name)
            if row is None:
                return None
            number = self._numbers[name] = row.number
        return number

    def book(self, number: int, reader: Reader) -> Book:
        """Return a policy's book, loaded if need be."""
        book = self._books.get(number)
        if book is None:
            book = self._books[number] = load(reader, number)
        else:
            self._books.move_to_end(number)
        return book

    def add(self, row: PolicyRow, book: Book) -> None:
        """Put a new policy's book on the shelf."""
        self.damaged.pop(row.name, None)  # that was another log
        self._numbers[row.name] = row.number
        self._books[row.number] = book

    def note_rotten(self, table: str, rows: Iterable[str]) -> None:
        """Take in which rows of a table were found to be rotten, and say so of each once."""
        for row in {*rows} - self.rotten[table]:
            _LOG.critical("a row of the table %s is damaged, and is left out: %s", table, row)
            self.rotten[table] |= {row}

    def drop(self, number: int) -> None:
        """Forget what is in memory of a policy: the log has it."""
        self._books.pop(number, None)

    def forget(self, name: str) -> None:
        """Forget a policy whose creation was not committed."""
        number = self._numbers.pop(name, None)
        if number is not None:
            self.drop(number)

    def clear(self) -> None:
        """Forget everything: the logs have it. Those that are damaged are not read again."""
        self._books.clear()
        self._numbers.clear()

    def spill(self) -> list[tuple[int, Book]]:
        """Take the books used longest ago off the shelf, as many as are too many."""
        return [self._books.popitem(last=False) for _ in range(len(self._books) - self._most)]
