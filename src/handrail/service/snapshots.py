"""Snapshots: a book as bytes, so that a start need not fold the whole log."""

from __future__ import annotations

import warnings
from typing import Any, Final

import msgspec

from handrail.errors import InputError, NoGuaranteeWarning
from handrail.policies.policy import Policy
from handrail.service.book import Book
from handrail.service.events import Created
from handrail.service.store.protocol import SnapshotRow

__all__ = ["restore", "take"]

_VERSION: Final = 1


class _Snapshot(msgspec.Struct):
    """What a snapshot holds; one of another version is not used."""

    version: int
    state: dict[str, Any]
    policy: bytes


_DECODER: Final = msgspec.msgpack.Decoder(_Snapshot)


def take(book: Book) -> SnapshotRow:
    """Return the book as it is now."""
    body = msgspec.msgpack.encode(_Snapshot(_VERSION, book.state(), book.policy.to_bytes()))
    return SnapshotRow(book.seq, book.head, body)


def restore(created: Created, row: SnapshotRow) -> Book | None:
    """Return the book of a snapshot; None if it cannot be read: then the log is folded."""
    try:
        snapshot = _DECODER.decode(row.body)
        if snapshot.version != _VERSION:
            return None
        with warnings.catch_warnings():  # what voids the promise is among the book's notes
            warnings.simplefilter("ignore", NoGuaranteeWarning)
            policy = Policy.from_bytes("a snapshot", snapshot.policy)
        if policy._state.inexact:  # the log says it exactly
            return None
        book = Book(created, policy)
        book.resume(snapshot.state, row.seq, row.hash)
    except (msgspec.MsgspecError, InputError, KeyError, TypeError, ValueError):
        return None
    return book
