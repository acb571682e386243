"""Where a linear model over contexts keeps its numbers: the rows of its vectors and of its room."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CENTRE",
    "CERTIFIED",
    "FORGONE",
    "HELD",
    "LOWER_ROW",
    "PRODUCT",
    "RESPONSE",
    "ROOM",
    "SPARE",
    "SQUARE",
    "STEP",
    "SUM",
    "SUM_WEIGHED",
    "THETA",
    "TOTAL",
    "UPPER_ROW",
    "VECTORS",
    "WEIGHED",
]

CENTRE, SQUARE, UPPER_ROW, LOWER_ROW, CERTIFIED, PRODUCT, SPARE = range(7)
"""What the rows of the room for a round hold: one number for each lane."""
ROOM: Final = 7

THETA, RESPONSE, TOTAL, WEIGHED, STEP, HELD, FORGONE, SUM, SUM_WEIGHED = range(9)
"""What the rows of a model's vectors hold: TOTAL is x, the features summed over S, and WEIGHED is
V^-1 x, not always up to date. HELD and FORGONE are the baseline's features summed over S_b and over
S, where its mean is learned. STEP, SUM and SUM_WEIGHED are room for a computation."""
VECTORS: Final = 9
