"""Where a linear model over contexts keeps its numbers: the rows of its vectors and of its room."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CENTRE",
    "CERTIFIED",
    "FORGONE",
    "HELD",
    "KEEP",
    "LENGTH",
    "LOWER_ROW",
    "ROOM",
    "ROW",
    "SPARE",
    "SQUARE",
    "STEP",
    "SUM",
    "SUM_WHITE",
    "THETA",
    "TOTAL",
    "TURN",
    "UPPER_ROW",
    "VECTORS",
    "WHITE",
]

CENTRE, SQUARE, UPPER_ROW, LOWER_ROW, CERTIFIED, LENGTH, SPARE = range(7)
"""What the rows of the room for a round hold: one number for each lane."""
ROOM: Final = 7
"""How many those are; one row for each dimension follows, for L^-1 phi of each lane."""

THETA, TOTAL, HELD, FORGONE, SUM, SUM_WHITE, ROW, WHITE, KEEP, TURN, STEP = range(11)
"""What the rows of a model's vectors hold: TOTAL is x, the features summed over S. HELD and FORGONE
are the baseline's features summed over S_b and over S, where its mean is learned. The others are
room for a computation."""
VECTORS: Final = 11
