"""Ridge regression with features that change every round.

Keeps the inverse Cholesky factor of V (`handrail.estimators.factor`) and theta_hat, both by
rank-one updates and never computed afresh. theta_hat follows the residuals, not the sum of r phi:
what rounding did to it is corrected by the next rewards, while a sum keeps it for good, and V^-1
times a sum enlarges it. Rows of matrices, and vectors, are padded with zeros to whole vectors of
the processor.
"""

from __future__ import annotations

import math

from handrail.bounds.ellipsoid import PAPER
from handrail.compiled import compiled, inlined
from handrail.estimators.factor import LEAST, add_row, inner, whiten
from handrail.records import Floats, Ledger, Rules
from handrail.vectors import LANES, larger, load, padded, root, splat, store, within

__all__ = [
    "bound_contexts",
    "lanes",
    "learn_context",
    "learn_known",
    "lengths",
    "load_features",
]


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
    factor: Floats, theta: Floats, columns: Floats, white: Floats, square: Floats, mean: Floats
) -> None:
    """Fill in L^-1 phi, its squared length and <theta_hat, phi> of every lane.

    Four rows at a time, whose sums stay in registers.
    """
    dim, width = columns.shape
    whole = dim // 4 * 4
    for lane in range(0, width, LANES):
        length, along = splat(0.0), splat(0.0)
        for i in range(0, whole, 4):
            y0 = splat(0.0)
            y1, y2, y3 = y0, y0, y0
            for j in range(i):
                x = load(columns, j, lane)
                y0 = y0 + factor[i, j] * x
                y1 = y1 + factor[i + 1, j] * x
                y2 = y2 + factor[i + 2, j] * x
                y3 = y3 + factor[i + 3, j] * x
            x0, x1 = load(columns, i, lane), load(columns, i + 1, lane)
            x2, x3 = load(columns, i + 2, lane), load(columns, i + 3, lane)
            d1 = factor[i + 1, i] * x0
            d2 = factor[i + 2, i] * x0 + factor[i + 2, i + 1] * x1
            d3 = factor[i + 3, i] * x0 + factor[i + 3, i + 1] * x1
            d3 = d3 + factor[i + 3, i + 2] * x2
            y0 = y0 + factor[i, i] * x0
            y1 = y1 + (d1 + factor[i + 1, i + 1] * x1)
            y2 = y2 + (d2 + factor[i + 2, i + 2] * x2)
            y3 = y3 + (d3 + factor[i + 3, i + 3] * x3)
            store(y0, white, i, lane)
            store(y1, white, i + 1, lane)
            store(y2, white, i + 2, lane)
            store(y3, white, i + 3, lane)
            length = length + ((y0 * y0 + y1 * y1) + (y2 * y2 + y3 * y3))
            low, high = theta[i] * x0 + theta[i + 1] * x1, theta[i + 2] * x2 + theta[i + 3] * x3
            along = along + (low + high)
        for i in range(whole, dim):
            x0 = load(columns, i, lane)
            y0 = factor[i, i] * x0
            for j in range(i):
                y0 = y0 + factor[i, j] * load(columns, j, lane)
            store(y0, white, i, lane)
            length = length + y0 * y0
            along = along + theta[i] * x0
        store(length, square, lane)
        store(along, mean, lane)


@inlined
def bound_contexts(
    beta: float,
    columns: Floats,
    factor: Floats,
    theta: Floats,
    white: Floats,
    mean: Floats,
    square: Floats,
    upper: Floats,
    lower: Floats,
) -> None:
    """Fill in each lane's L^-1 phi, squared norm ||phi||^2_{V^-1}, mean and bounds, given beta."""
    _products(factor, theta, columns, white, square, mean)
    for lane in range(0, columns.shape[1], LANES):
        centre = load(mean, lane)
        reach = beta * root(larger(load(square, lane), splat(LEAST)))
        store(centre + reach, upper, lane)
        store(centre - reach, lower, lane)


@inlined
def lengths(summed: Floats, white: Floats, result: Floats) -> None:
    """Fill in ||x + phi||^2_{V^-1} of every lane, given L^-1 x and what L^-1 phi are."""
    dim, width = white.shape
    whole = dim // 4 * 4
    for lane in range(0, width, LANES):
        length = splat(0.0)
        for i in range(0, whole, 4):
            y0, y1 = summed[i] + load(white, i, lane), summed[i + 1] + load(white, i + 1, lane)
            y2 = summed[i + 2] + load(white, i + 2, lane)
            y3 = summed[i + 3] + load(white, i + 3, lane)
            length = length + ((y0 * y0 + y1 * y1) + (y2 * y2 + y3 * y3))
        for i in range(whole, dim):
            y0 = summed[i] + load(white, i, lane)
            length = length + y0 * y0
        store(length, result, lane)


@inlined
def learn_context(
    ledger: Ledger,
    factor: Floats,
    theta: Floats,
    row: Floats,
    white: Floats,
    keep: Floats,
    turn: Floats,
    step: Floats,
    reward: float,
) -> None:
    """Add one padded row to the regression: see `learn_known`."""
    whiten(factor, row, white)
    mean = inner(theta, row)
    den = _learn(ledger, factor, theta, white, keep, turn, step, reward, mean)
    ledger.log_det += math.log(den)


@inlined
def learn_known(
    rules: Rules,
    ledger: Ledger,
    factor: Floats,
    theta: Floats,
    white: Floats,
    keep: Floats,
    turn: Floats,
    step: Floats,
    reward: float,
    mean: float,
) -> None:
    """Add a row to the regression of which L^-1 phi and <theta_hat, phi> are known.

    Notes
    -----
    With u = V^-1 phi before the update and den = 1 + phi'u: theta_hat += u (r - <theta_hat, phi>) /
    den, log det V += log den. `keep`, `turn` and `step` are room for a vector each.
    """
    den = _learn(ledger, factor, theta, white, keep, turn, step, reward, mean)
    if rules.width != PAPER:  # nobody else looks at it, and a logarithm takes its time
        ledger.log_det += math.log(den)


@inlined
def _learn(
    ledger: Ledger,
    factor: Floats,
    theta: Floats,
    white: Floats,
    keep: Floats,
    turn: Floats,
    step: Floats,
    reward: float,
    mean: float,
) -> float:
    """Do all of it but log det V; return den."""
    den = add_row(factor, white, keep, turn, step)
    error = (reward - mean) / den
    for j in range(0, theta.size, LANES):
        store(load(theta, j) + error * load(step, j), theta, j)
    ledger.rows += 1
    return den
