"""Whether a snapshot is the state that a log leads to."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from handrail.service.book import Book
from handrail.service.events import Created
from handrail.service.snapshots import restore
from handrail.service.store.protocol import SnapshotRow

__all__ = ["same_state"]

_RELATIVE: Final = 1e-9
"""Of the largest number of an array: the rules may be run by other code than the snapshot's."""


def same_state(book: Book, snapshot: SnapshotRow) -> str | None:
    """Compare a book with a snapshot that was taken after the same event.

    Parameters
    ----------
    book : Book
        The fold of the log up to there.
    snapshot : SnapshotRow
        The snapshot.

    Returns
    -------
    str or None
        What differs; None if nothing does, or if the snapshot cannot be read: then nobody uses it.
    """
    created = Created(
        at=book.created_at, policy=book.identity, definition=book.definition, handrail=""
    )
    other = restore(created, snapshot)
    if other is None:
        return None
    if other.state() != book.state():
        return "what is counted beside the policy"
    document, arrays = book.policy._state.dump()
    said, numbers = other.policy._state.dump()
    if sorted(arrays) != sorted(numbers):
        return "its arrays"
    for name, due in arrays.items():
        if due.shape != numbers[name].shape or not np.allclose(
            numbers[name], due, rtol=_RELATIVE, atol=_RELATIVE * max(1.0, _largest(due))
        ):
            return name
    return _first_difference(said, document, "")


def _largest(array: Any) -> float:
    return float(np.abs(array).max()) if array.size else 0.0


def _first_difference(said: Any, due: Any, place: str) -> str | None:
    """Return where two documents differ by more than rounding."""
    if isinstance(due, dict) and isinstance(said, dict) and sorted(due) == sorted(said):
        pairs = [(said[key], due[key], f"{place}.{key}".lstrip(".")) for key in due]
    elif isinstance(due, list) and isinstance(said, list) and len(due) == len(said):
        pairs = [(said[i], due[i], f"{place}[{i}]") for i in range(len(due))]
    elif isinstance(due, float) and isinstance(said, float):
        size = max(1.0, abs(due), abs(said))
        return None if abs(said - due) <= _RELATIVE * size else place
    else:
        return None if said == due else place
    return next((each for pair in pairs if (each := _first_difference(*pair))), None)
