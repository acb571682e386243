"""Ridge regression with features that change every round.

Keeps V, V^-1 (by Sherman and Morrison's formula), the sum of r phi and theta_hat; V and the sum
are there so that V^-1 and theta_hat can be computed afresh now and then. So V need not be up to
date: features wait in `rows` until some can be added together, and only its lower triangle is
kept. Rows of matrices, and vectors, are padded with zeros to whole vectors of the processor.
"""

from __future__ import annotations

import math
from typing import Final

from handrail.bounds.ellipsoid import PAPER
from handrail.compiled import compiled, inlined
from handrail.estimators.symmetric import invert
from handrail.records import Floats, Ledger, Rules
from handrail.vectors import LANES, larger, load, padded, root, splat, store, total, within

__all__ = [
    "WAITING",
    "add_rows",
    "along_total",
    "bound_contexts",
    "complete_design",
    "follow_total",
    "inner",
    "lanes",
    "learn_context",
    "learn_known",
    "load_features",
    "multiply",
    "rebuild_contexts",
]

WAITING: Final = 16
"""Rows that are added to V together."""


@compiled
def lanes(actions: int) -> int:
    """Return the number of actions, rounded up to whole vectors of the processor."""
    return padded(actions)


@inlined
def load_features(features: Floats, bound: float, columns: Floats) -> int:
    """Turn (K, d) features into (d, lanes) columns, in which all actions go in step.

    Lanes without an action are 0. Returns the first action whose features are not finite or
    longer than the bound, -1 if all are well. The bound is met up to rounding (1e-12).
    """
    actions, dim = features.shape
    width = columns.shape[1]
    for i in range(dim):
        for a in range(actions):
            columns[i, a] = features[a, i]
        for a in range(actions, width):
            columns[i, a] = 0.0
    largest = bound * bound * (1.0 + 1e-12)
    for lane in range(0, width, LANES):
        square = splat(0.0)
        for i in range(dim):
            own = load(columns, i, lane)
            square = square + own * own
        if not within(square, largest):
            return _first_unfit(columns, largest, lane)
    return -1


@inlined
def _first_unfit(columns: Floats, largest: float, first: int) -> int:
    """Return the first lane, from one on, whose squared length is not at most this."""
    lane = first
    while True:
        square = 0.0
        for i in range(columns.shape[0]):
            square += columns[i, lane] * columns[i, lane]
        # A comparison with NaN is false: this form catches it.
        if not square <= largest:
            return lane
        lane += 1


@inlined
def _products(
    inverse: Floats, theta: Floats, columns: Floats, square: Floats, mean: Floats
) -> None:
    """Fill in phi' V^-1 phi and <theta_hat, phi> of every lane.

    Uses the lower triangle of V^-1 only, four rows at a time, whose sums stay in registers.
    """
    dim, width = columns.shape
    whole = dim // 4 * 4
    for lane in range(0, width, LANES):
        half, along = splat(0.0), splat(0.0)
        for i in range(0, whole, 4):
            y0 = splat(0.0)
            y1, y2, y3 = y0, y0, y0
            for j in range(i):
                x = load(columns, j, lane)
                y0 = y0 + inverse[i, j] * x
                y1 = y1 + inverse[i + 1, j] * x
                y2 = y2 + inverse[i + 2, j] * x
                y3 = y3 + inverse[i + 3, j] * x
            x0, x1 = load(columns, i, lane), load(columns, i + 1, lane)
            x2, x3 = load(columns, i + 2, lane), load(columns, i + 3, lane)
            d1 = inverse[i + 1, i] * x0
            d2 = inverse[i + 2, i] * x0 + inverse[i + 2, i + 1] * x1
            d3 = inverse[i + 3, i] * x0 + inverse[i + 3, i + 1] * x1
            d3 = d3 + inverse[i + 3, i + 2] * x2
            y0 = y0 + 0.5 * inverse[i, i] * x0
            y1 = y1 + (d1 + 0.5 * inverse[i + 1, i + 1] * x1)
            y2 = y2 + (d2 + 0.5 * inverse[i + 2, i + 2] * x2)
            y3 = y3 + (d3 + 0.5 * inverse[i + 3, i + 3] * x3)
            half = half + ((y0 * x0 + y1 * x1) + (y2 * x2 + y3 * x3))
            low, high = theta[i] * x0 + theta[i + 1] * x1, theta[i + 2] * x2 + theta[i + 3] * x3
            along = along + (low + high)
        for i in range(whole, dim):
            x0 = load(columns, i, lane)
            y0 = 0.5 * inverse[i, i] * x0
            for j in range(i):
                y0 = y0 + inverse[i, j] * load(columns, j, lane)
            half = half + y0 * x0
            along = along + theta[i] * x0
        store(2.0 * half, square, lane)
        store(along, mean, lane)


