"""What rounding does to the widths of a linear model, by what the model keeps of its rows.

A million rows, of few kinds, are taken in by each of three ways: V is summed and inverted every
4,096 rows, V^-1 following Sherman and Morrison's formula in between; V^-1 follows that formula all
the time; L^-1, V = L L', follows every row (`handrail.estimators.factor`). phi' V^-1 phi of the
rows and of two other directions is compared with fractions, in which V is counts times rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numba
import numpy as np

from benchmarks.measure import Row
from benchmarks.table import table
from handrail.compiled import compiled
from handrail.estimators.factor import add_row, whiten
from handrail.records import Floats, Ints
from handrail.vectors import padded

__all__ = ["rows"]

ROWS: Final = 1 << 20
EVERY: Final = 1 << 12
STEEP: Final = (1e4, 1e6, 9e7)
"""D^2 / lambda, lambda = 1."""
DIM: Final = 3
KINDS: Final = ("equal rows", "rows of low rank", "rows of mixed lengths")


def _rows(kind: str, steep: float) -> Floats:
    rng = np.random.default_rng(0)
    found = rng.standard_normal((4, DIM))
    if kind == "equal rows":
        found = found[:1]
    elif kind == "rows of low rank":
        found[2:] = rng.standard_normal((2, 2)) @ found[:2]
    else:
        found *= np.array([[1.0], [1.0], [1e-2], [1e-4]])
    return np.asarray(found * math.sqrt(steep) / np.linalg.norm(found, axis=1).max())


@numba.njit(nogil=True)
def _formula(inverse: Floats, design: Floats, rows: Floats, picks: Ints, every: int) -> None:
    """Sherman and Morrison's formula; V summed, and inverted now and then unless every is 0."""
    for i in range(picks.size):
        row = rows[picks[i]]
        step = inverse @ row
        inverse -= np.outer(step, step) / (1.0 + row @ step)
        design += np.outer(row, row)
        if every > 0 and (i + 1) % every == 0:
            inverse[:] = np.linalg.inv(design)


@compiled
def _factor(factor: Floats, rows: Floats, picks: Ints) -> None:
    row, white, keep, turn, step = np.zeros((5, factor.shape[1]))
    for i in range(picks.size):
        row[: rows.shape[1]] = rows[picks[i]]
        whiten(factor, row, white)
        add_row(factor, white, keep, turn, step)


def _exact(rows: Floats, counts: Ints, phi: Floats) -> Fraction:
    """Return phi' V^-1 phi by elimination."""
    held = [[Fraction(float(x)) for x in row] for row in rows]
    right = [Fraction(float(x)) for x in phi]
    given = [
        [
            sum(
                (int(n) * row[i] * row[j] for n, row in zip(counts, held, strict=True)), Fraction(0)
            )
            + (i == j)
            for j in range(DIM)
        ]
        + [right[i]]
        for i in range(DIM)
    ]
    for i in range(DIM):
        for k in range(DIM):
            if k != i:
                share = given[k][i] / given[i][i]
                given[k] = [x - share * y for x, y in zip(given[k], given[i], strict=True)]
    return sum((right[i] * given[i][DIM] / given[i][i] for i in range(DIM)), Fraction(0))


def _errors(kind: str, steep: float) -> dict[str, float]:
    """Return the largest relative error of each way."""
    rows = _rows(kind, steep)
    rng = np.random.default_rng(1)
    picks = rng.integers(0, len(rows), ROWS, dtype=np.int64)
    counts = np.bincount(picks, minlength=len(rows)).astype(np.int64)
    others = rng.standard_normal((2, DIM)) * math.sqrt(steep) / 6.0
    squares = {}
    for name, every in (("V", EVERY), ("V^-1", 0)):
        inverse, design = np.eye(DIM), np.eye(DIM)
        _formula(inverse, design, rows, picks, every)
        squares[name] = inverse
    factor = np.zeros((DIM, padded(DIM)))
    np.fill_diagonal(factor, 1.0)
    _factor(factor, rows, picks)
    found = dict.fromkeys(("V", "V^-1", "L^-1"), 0.0)
    for phi in (*rows, *others):
        exact = _exact(rows, counts, phi)
        values = {name: float(phi @ inverse @ phi) for name, inverse in squares.items()}
        values["L^-1"] = float(np.sum((factor[:, :DIM] @ phi) ** 2))
        for name, value in values.items():
            error = math.inf if math.isnan(value) else abs(float(Fraction(value) / exact - 1))
            found[name] = max(found[name], error)
    return found


def rows() -> list[Row]:
    """Measure."""
    found = []
    for steep in STEEP:
        errors = [_errors(kind, steep) for kind in KINDS]
        group = f"precision: phi' V^-1 phi after {ROWS:,} rows, D^2 / lambda = {steep:g}"
        for name in ("V", "V^-1", "L^-1"):
            each = [error[name] for error in errors]
            note = ", ".join(f"{kind} {error:.1e}" for kind, error in zip(KINDS, each, strict=True))
            found.append(Row(group, f"{name} kept", max(each), "", note=note))
    return found


if __name__ == "__main__":
    print(table(rows()))
