"""Symmetric matrices, compiled: a product and the inverse.

LAPACK would do, but it wakes the threads of whatever BLAS NumPy came with: a call waits for them
on a busy machine, and its last bits depend on their number. These run in the caller's thread and
give bits that depend on neither.
"""

from __future__ import annotations

import math

import numpy as np

from handrail.compiled import compiled
from handrail.records import Floats

__all__ = ["invert", "multiply"]


@compiled
def multiply(matrix: Floats, vector: Floats, result: Floats) -> None:
    """Put the product of a symmetric matrix and a vector into result.

    Row by row, scaled and added: a form that compilers vectorise without reordering sums.
    """
    result[:] = 0.0
    for i in range(vector.size):
        factor = vector[i]
        for j in range(vector.size):
            result[j] += factor * matrix[i, j]


@compiled
def invert(matrix: Floats, inverse: Floats) -> float:
    """Put the inverse of a symmetric positive definite matrix into `inverse`; return its log det.

    A matrix that is not positive definite, be it by rounding, leaves `inverse` as it was and
    returns NaN.

    Notes
    -----
    With A = L L', row i of L^-1 is (e_i - sum_{j<i} L[i, j] (L^-1)[j]) / L[i, i], and
    A^-1 = (L^-1)' L^-1 is the sum over i of the outer products of these rows.
    """
    size = matrix.shape[0]
    factor = matrix.copy()
    log_det = 0.0
    for k in range(size):
        if not factor[k, k] > 0.0:
            return math.nan
        pivot = math.sqrt(factor[k, k])
        log_det += 2.0 * math.log(pivot)
        for i in range(k, size):
            factor[i, k] /= pivot
        for i in range(k + 1, size):
            scale = factor[i, k]
            for j in range(k + 1, i + 1):
                factor[i, j] -= scale * factor[j, k]
    rows = np.zeros((size, size))
    inverse[:] = 0.0
    for i in range(size):
        for j in range(i):
            scale = factor[i, j]
            for c in range(j + 1):
                rows[i, c] -= scale * rows[j, c]
        rows[i, i] = 1.0
        for c in range(i + 1):
            rows[i, c] /= factor[i, i]
        for r in range(i + 1):
            scale = rows[i, r]
            for c in range(i + 1):
                inverse[r, c] += scale * rows[i, c]
    return log_det
