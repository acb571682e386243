"""The references: LinUCB with Sherman and Morrison's formula, in plain NumPy and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["NumpyLinUCB", "compiled_linucb"]

Floats = NDArray[np.float64]


@dataclass
class NumpyLinUCB:
    """LinUCB as one would write it in NumPy: no checks, no promise, nothing kept besides."""

    dim: int
    noise: float
    delta: float
    theta_bound: float
    feature_bound: float
    ridge: float
    rows: int = 0
    inverse: Floats = field(init=False)
    theta: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.inverse = np.eye(self.dim) / self.ridge
        self.theta = np.zeros(self.dim)

    def decide(self, features: Floats) -> int:
        growth = 1.0 + self.feature_bound**2 * (1 + self.rows) / self.ridge
        beta = self.noise * math.sqrt(self.dim * math.log(growth / self.delta))
        beta += self.theta_bound * math.sqrt(self.ridge)
        squares = np.einsum("ij,ij->i", features @ self.inverse, features)
        return int(np.argmax(features @ self.theta + beta * np.sqrt(squares)))

    def learn(self, chosen: Floats, reward: float) -> None:
        step = self.inverse @ chosen
        gain = step / (1.0 + chosen @ step)
        self.theta += gain * (reward - chosen @ self.theta)
        self.inverse -= np.outer(step, gain)
        self.rows += 1


def _loop(
    contexts: Any,
    rewards: Any,
    rounds: int,
    noise: float,
    delta: float,
    theta_bound: float,
    feature_bound: float,
    ridge: float,
) -> int:
    pool, actions, dim = contexts.shape
    inverse = np.eye(dim) / ridge
    theta = np.zeros(dim)
    checksum = 0
    for t in range(rounds):
        features = contexts[t % pool]
        growth = 1.0 + feature_bound**2 * (1 + t) / ridge
        beta = noise * math.sqrt(dim * math.log(growth / delta)) + theta_bound * math.sqrt(ridge)
        products = features @ inverse
        centres = features @ theta
        best, leader = -math.inf, 0
        for a in range(actions):
            upper = centres[a] + beta * math.sqrt(np.dot(products[a], features[a]))
            if upper > best:
                best, leader = upper, a
        chosen = features[leader]
        step = inverse @ chosen
        gain = step / (1.0 + np.dot(chosen, step))
        theta += gain * (rewards[t % pool, leader] - np.dot(chosen, theta))
        for i in range(dim):
            for j in range(dim):
                inverse[i, j] -= step[i] * gain[j]
        checksum += leader
    return checksum


compiled_linucb = cast(Callable[..., int], numba.njit(nogil=True)(_loop))
"""The same loop compiled as a whole: no Python between rounds. Returns the sum of the actions."""
