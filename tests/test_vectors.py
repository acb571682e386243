"""Vectors: compiled and uncompiled, the same numbers to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from handrail.compiled import compiled
from handrail.records import Floats
from handrail.vectors import (
    LANES,
    aligned,
    first_with,
    larger,
    load,
    padded,
    root,
    splat,
    store,
    total,
    within,
    without,
)


@compiled
def _everything(one: Floats, other: Floats, number: float, result: Floats) -> None:
    for i in range(one.shape[0]):
        for j in range(0, one.shape[1], LANES):
            a, b = load(one, i, j), load(other[i], j)
            store(a + b, result, 0, j)
            store(a - b, result, 1, j)
            store(a * b, result, 2, j)
            store(number * a + (number - b), result, 3, j)
            store(root(larger(a, splat(0.0))), result, 4, j)
            store(larger(a, b), result[5], j)
            result[6, j] = total(a)
            result[6, j + 1] = within(a, number)
            result[6, j + 2] = first_with(a, one[i, j + 3])
            result[6, j + 3] = first_with(a, number)
            store(without(a, i + 2), result, 7, j)
            store(without(without(b, -1), LANES), result, 8, j)


def test_compiled_and_uncompiled() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((2, 5, 3 * LANES)) * 10.0 ** rng.integers(-9, 9, (2, 5, 24))
    one[0, 3], other[0, 3], one[1, 4], other[1, 5] = np.nan, 1.0, -np.inf, np.nan
    found, expected = np.zeros((2, 9, one.shape[1]))
    _everything(one, other, 0.7, found)
    with np.errstate(invalid="ignore"):
        getattr(_everything, "py_func", _everything)(one, other, 0.7, expected)
    np.testing.assert_array_equal(found, expected)


def test_within() -> None:
    @compiled
    def inside(values: Floats, most: float) -> bool:
        return within(load(values, 0), most)

    values = np.arange(8.0)
    assert inside(values, 7.0)
    assert not inside(values, 6.999)
    for place in range(8):
        bad = np.zeros(8)
        bad[place] = np.nan
        assert not inside(bad, 1.0)


@pytest.mark.parametrize(("size", "expected"), [(1, 8), (7, 8), (8, 8), (9, 16), (20, 24)])
def test_padded(size: int, expected: int) -> None:
    assert padded(size) == expected


@pytest.mark.parametrize("shape", [(1,), (3, 8), (5, 20, 24)])
def test_aligned(shape: tuple[int, ...]) -> None:
    for _ in range(20):
        array = aligned(*shape)
        assert array.shape == shape
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
