"""The chains of all logs, followed from their first events on, beside the requests.

A start folds what came after a snapshot, and so checks these hashes before it decides anything.
What is older is checked here: a byte that rotted there would else be found by the next audit only.
So would a tail that is lost, of which heads or snapshots in the database still know.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from handrail.errors import InputError
from handrail.service.chain import START, link, lost
from handrail.service.events import name_in
from handrail.service.shelf import Shelf, page_after
from handrail.service.snapshots import is_damaged
from handrail.service.store.protocol import (
    HeadRow,
    PolicyRow,
    Reader,
    Row,
    Store,
    StoreBroken,
    StoreUnavailable,
)

__all__ = ["Verifier"]

_LOG: Final = logging.getLogger("handrail.service")
_T = TypeVar("_T")
_PAGE: Final = 200
_ROTTEN: Final = 100
"""Rows that are named at most: more are not one byte's work."""
_AGAIN_SECONDS: Final = 1.0
"""How long to wait for a database that is away."""


class Verifier:
    """Goes over all logs once, in a thread of its own, for at most half of the time.

    Parameters
    ----------
    store : Store
        The database; it is read in short steps.
    shelf : Shelf
        Gets to know which logs are damaged.
    """

    def __init__(self, store: Store, shelf: Shelf) -> None:
        self._store = store
        self._shelf = shelf
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="handrail-verify", daemon=True)
        self._events = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """End, and wait for it so long at most."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        started = time.monotonic()
        try:
            self._find_rotten()
            noted = self._noted()
            policies = self._read(lambda reader: reader.policies()) or []
            for row in policies:
                # Twice, since the database may be restored between two pages.
                wrong = self._wrong(row) and self._wrong(row)
                heads = noted.pop(row.name, [])
                if self._over.is_set():
                    return
                if wrong:
                    self._shelf.damaged[row.name] = wrong
                    _LOG.critical("the log of %r is damaged: %s", row.name, wrong)
                else:
                    self._find_lost(row, heads)
            self._find_strays(noted)
        except Exception:  # the service goes on as if nobody had looked
            _LOG.exception("the logs could not be checked")
            return
        if not self._over.is_set():
            _LOG.info(
                "%d events of %d policies were checked: %s follow their hashes",
                *(self._events, len(policies), "some do not" if self._shelf.damaged else "all"),
                extra={"seconds": round(time.monotonic() - started, 3)},
            )

    def _read(self, read: Callable[[Reader], _T]) -> _T | None:
        """Read as soon as the database is there; None if it is time to end."""
        while not self._over.is_set():
            try:
                with self._store.reading() as reader:
                    return read(reader)
            except StoreUnavailable:
                self._over.wait(_AGAIN_SECONDS)
        return None

    # -- what the database knows of besides its logs -------------------------------------------

    def _noted(self) -> dict[str, list[HeadRow]]:
        """Return the heads that the database was restored with, by policy."""
        found: dict[str, list[HeadRow]] = {}
        try:
            for head in self._read(lambda reader: reader.noted()) or []:
                found.setdefault(head.policy, []).append(head)
        except InputError as error:
            _LOG.error("%s", error)
        except Exception:
            _LOG.exception("the heads that the database noted cannot be read")
        return found

    def _find_rotten(self) -> None:
        """Say what is kept of idempotency keys and leads nowhere, before anybody asks by them."""
        try:
            rows = self._read(lambda reader: reader.rotten_kept(_ROTTEN)) or []
            self._shelf.note_rotten("idempotency", rows)
        except Exception:
            _LOG.exception("what is kept of idempotency keys cannot be read")

    def _find_lost(self, row: PolicyRow, noted: list[HeadRow]) -> None:
        """Say which events are known of and are not in a log, which is sound by itself.

        And which snapshots are damaged: a start reads the older one only where the newest is.
        """

        def look(reader: Reader) -> tuple[list[str], list[int]]:
            snapshots = reader.snapshots(row.number)
            damaged = [each.seq for each in snapshots if is_damaged(each)]
            return list(lost(reader, row, noted, snapshots)), damaged

        try:
            said, damaged = self._read(look) or ([], [])
        except Exception:
            _LOG.exception("the snapshots of %r cannot be read", row.name)
            return
        for each in said:
            _LOG.error("%s: its tail may be lost, run handrail audit", each)
        for seq in damaged:
            _LOG.error(
                "the snapshot of %r after event %d is damaged: nobody uses it", row.name, seq
            )

    def _find_strays(self, noted: Iterable[str]) -> None:
        """Say which policies are gone: those left that were noted, and those that have events."""
        for name in noted:
            _LOG.error("heads of %r were noted, and there is no such policy", name)
        for number in self._read(lambda reader: reader.ownerless()) or []:
            _LOG.error("there are events of policy number %d, and there is no such policy", number)

    # -- the chains ----------------------------------------------------------------------------

    def _wrong(self, policy: PolicyRow) -> str | None:
        """Return what is wrong with a log: whatever goes wrong in it concerns no other."""
        try:
            return self._follow(policy)
        except Exception as error:
            return f"it cannot be followed: {type(error).__name__}: {error}"

    def _follow(self, policy: PolicyRow) -> str | None:
        """Follow a log to its end; return what is wrong with it."""
        head, seq, page = START, 0, _PAGE
        while not self._over.is_set():
            began = time.monotonic()
            try:
                with self._store.reading() as reader:
                    rows = reader.events(policy.number, seq, page)
            except StoreUnavailable:
                self._over.wait(_AGAIN_SECONDS)
                continue
            except StoreBroken as error:
                return f"events after {seq} cannot be read: {error}"
            if not rows:
                return None if seq else "it is empty"
            for row in rows:
                head = link(head, row.body)
                if row.seq != seq + 1 or row.hash != head:
                    return f"event {row.seq} does not follow event {seq}"
                if row.seq == 1 and (made := name_in(row.body)) not in (None, policy.name):
                    return f"event 1 creates {made!r}"
                seq = row.seq
            self._rest(rows, time.monotonic() - began)
            page = page_after(rows, _PAGE)
        return None

    def _rest(self, rows: list[Row], worked: float) -> None:
        """Leave the processor to the requests for as long as it was used."""
        self._events += len(rows)
        self._over.wait(worked)
