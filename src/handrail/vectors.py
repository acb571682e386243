"""Eight numbers at a time, in a register of the processor, for inner loops.

Whether the compiler vectorises a loop over short arrays, and how well, hangs on its guesses of
their length and on what it can prove of their overlap; for the widths of 20 actions it loses half
the speed. Here the code says what goes in step. A machine with narrower registers takes two or
four of them: every number is the result of the same operations in the same order, with the same
bits. Arrays are padded to whole vectors.

Uncompiled, the functions work on slices of arrays, whose operators are NumPy's. What the compiler
makes of them is in `handrail.vector_code`.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Final

import numpy as np

from handrail.compiled import UNCOMPILED, compiled
from handrail.records import Floats

__all__ = [
    "LANES",
    "aligned",
    "first_with",
    "greatest",
    "larger",
    "load",
    "padded",
    "root",
    "splat",
    "store",
    "total",
    "within",
    "without",
]

LANES: Final = 8
_LINE: Final = 64
"""The bytes of a line of the processor's cache."""


@compiled
def padded(size: int) -> int:
    """Return a length, rounded up to whole vectors."""
    return (size + LANES - 1) // LANES * LANES


def aligned(*shape: int) -> Floats:
    """Return an array, not filled in, that begins where a line of the cache does.

    A vector that lies in two lines takes twice as long to load; NumPy's own arrays begin anywhere.
    """
    size = math.prod(shape)
    space = np.empty(size + _LINE // 8)
    start = -space.ctypes.data % _LINE // 8
    return space[start : start + size].reshape(shape)


def load(array: Floats, *place: int) -> Floats:
    """Return the vector that begins at a place of an array: an index, or a row and an index."""
    return array[_slice(place)].copy()


def store(vector: Floats, array: Floats, *place: int) -> None:
    """Put a vector into an array, beginning at a place: an index, or a row and an index."""
    array[_slice(place)] = vector


def _slice(place: tuple[int, ...]) -> tuple[int | slice, ...]:
    return (*place[:-1], slice(place[-1], place[-1] + LANES))


def splat(value: float) -> Floats:
    """Return a vector of one number, eight times."""
    return np.full(LANES, value)


def root(vector: Floats) -> Floats:
    """Return the square root of each number."""
    return np.asarray(np.sqrt(vector))


def larger(one: Floats, other: Floats) -> Floats:
    """Return the larger of each pair; what is not a number in the first stays so."""
    return np.where(one < other, other, one)


def total(vector: Floats) -> float:
    """Return the sum: of halves, of quarters, of the two that are left."""
    four = vector[:4] + vector[4:]
    return float((four[0] + four[2]) + (four[1] + four[3]))


def greatest(vector: Floats) -> float:
    """Return the largest number; there must be none that is not one."""
    return float(vector.max())


def within(vector: Floats, most: float) -> bool:
    """Say whether every number is at most this; one that is not a number is not."""
    return bool((vector <= most).all())


def first_with(vector: Floats, value: float) -> int:
    """Return the first lane with this number, LANES if none has it."""
    return int(np.argmax(np.append(vector == value, True)))


def without(vector: Floats, lane: int) -> Floats:
    """Return the vector with -inf in one lane; a lane outside of it changes nothing."""
    return np.where(np.arange(LANES) == lane, -np.inf, vector)


if not UNCOMPILED:
    import_module("handrail.vector_code")
