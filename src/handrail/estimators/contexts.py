"""Ridge regression with features that change every round.

Keeps V, V^-1 (by Sherman and Morrison's formula), the sum of r phi and theta_hat; V and the sum
are there so that V^-1 and theta_hat can be computed afresh now and then.
"""

from __future__ import annotations

import math

import numpy as np

from handrail.bounds.ellipsoid import ellipsoid_radius
from handrail.compiled import compiled
from handrail.records import Floats, Ledger, Rules

__all__ = ["bound_contexts", "learn_context", "load_features", "multiply", "rebuild_contexts"]


@compiled
def load_features(features: Floats, bound: float, columns: Floats) -> int:
    """Turn (K, d) features into (d, K) columns, the layout in which all actions go in step.

    Returns the first action whose features are not finite or longer than the bound, -1 if all
    are well. The bound is met up to rounding (1e-12).
    """
    actions, dim = features.shape
    square = np.zeros(actions)
    for a in range(actions):
        for i in range(dim):
            columns[i, a] = features[a, i]
    for i in range(dim):
        for a in range(actions):
            square[a] += columns[i, a] * columns[i, a]
    largest = bound * bound * (1.0 + 1e-12)
    for a in range(actions):
        # A comparison with NaN is false: this form catches it.
        if not square[a] <= largest:
            return a
    return -1


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
def _quadratic_forms(inverse: Floats, columns: Floats, result: Floats) -> None:
    """Put phi' V^-1 phi of every action into result; columns is (d, K), one action a column.

    Uses the lower triangle of V^-1 only, four of its entries at a time, each for all actions.
    """
    dim, actions = columns.shape
    partial = np.empty(actions)
    result[:] = 0.0
    for i in range(dim):
        for a in range(actions):
            partial[a] = 0.5 * inverse[i, i] * columns[i, a]
        j = 0
        while j + 4 <= i:
            c0 = inverse[i, j]
            c1 = inverse[i, j + 1]
            c2 = inverse[i, j + 2]
            c3 = inverse[i, j + 3]
            for a in range(actions):
                partial[a] += (c0 * columns[j, a] + c1 * columns[j + 1, a]) + (
                    c2 * columns[j + 2, a] + c3 * columns[j + 3, a]
                )
            j += 4
        while j < i:
            c0 = inverse[i, j]
            for a in range(actions):
                partial[a] += c0 * columns[j, a]
            j += 1
        for a in range(actions):
            result[a] += 2.0 * partial[a] * columns[i, a]


@compiled
def bound_contexts(
    rules: Rules,
    ledger: Ledger,
    columns: Floats,
    inverse: Floats,
    theta: Floats,
    mean: Floats,
    square: Floats,
    upper: Floats,
    lower: Floats,
) -> float:
    """Fill in each action's mean, squared norm ||phi||^2_{V^-1} and bounds; return beta."""
    dim, actions = columns.shape
    _quadratic_forms(inverse, columns, square)
    mean[:] = 0.0
    for i in range(dim):
        for a in range(actions):
            mean[a] += theta[i] * columns[i, a]
    beta = ellipsoid_radius(rules, ledger)
    for a in range(actions):
        width = beta * math.sqrt(max(square[a], 0.0))
        upper[a] = mean[a] + width
        lower[a] = mean[a] - width
    return beta


@compiled
def learn_context(
    ledger: Ledger,
    design: Floats,
    inverse: Floats,
    response: Floats,
    theta: Floats,
    features: Floats,
    reward: float,
) -> None:
    """Add one row to the regression: V += phi phi', theta_hat += V^-1 phi (r - <theta_hat, phi>).

    Notes
    -----
    With u = V^-1 phi before the update and den = 1 + phi'u: V^-1 -= u u' / den,
    theta_hat += u (r - <theta_hat, phi>) / den, log det V += log den.
    """
    dim = features.size
    step = np.empty(dim)
    multiply(inverse, features, step)
    den = 1.0
    predicted = 0.0
    for i in range(dim):
        den += step[i] * features[i]
        predicted += theta[i] * features[i]
    error = (reward - predicted) / den
    for i in range(dim):
        theta[i] += step[i] * error
        response[i] += features[i] * reward
        factor = step[i] / den
        own = features[i]
        for j in range(dim):
            inverse[i, j] -= factor * step[j]
            design[i, j] += own * features[j]
    ledger.rows += 1
    ledger.log_det += math.log(den)


def rebuild_contexts(
    design: Floats, response: Floats, ridge: float
) -> tuple[Floats, Floats, float]:
    """Compute V^-1, theta_hat and log det V afresh, free of accumulated rounding.

    Parameters
    ----------
    design : numpy.ndarray
        V, (d, d).
    response : numpy.ndarray
        The sum of r phi over the rows learned.
    ridge : float
        lambda.

    Returns
    -------
    tuple
        V^-1, theta_hat and log det V - log det(lambda I).
    """
    inverse = np.linalg.inv(design)
    symmetric = np.ascontiguousarray((inverse + inverse.T) / 2.0, dtype=np.float64)
    theta = np.asarray(np.linalg.solve(design, response), dtype=np.float64)
    return symmetric, theta, float(np.linalg.slogdet(design / ridge)[1])
