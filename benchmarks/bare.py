"""The references of contexts: what a linear round cannot do without, and nothing else.

A round is the widths ||phi||_{V^-1} and means <theta, phi> of all actions and the update of V^-1
and theta_hat by one of them. No bounds, no choice, no promise, no record; V itself is not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numba
import numpy as np
from numpy.typing import NDArray

from handrail.compiled import inlined
from handrail.vectors import LANES, load, root, splat, store

__all__ = ["Loop", "contexts_blas", "contexts_loop"]

Loop: TypeAlias = Callable[[Any, Any, Any, int], float]
"""Takes contexts, actions and rewards, and how often to go over them; returns a checksum."""


def _through_blas(
    features: NDArray[Any], chosen: NDArray[Any], rewards: NDArray[Any], times: int
) -> float:
    rounds, actions, dim = features.shape
    inverse, theta = np.eye(dim), np.zeros(dim)
    products, means, widths = np.empty((actions, dim)), np.empty(actions), np.empty(actions)
    checksum = 0.0
    for t in range(rounds * times):
        now = t % rounds
        rows = features[now]
        np.dot(rows, inverse, products)
        np.dot(rows, theta, means)
        for a in range(actions):
            square = 0.0
            for i in range(dim):
                square += products[a, i] * rows[a, i]
            widths[a] = math.sqrt(square)
        action = chosen[now]
        den = 1.0 + widths[action] * widths[action]
        error = (rewards[now] - means[action]) / den
        step = products[action]
        for i in range(dim):
            theta[i] += error * step[i]
            factor = step[i] / den
            for j in range(dim):
                inverse[i, j] -= factor * step[j]
        checksum += widths[action] + means[action]
    return checksum


def _widths(inverse: Any, columns: Any, theta: Any, squares: Any, widths: Any, means: Any) -> None:
    """Four rows of the lower triangle at a time, eight actions in step, sums in registers."""
    dim, width = columns.shape
    for lane in range(0, width, LANES):
        half, mean = splat(0.0), splat(0.0)
        for i in range(0, dim, 4):
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
            mean = mean + (
                (theta[i] * x0 + theta[i + 1] * x1) + (theta[i + 2] * x2 + theta[i + 3] * x3)
            )
        store(2.0 * half, squares, lane)
        store(root(2.0 * half), widths, lane)
        store(mean, means, lane)


def _update(
    inverse: Any, columns: Any, theta: Any, step: Any, action: int, reward: Any, known: Any
) -> None:
    """V^-1 and theta, given phi' V^-1 phi and <theta, phi>."""
    dim, width = inverse.shape
    den = 1.0 + known[0]
    error = (reward - known[1]) / den
    scale = 1.0 / math.sqrt(den)
    for j in range(0, width, LANES):
        one, two = splat(0.0), splat(0.0)
        for i in range(0, dim, 2):
            one = one + columns[i, action] * load(inverse, i, j)
            two = two + columns[i + 1, action] * load(inverse, i + 1, j)
        product = one + two
        store(load(theta, j) + error * product, theta, j)
        store(scale * product, step, j)
    for i in range(dim):
        for j in range(0, width, LANES):
            store(load(inverse, i, j) - step[i] * load(step, j), inverse, i, j)


_compile = numba.njit(nogil=True, error_model="numpy")
# Compiled like the simulator's own functions, without counting references and without calls.
_fast_widths, _fast_update = inlined(_widths), inlined(_update)


def _in_registers(
    columns: NDArray[Any], chosen: NDArray[Any], rewards: NDArray[Any], times: int
) -> float:
    rounds, dim, width = columns.shape
    inverse = np.zeros((dim, (dim + LANES - 1) // LANES * LANES))
    for i in range(dim):
        inverse[i, i] = 1.0
    theta, step = np.zeros(inverse.shape[1]), np.zeros(inverse.shape[1])
    squares, widths, means = np.empty(width), np.empty(width), np.empty(width)
    checksum = 0.0
    for t in range(rounds * times):
        now = t % rounds
        _fast_widths(inverse, columns[now], theta, squares, widths, means)
        action = chosen[now]
        known = (squares[action], means[action])
        _fast_update(inverse, columns[now], theta, step, action, rewards[now], known)
        checksum += widths[action] + means[action]
    return checksum


contexts_blas = cast(Loop, _compile(_through_blas))
"""A compiled loop with products through BLAS, of features (rounds, actions, d)."""
contexts_loop = cast(Loop, _compile(_in_registers))
"""A loop in registers, of columns (rounds, d, lanes); d is a multiple of four."""
