"""Ridge regression with features that change every round.

Keeps V, V^-1 (by Sherman and Morrison's formula), the sum of r phi and theta_hat; V and the sum
are there so that V^-1 and theta_hat can be computed afresh now and then.
"""

from __future__ import annotations

import math

import numpy as np

from handrail.bounds.ellipsoid import ellipsoid_radius
from handrail.compiled import compiled
from handrail.estimators.symmetric import invert, multiply
from handrail.records import Floats, Ledger, Rules

__all__ = [
    "along_total",
    "bound_contexts",
    "lanes",
    "learn_context",
    "load_features",
    "rebuild_contexts",
]


@compiled
def lanes(actions: int) -> int:
    """Return the number of actions, rounded up to whole vectors of the processor."""
    return (actions + 7) // 8 * 8


@compiled
def load_features(features: Floats, bound: float, columns: Floats) -> int:
    """Turn (K, d) features into (d, lanes) columns, in which all actions go in step.

    Lanes without an action are 0. Returns the first action whose features are not finite or
    longer than the bound, -1 if all are well. The bound is met up to rounding (1e-12).
    """
    actions, dim = features.shape
    width = columns.shape[1]
    square = np.zeros(width)
    for a in range(actions):
        for i in range(dim):
            columns[i, a] = features[a, i]
    for i in range(dim):
        for a in range(actions, width):
            columns[i, a] = 0.0
        for a in range(width):
            square[a] += columns[i, a] * columns[i, a]
    largest = bound * bound * (1.0 + 1e-12)
    for a in range(actions):
        # A comparison with NaN is false: this form catches it.
        if not square[a] <= largest:
            return a
    return -1


@compiled
def _quadratic_forms(inverse: Floats, columns: Floats, result: Floats) -> None:
    """Put phi' V^-1 phi of every lane into result.

    Uses the lower triangle of V^-1 only, in tiles of two rows by four columns, each for all
    lanes at once: no sum is reordered, and the compiler vectorises every inner loop.
    """
    dim, width = columns.shape
    first = np.empty(width)
    second = np.empty(width)
    result[:] = 0.0
    for i in range(0, dim - 1, 2):
        own, cross, other = 0.5 * inverse[i, i], inverse[i + 1, i], 0.5 * inverse[i + 1, i + 1]
        for a in range(width):
            first[a] = own * columns[i, a]
            second[a] = cross * columns[i, a] + other * columns[i + 1, a]
        tiled = i // 4 * 4
        for j in range(0, tiled, 4):
            p0, p1, p2, p3 = inverse[i, j], inverse[i, j + 1], inverse[i, j + 2], inverse[i, j + 3]
            q0, q1 = inverse[i + 1, j], inverse[i + 1, j + 1]
            q2, q3 = inverse[i + 1, j + 2], inverse[i + 1, j + 3]
            for a in range(width):
                x0, x1 = columns[j, a], columns[j + 1, a]
                x2, x3 = columns[j + 2, a], columns[j + 3, a]
                first[a] += (p0 * x0 + p1 * x1) + (p2 * x2 + p3 * x3)
                second[a] += (q0 * x0 + q1 * x1) + (q2 * x2 + q3 * x3)
        for j in range(tiled, i):
            p0, q0 = inverse[i, j], inverse[i + 1, j]
            for a in range(width):
                first[a] += p0 * columns[j, a]
                second[a] += q0 * columns[j, a]
        for a in range(width):
            result[a] += 2.0 * (first[a] * columns[i, a] + second[a] * columns[i + 1, a])
    if dim % 2 == 1:
        last = dim - 1
        for a in range(width):
            first[a] = 0.5 * inverse[last, last] * columns[last, a]
        for j in range(last):
            p0 = inverse[last, j]
            for a in range(width):
                first[a] += p0 * columns[j, a]
        for a in range(width):
            result[a] += 2.0 * first[a] * columns[last, a]


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
    """Fill in each lane's mean, squared norm ||phi||^2_{V^-1} and bounds; return beta."""
    dim, width = columns.shape
    _quadratic_forms(inverse, columns, square)
    mean[:] = 0.0
    for i in range(dim):
        for a in range(width):
            mean[a] += theta[i] * columns[i, a]
    beta = ellipsoid_radius(rules, ledger)
    for a in range(width):
        reach = beta * math.sqrt(max(square[a], 0.0))
        upper[a] = mean[a] + reach
        lower[a] = mean[a] - reach
    return beta


@compiled
def along_total(
    inverse: Floats, theta: Floats, total: Floats, columns: Floats, product: Floats
) -> tuple[float, float]:
    """Return <theta_hat, x> and ||x||^2_{V^-1} of the summed features x.

    Also fill in x' V^-1 phi of every lane.
    """
    dim, width = columns.shape
    along = np.empty(dim)
    multiply(inverse, total, along)
    centre = 0.0
    square = 0.0
    product[:] = 0.0
    for i in range(dim):
        centre += theta[i] * total[i]
        square += along[i] * total[i]
        for a in range(width):
            product[a] += along[i] * columns[i, a]
    return centre, square


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


@compiled
def rebuild_contexts(
    design: Floats, response: Floats, ridge: float, inverse: Floats, theta: Floats
) -> float:
    """Compute V^-1 and theta_hat afresh, free of accumulated rounding.

    Parameters
    ----------
    design : numpy.ndarray
        V, (d, d).
    response : numpy.ndarray
        The sum of r phi over the rows learned.
    ridge : float
        lambda.
    inverse, theta : numpy.ndarray
        Where V^-1 and theta_hat are put; left as they are if V is not positive definite by
        rounding.

    Returns
    -------
    float
        log det V - log det(lambda I), NaN if nothing was done.
    """
    log_det = invert(design, inverse)
    if math.isnan(log_det):
        return log_det
    multiply(inverse, response, theta)
    return log_det - response.size * math.log(ridge)
