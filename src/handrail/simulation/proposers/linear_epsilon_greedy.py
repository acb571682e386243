"""Epsilon-greedy over features that are new every round."""

from __future__ import annotations

import numpy as np

from handrail.records import Floats

__all__ = ["LinearEpsilonGreedy"]


class LinearEpsilonGreedy:
    """The best action of a ridge regression, and now and then any.

    Parameters
    ----------
    arms : int
        Actions in a round.
    dim : int
        Length of their features.
    seed : int
        Of its own random numbers.
    epsilon : float, default=0.1
        The share of rounds in which the action is drawn at random.
    ridge : float, default=1.0
        lambda of the regression.

    References
    ----------
    J. Langford, T. Zhang (2007). The epoch-greedy algorithm for contextual multi-armed bandits.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> policy = LinearEpsilonGreedy(arms=2, dim=2, seed=0, epsilon=0.0)
    >>> policy.update(1, 1.0, np.eye(2))
    >>> policy.select(np.eye(2))
    1
    """

    def __init__(
        self, arms: int, dim: int, seed: int, epsilon: float = 0.1, ridge: float = 1.0
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._epsilon = epsilon
        self._inverse = np.eye(dim) / ridge
        self._moments = np.zeros(dim)
        self._theta = np.zeros(dim)

    def select(self, features: Floats) -> int:
        """Return the action with the best estimate, the first among equals, or any."""
        if self._random.random() < self._epsilon:
            return int(self._random.integers(len(features)))
        return int((features @ self._theta).argmax())

    def update(self, action: int, reward: float, features: Floats) -> None:
        """Learn from a reward (Sherman-Morrison)."""
        row = features[action]
        along = self._inverse @ row
        self._inverse -= np.outer(along, along) / (1.0 + row @ along)
        self._moments += reward * row
        self._theta = self._inverse @ self._moments
