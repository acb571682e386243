"""What makes a table the Jester ratings: its shape, its values and the hash of its content."""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from handrail.errors import InputError
from handrail.records import Floats

__all__ = ["FIELD", "JOKES", "NOT_RATED", "SHA256", "USERS", "Ratings", "check_ratings"]

Ratings: TypeAlias = NDArray[np.int16]

FIELD: Final = "jester"
"""The field of every error about the ratings."""
USERS: Final = 24_983
JOKES: Final = 100
NOT_RATED: Final = 9900
SHA256: Final = "9e1208c052987ba526014f6ec55f9c758d30611604f23d3dcacac50b144fbe9b"
"""Of the ratings x 100 as little-endian int16, row by row: a file's own hash fits one form only."""

_OTHER: Final = "take file 1 of Jester's dataset 1 (24,983 users, 100 jokes)"


def check_ratings(rows: Floats) -> Ratings:
    """Return the ratings x 100 if these rows are the original's, or say what is wrong.

    Parameters
    ----------
    rows : array of float, shape (24983, 101)
        As in the original: how many jokes the user rated, then the ratings, 99 for none.

    Returns
    -------
    array of int16, shape (24983, 100)
        Read-only.
    """
    if rows.shape != (USERS, JOKES + 1):
        found = " x ".join(f"{size:,}" for size in rows.shape)
        raise InputError(
            FIELD, f"has {found} cells (rows x columns), not {USERS:,} x {JOKES + 1}", _OTHER
        )
    values, counts = rows[:, 1:], rows[:, 0]
    rated = values != NOT_RATED / 100
    wrong = np.argwhere(rated & ~(np.abs(values) <= 10.0))  # ~<= and not >: NaN is wrong too
    if len(wrong):
        row, joke = wrong[0]
        raise InputError(
            FIELD,
            f"row {row + 1}, column {joke + 2} (joke {joke + 1}) is {values[row, joke]:g}, "
            "neither a rating in [-10, 10] nor 99 for none",
            _OTHER,
        )
    miscounted = np.flatnonzero(counts != rated.sum(axis=1))
    if len(miscounted):
        row = miscounted[0]
        raise InputError(
            FIELD,
            f"row {row + 1} says {counts[row]:g} ratings in column 1 and holds {rated[row].sum()}",
            _OTHER,
        )
    ratings = np.rint(values * 100.0).astype("<i2")
    if hashlib.sha256(ratings.tobytes()).hexdigest() != SHA256:
        raise InputError(
            FIELD, "has the shape of the ratings but other content (by its hash)", _OTHER
        )
    ratings.flags.writeable = False
    return ratings.astype(np.int16, copy=False)