@inlined
def _along(vector: Floats, columns: Floats, result: Floats) -> None:
    """Put the inner products of a vector and every lane's features into result."""
    dim, width = columns.shape
    whole = dim // 4 * 4
    for lane in range(0, width, LANES):
        product = splat(0.0)
        for i in range(0, whole, 4):
            one = vector[i] * load(columns, i, lane) + vector[i + 1] * load(columns, i + 1, lane)
            two = vector[i + 2] * load(columns, i + 2, lane)
            two = two + vector[i + 3] * load(columns, i + 3, lane)
            product = product + (one + two)
        for i in range(whole, dim):
            product = product + vector[i] * load(columns, i, lane)
        store(product, result, lane)


@inlined
def bound_contexts(
    beta: float,
    columns: Floats,
    inverse: Floats,
    theta: Floats,
    mean: Floats,
    square: Floats,
    upper: Floats,
    lower: Floats,
) -> None:
    """Fill in each lane's mean, squared norm ||phi||^2_{V^-1} and bounds, given the radius."""
    _products(inverse, theta, columns, square, mean)
    for lane in range(0, columns.shape[1], LANES):
        centre = load(mean, lane)
        reach = beta * root(larger(load(square, lane), splat(0.0)))
        store(centre + reach, upper, lane)
        store(centre - reach, lower, lane)


@inlined
def inner(one: Floats, other: Floats) -> float:
    """Return the inner product of two padded vectors: eight sums, then theirs."""
    sums = splat(0.0)
    for i in range(0, one.size, LANES):
        sums = sums + load(one, i) * load(other, i)
    return total(sums)


@inlined
def multiply(inverse: Floats, vector: Floats, result: Floats) -> None:
    """Put V^-1 times a vector into result: two sums, of even rows and of odd ones."""
    dim, width = inverse.shape
    even = dim // 2 * 2
    for j in range(0, width, LANES):
        one, two = splat(0.0), splat(0.0)
        for i in range(0, even, 2):
            one = one + vector[i] * load(inverse, i, j)
            two = two + vector[i + 1] * load(inverse, i + 1, j)
        if even < dim:
            one = one + vector[even] * load(inverse, even, j)
        store(one + two, result, j)


@inlined
def along_total(
    theta: Floats, summed: Floats, weighed: Floats, columns: Floats, product: Floats
) -> tuple[float, float]:
    """Return <theta_hat, x> and ||x||^2_{V^-1} of the summed features x, given V^-1 x.

    Also fill in x' V^-1 phi of every lane.
    """
    _along(weighed, columns, product)
    return inner(theta, summed), inner(weighed, summed)


@inlined
def follow_total(
    square: float, product: float, step: Floats, weighed: Floats, added: float
) -> None:
    """Bring V^-1 x up to date after phi was learned, and added to x or not, both in one.

    Parameters
    ----------
    square, product : float
        phi' V^-1 phi and x' V^-1 phi, before.
    step : numpy.ndarray
        What `learn_known` left.
    weighed : numpy.ndarray
        V^-1 x.
    added : float
        1 if phi was added to x, 0 if it was only learned, as of a baseline round.

    Notes
    -----
    x is the sum of r phi for rewards of 1 or 0, so V^-1 x moves as theta_hat does: by
    u (1 - x'u) / den or -u x'u / den.
    """
    factor = (added - product) / math.sqrt(1.0 + square)
    for j in range(0, weighed.size, LANES):
        store(load(weighed, j) + factor * load(step, j), weighed, j)


@inlined
def learn_context(
    ledger: Ledger,
    design: Floats,
    rows: Floats,
    inverse: Floats,
    response: Floats,
    theta: Floats,
    step: Floats,
    features: Floats,
    reward: float,
) -> None:
    """Add one row to the regression: see `learn_known`."""
    row = rows[ledger.rows % WAITING]
    _take_row(inverse, features, row, step)
    square, mean = inner(step, row), inner(theta, row)
    _learn_row(ledger, design, rows, inverse, response, theta, step, row, reward, square, mean)
    ledger.log_det += math.log(1.0 + square)


