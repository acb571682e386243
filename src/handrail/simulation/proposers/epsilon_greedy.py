"""Epsilon-greedy over arms."""

from __future__ import annotations

import numpy as np

__all__ = ["EpsilonGreedy"]


class EpsilonGreedy:
    """The best mean so far, and now and then any arm.

    Parameters
    ----------
    arms : int
        How many.
    seed : int
        Of its own random numbers.
    epsilon : float, default=0.1
        The share of rounds in which the arm is drawn at random.

    Notes
    -----
    An arm that was never played has the mean 1, so that each is tried.

    References
    ----------
    R. S. Sutton, A. G. Barto (2018). Reinforcement learning, second edition, Section 2.2.

    Examples
    --------
    >>> policy = EpsilonGreedy(arms=3, seed=0, epsilon=0.0)
    >>> for _ in range(3):
    ...     arm = policy.select()
    ...     policy.update(arm, reward=0.25 * arm)
    >>> policy.select()
    2
    """

    def __init__(self, arms: int, seed: int, epsilon: float = 0.1) -> None:
        self._random = np.random.default_rng(seed)
        self._epsilon = epsilon
        self._plays = [0] * arms
        self._means = [1.0] * arms

    def select(self) -> int:
        """Return the arm with the best mean, the first among equals, or any."""
        if self._random.random() < self._epsilon:
            return int(self._random.integers(len(self._means)))
        return self._means.index(max(self._means))

    def update(self, action: int, reward: float) -> None:
        """Learn from a reward."""
        self._plays[action] += 1
        before = self._means[action] if self._plays[action] > 1 else 0.0
        self._means[action] = before + (reward - before) / self._plays[action]
