"""The keeper: snapshots when they are due, and forgetting what need not be remembered."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Final

from handrail.service.book import Book
from handrail.service.heads import MESSAGE
from handrail.service.limits import Limits
from handrail.service.shelf import Shelf
from handrail.service.snapshots import take
from handrail.service.store.protocol import Store, StoreUnavailable

__all__ = ["TRY_SECONDS", "Keeper"]

TRY_SECONDS: Final = 1.0
"""How often a database that is away is tried, even if nobody has anything to write."""

_LOG: Final = logging.getLogger("handrail.service")
_KEPT: Final = 2
"""Snapshots of a policy: the newest, and one before it should that one be unreadable."""
_FORGET_SECONDS: Final = 60.0
_NO_POLICY: Final = 0
"""Policies are numbered from 1."""


class Keeper:
    """Housekeeping beside the requests: a database that is away is tried again later.

    Parameters
    ----------
    store : Store
        The database.
    shelf : Shelf
        The books in memory.
    limits : Limits
        How often.

    Attributes
    ----------
    reachable : bool
        Whether the database took what was written last.
    """

    def __init__(self, store: Store, shelf: Shelf, limits: Limits) -> None:
        self._store = store
        self._shelf = shelf
        self._every = limits.snapshot_every
        self._kept_seconds = limits.idempotency_seconds
        self._forgotten: float | None = None
        self._tried = 0.0
        self._heads_seconds = limits.heads_seconds
        self._grown: dict[int, tuple[str, int, bytes]] = {}
        """Policies whose heads are to be noted: name, event and hash."""
        self._noted: dict[int, int] = {}
        """The events that were noted last."""
        self._noted_at = time.monotonic()
        self.reachable = True

    def tidy(self, now: float, used: Iterable[int]) -> None:
        """Do what is due after these policies were used."""
        self._watch_heads(used)
        if not self.reachable and time.monotonic() - self._tried >= TRY_SECONDS:
            self._try(now)
        due = [
            (number, book)
            for number in used
            if (book := self._shelf.get(number)) is not None
            and book.seq - book.saved >= self._every
        ]
        due += [each for each in self._shelf.spill() if self._changed(each[1])]
        if due:
            self._save(due)
        if self._forgotten is None or abs(now - self._forgotten) >= _FORGET_SECONDS:
            self._forgotten = now
            self._forget(int((now - self._kept_seconds) * 1e6))

    def _watch_heads(self, used: Iterable[int]) -> None:
        """Take in how far logs have come: all of it is on disk by now."""
        for number in used:
            book = self._shelf.get(number)
            if book is not None and self._noted.get(number) != book.seq:
                self._grown[number] = book.definition["name"], book.seq, book.head
        if self._grown and time.monotonic() - self._noted_at >= self._heads_seconds:
            self.note_heads()

    def note_heads(self) -> None:
        """Write the heads of logs that grew to the service's own log.

        A log that lost its tail looks like any other: only somebody who noted where it was can
        tell. `handrail audit --heads` compares.
        """
        grown, self._grown = self._grown, {}
        self._noted_at = time.monotonic()
        for number, (name, seq, head) in grown.items():
            self._noted[number] = seq
            noted = {"policy": name, "number": number, "seq": seq, "hash": head.hex()}
            _LOG.info(MESSAGE, extra=noted)

    def note_away(self, error: StoreUnavailable) -> None:
        """Take in that the database could not be read or written to."""
        if self.reachable:
            _LOG.error("the database is away: %s", error)
        self.reachable = False
        self._tried = time.monotonic()

    def note_back(self) -> None:
        """Take in that something was written."""
        if not self.reachable:
            _LOG.info("the database is back")
        self.reachable = True

    def _try(self, now: float) -> None:
        """Write something that means nothing: the key of no policy, the same one every time."""
        try:
            with self._store.writing() as log:
                log.remember(_NO_POLICY, "", 0, int(now * 1e6))
            self.note_back()
        except StoreUnavailable as error:
            self.note_away(error)

    def save_all(self) -> None:
        """Take snapshots of all books that have changed much since their last one."""
        self._save([each for each in self._shelf.items() if self._changed(each[1])])

    def _changed(self, book: Book) -> bool:
        """Say whether folding what came after the last snapshot would take a while."""
        return book.seq - book.saved > self._every // 10

    def _save(self, books: list[tuple[int, Book]]) -> None:
        try:
            for number, book in books:
                # Whatever becomes of it, the next one is not due before as many events again.
                book.saved = book.seq
                snapshot = take(book)
                with self._store.writing() as log:
                    log.put_snapshot(number, snapshot, _KEPT)
        except StoreUnavailable as error:
            _LOG.warning("a snapshot could not be written: %s", error)

    def _forget(self, before: int) -> None:
        try:
            with self._store.writing() as log:
                log.forget(before)
        except StoreUnavailable as error:
            _LOG.warning("old idempotency keys could not be dropped: %s", error)
