"""The chain of hashes that makes a log tamper-evident.

Each event's hash covers the hash before it and the event's own bytes: to change one byte anywhere,
all later hashes have to change, up to the head that somebody may have noted down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from handrail.service.store.protocol import HeadRow, PolicyRow, Reader, SnapshotRow

__all__ = ["START", "link", "lost"]

START: Final = hashlib.sha256(b"handrail log 1").digest()
"""What the first event is linked to."""


def link(before: bytes, body: bytes) -> bytes:
    """Return the hash of an event, given the hash before it.

    Parameters
    ----------
    before : bytes
        The hash of the event before, `START` for the first.
    body : bytes
        The event as it is stored.

    Returns
    -------
    bytes
        32 bytes.
    """
    return hashlib.sha256(before + body).digest()


def lost(
    reader: Reader, policy: PolicyRow, noted: Iterable[HeadRow], snapshots: Iterable[SnapshotRow]
) -> Iterator[str]:
    """Yield which events a database knows of, by heads or snapshots, that their log does not have.

    Parameters
    ----------
    reader : Reader
        The database.
    policy : PolicyRow
        Whose log it is.
    noted : iterable of HeadRow
        Heads that were noted of it.
    snapshots : iterable of SnapshotRow
        Its snapshots.
    """
    places = [(head.seq, head.hash, "it was noted") for head in noted]
    places += [(each.seq, each.hash, "a snapshot was taken after it") for each in snapshots]
    for seq, hash, why in places:
        found = reader.events(policy.number, seq - 1, 1)
        if not found or (found[0].seq, found[0].hash) != (seq, hash):
            yield f"event {seq} of {policy.name!r} is not in its log, and {why}"