@inlined
def learn_known(
    rules: Rules,
    ledger: Ledger,
    design: Floats,
    rows: Floats,
    inverse: Floats,
    response: Floats,
    theta: Floats,
    step: Floats,
    features: Floats,
    reward: float,
    square: float,
    mean: float,
) -> None:
    """Add one row to the regression: V += phi phi', theta_hat += V^-1 phi (r - <theta_hat, phi>).

    phi' V^-1 phi and <theta_hat, phi> are known: what hangs on them need not wait for V^-1 phi. V
    itself waits until `rows` is full; `step` is room for a vector, left at u / sqrt(den).

    Notes
    -----
    With u = V^-1 phi before the update and den = 1 + phi'u: V^-1 -= u u' / den,
    theta_hat += u (r - <theta_hat, phi>) / den, log det V += log den. V^-1 is left exactly
    symmetric: what is subtracted is the outer product of u / sqrt(den) with itself.
    """
    row = rows[ledger.rows % WAITING]
    _take_row(inverse, features, row, step)
    _learn_row(ledger, design, rows, inverse, response, theta, step, row, reward, square, mean)
    if rules.width != PAPER:  # nobody else looks at it, and a logarithm takes its time
        ledger.log_det += math.log(1.0 + square)


@inlined
def _take_row(inverse: Floats, features: Floats, row: Floats, step: Floats) -> None:
    """Put features into a padded row, and V^-1 phi into step."""
    for i in range(inverse.shape[0]):
        row[i] = features[i]
    multiply(inverse, row, step)


@inlined
def _learn_row(
    ledger: Ledger,
    design: Floats,
    rows: Floats,
    inverse: Floats,
    response: Floats,
    theta: Floats,
    step: Floats,
    row: Floats,
    reward: float,
    square: float,
    mean: float,
) -> None:
    """Finish a row that `_take_row` began, all but log det V."""
    dim, width = inverse.shape
    den = 1.0 + square
    error = (reward - mean) / den
    scale = 1.0 / math.sqrt(den)
    for j in range(0, width, LANES):
        store(load(theta, j) + error * load(step, j), theta, j)
        store(load(response, j) + reward * load(row, j), response, j)
        store(scale * load(step, j), step, j)
    for i in range(dim):
        factor = step[i]
        for j in range(0, width, LANES):
            store(load(inverse, i, j) - factor * load(step, j), inverse, i, j)
    ledger.rows += 1
    if ledger.rows % WAITING == 0:
        add_rows(design, rows)


@inlined
def add_rows(design: Floats, rows: Floats) -> None:
    """Add the rows that wait to the lower triangle of V, and make room.

    A row of zeros changes nothing: it does not matter how many wait. To every entry they are added
    in their order, so it does not matter either when it is done.
    """
    dim = design.shape[0]
    whole = dim // 4 * 4
    for i in range(0, whole, 4):
        for j in range(0, i + 4, LANES):
            v0, v1 = load(design, i, j), load(design, i + 1, j)
            v2, v3 = load(design, i + 2, j), load(design, i + 3, j)
            for w in range(WAITING):
                x = load(rows, w, j)
                v0 = v0 + rows[w, i] * x
                v1 = v1 + rows[w, i + 1] * x
                v2 = v2 + rows[w, i + 2] * x
                v3 = v3 + rows[w, i + 3] * x
            store(v0, design, i, j)
            store(v1, design, i + 1, j)
            store(v2, design, i + 2, j)
            store(v3, design, i + 3, j)
    for i in range(whole, dim):
        for j in range(0, i + 1, LANES):
            v0 = load(design, i, j)
            for w in range(WAITING):
                v0 = v0 + rows[w, i] * load(rows, w, j)
            store(v0, design, i, j)
    rows[:] = 0.0


@inlined
def complete_design(design: Floats, rows: Floats) -> None:
    """Bring V up to date, both triangles."""
    add_rows(design, rows)
    for i in range(design.shape[0]):
        for j in range(i):
            design[j, i] = design[i, j]


@compiled
def rebuild_contexts(
    design: Floats, response: Floats, ridge: float, inverse: Floats, theta: Floats
) -> float:
    """Compute V^-1 and theta_hat afresh, free of accumulated rounding.

    Parameters
    ----------
    design : numpy.ndarray
        V, at least its lower triangle.
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
    return log_det - len(design) * math.log(ridge)
