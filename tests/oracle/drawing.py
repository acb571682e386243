"""How problems are drawn, in plain loops over the numbers of `oracle.rewards`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracle.answer import Floats
from oracle.rewards import CONTEXTS, PROBLEMS, child, normal, root, uniform


class Arms(NamedTuple):
    """Fixed arms."""

    means: Floats
    features: Floats
    theta: Floats


class Round(NamedTuple):
    """Changing contexts: one round."""

    features: Floats
    means: Floats
    baseline: int


def of_rank(means: Floats, rank: int) -> int:
    """The arm that ``rank`` - 1 others beat, a lower index first among equals."""
    order = sorted(range(len(means)), key=lambda arm: (-means[arm], arm))
    return order[rank - 1]


def bernoulli(seed: int, problem: int, arms: int, low: float, high: float) -> Floats:
    """Means, uniform in [low, high]."""
    key = root(seed, PROBLEMS, problem)
    return np.array([low + (high - low) * uniform(key, arm) for arm in range(arms)])


def _vector(key: int, start: int, dim: int) -> Floats:
    return np.array([normal(key, start + i) for i in range(dim)])


def _direction(key: int, dim: int) -> Floats:
    vector = _vector(key, 1, dim)
    return np.asarray(vector / np.linalg.norm(vector))


def shifted(features: Floats, theta: Floats) -> Arms:
    """phi <- (phi - phi_worst) / (mu_best - mu_worst)."""
    means = features @ theta
    features = (features - features[np.argmin(means)]) / (means.max() - means.min())
    return Arms(features @ theta, features, theta)


def linear(seed: int, problem: int, arms: int, dim: int) -> Arms:
    """Theta = a direction times U[1/2, 1]; features as in the paper."""
    key = root(seed, PROBLEMS, problem)
    theta = _direction(key, dim) * (0.5 + uniform(key, 0) / 2)
    rows = []
    for arm in range(arms):
        own = child(key, arm)
        tries = 0
        while True:
            row = _vector(own, 1 + tries * dim, dim)
            tries += 1
            if row @ theta > 0:
                break
        rows.append(row * (0.5 + uniform(own, 0) / 2))
    features = np.array(rows)
    return shifted(features / np.linalg.norm(features, axis=1).max(), theta)


def contextual_theta(seed: int, problem: int, dim: int, signal: float) -> Floats:
    """Theta = sqrt 2 (w, 1/2)."""
    key = root(seed, PROBLEMS, problem)
    w = signal * _direction(child(key, 0), dim - 1)
    return np.asarray(np.sqrt(2) * np.append(w, 0.5))


def contextual(
    seed: int,
    problem: int,
    run: int,
    time: int,
    actions: int,
    dim: int,
    signal: float,
    perturbation: float,
) -> Round:
    """Phi = (x, 1) / sqrt 2; the baseline is greedy for w + perturbation |w| u."""
    key = root(seed, PROBLEMS, problem)
    theta = contextual_theta(seed, problem, dim, signal)
    w = theta[:-1] / np.sqrt(2)
    guess = w + perturbation * np.linalg.norm(w) * _direction(child(key, 1), dim - 1)
    rows = []
    for action in range(actions):
        own = root(seed, CONTEXTS, problem, run, time, action)
        x = _direction(own, dim - 1) * (0.5 + uniform(own, 0) / 2)
        rows.append(np.append(x, 1.0) / np.sqrt(2))
    features = np.array(rows)
    baseline = int(np.argmax(features[:, :-1] @ guess))
    return Round(features, features @ theta, baseline)


def ratings_order(seed: int, users: int) -> list[int]:
    """Users by a number drawn for each."""
    key = root(seed, PROBLEMS)
    return sorted(range(users), key=lambda user: uniform(key, user))


def ratings(table: Floats, rank: int, user: int) -> Arms:
    """A user of the truncated decomposition U diag(s) V'."""
    left, values, right = np.linalg.svd(table, full_matrices=False)
    return shifted(right[:rank].T, left[user, :rank] * values[:rank])
