"""The chain of hashes that makes a log tamper-evident.

Each event's hash covers the hash before it and the event's own bytes: to change one byte anywhere,
all later hashes have to change, up to the head that somebody may have noted down.
"""

from __future__ import annotations

import hashlib
from typing import Final

__all__ = ["START", "link"]

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
