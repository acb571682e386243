"""Snapshots: a book as bytes, so that a start need not fold the whole log.

The bytes begin with a checksum of all the others, of the event and of its hash. Those of releases
before it have none, and are not used: a flipped bit in them would be served.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import Any, Final

import msgspec

from handrail.errors import InputError, NoGuaranteeWarning
from handrail.policies.policy import Policy
from handrail.service.book import Book
from handrail.service.events import Created
from handrail.service.store.protocol import SnapshotRow

__all__ = ["is_damaged", "restore", "take"]

_VERSION: Final = 2
_MARK: Final = b"\x02"
"""What the bytes begin with."""
_OLD: Final = b"\x83"
"""What those of releases without a checksum began with: a map of three."""
_DIGEST: Final = hashlib.sha256().digest_size


class _Snapshot(msgspec.Struct):
    """What a snapshot holds; one of another version is not used."""

    version: int
    state: dict[str, Any]
    policy: bytes


_DECODER: Final = msgspec.msgpack.Decoder(_Snapshot)


def take(book: Book) -> SnapshotRow:
    """Return the book as it is now."""
    content = msgspec.msgpack.encode(_Snapshot(_VERSION, book.state(), book.policy.to_bytes()))
    body = _MARK + _checksum(book.seq, book.head, content) + content
    return SnapshotRow(book.seq, book.head, body)


def _checksum(seq: int, head: bytes, content: bytes) -> bytes:
    return hashlib.sha256(seq.to_bytes(8, "big") + head + content).digest()


def is_damaged(row: SnapshotRow) -> bool:
    """Say whether a snapshot is not what its checksum says; one of a release without is not."""
    mark, said, content = row.body[:1], row.body[1 : 1 + _DIGEST], row.body[1 + _DIGEST :]
    return mark != _OLD and (mark != _MARK or said != _checksum(row.seq, row.hash, content))


def restore(created: Created, row: SnapshotRow) -> Book | None:
    """Return the book of a snapshot; None if it cannot be used: then the log is folded."""
    if row.body[:1] != _MARK or is_damaged(row):
        return None
    try:
        snapshot = _DECODER.decode(row.body[1 + _DIGEST :])
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
