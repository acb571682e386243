"""The inverse Cholesky factor of V = lambda I + sum phi phi', kept by rank-one updates.

With V = L L', L lower triangular, this keeps L^-1, never V or V^-1. What is asked for is a sum of
squares: phi' V^-1 phi = |L^-1 phi|^2 cannot come out negative, and its relative error grows with
sqrt(cond V) only. A V^-1 that is written out, however exactly, loses what is far below 1 / lambda:
after a million rows of norm 1e4 sqrt(lambda) the digits of phi' V^-1 phi = 1e-6 start at the 14th
of its entries. L^-1 phi is called white: its entries have the unit of standard deviations.

Rows of matrices, and vectors, are padded with zeros to whole vectors of the processor. LAPACK would
do for the rest, but it wakes the threads of whatever BLAS NumPy came with, and its last bits depend
on their number: this runs in the caller's thread.

References
----------
N. A. Carlson (1973), Fast triangular formulation of the square root filter.
"""

from __future__ import annotations

from typing import Final

from handrail.compiled import inlined
from handrail.records import Floats
from handrail.vectors import LANES, load, root, splat, store, total

__all__ = ["LEAST", "add_row", "inner", "whiten"]

LEAST: Final = 2.0**-1022
"""No ||phi||^2_{V^-1} is smaller: one that is too small for a double does not become 0."""


@inlined
def inner(one: Floats, other: Floats) -> float:
    """Return the inner product of two padded vectors: eight sums, then theirs."""
    sums = splat(0.0)
    for i in range(0, one.size, LANES):
        sums = sums + load(one, i) * load(other, i)
    return total(sums)


@inlined
def whiten(factor: Floats, vector: Floats, result: Floats) -> None:
    """Put L^-1 times a vector into result."""
    for i in range(len(factor)):
        sums = splat(0.0)
        for j in range(0, i + 1, LANES):
            sums = sums + load(factor, i, j) * load(vector, j)
        result[i] = total(sums)


@inlined
def add_row(factor: Floats, white: Floats, keep: Floats, turn: Floats, step: Floats) -> float:
    """Take phi, given as L^-1 phi, into L^-1; return 1 + phi' V^-1 phi, V without it.

    V^-1 phi, likewise, is left in `step`; `keep` and `turn` are room for a vector each.

    Notes
    -----
    With z = L^-1 phi and a_i = 1 + z_1^2 + ... + z_i^2, the Cholesky factor of I + z z' has an
    inverse that turns row w_i of L^-1 into

        sqrt(a_{i-1} / a_i) w_i - z_i / sqrt(a_{i-1} a_i) (z_1 w_1 + ... + z_{i-1} w_{i-1}).

    The sum over all rows is V^-1 phi. Where z_i = 0 row i stays as it is to the last bit.
    """
    dim, width = factor.shape
    summed = 1.0
    for i in range(width):
        keep[i] = summed
        summed += white[i] * white[i]
        turn[i] = summed
    for j in range(0, width, LANES):
        after = load(turn, j)
        share = root(load(keep, j) / after)
        store(share, keep, j)
        store(load(white, j) / (after * share), turn, j)
    for j in range(0, width, LANES):
        so_far = splat(0.0)
        for i in range(j, dim):  # rows above are 0 here
            row = load(factor, i, j)
            store(keep[i] * row - turn[i] * so_far, factor, i, j)
            so_far = so_far + white[i] * row
        store(so_far, step, j)
    return summed
