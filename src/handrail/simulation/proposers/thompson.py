"""Thompson sampling for rewards between 0 and 1."""

from __future__ import annotations

import numpy as np

__all__ = ["Thompson"]


class Thompson:
    """Thompson sampling with a Beta posterior for each arm.

    Parameters
    ----------
    arms : int
        How many.
    seed : int
        Of its own random numbers.

    Notes
    -----
    Arm a is proposed with the probability that it is the best one under independent posteriors
    Beta(1 + sum of its rewards, 1 + sum of one minus its rewards). Rewards outside [0, 1] count as
    the nearer end.

    References
    ----------
    W. R. Thompson (1933). On the likelihood that one unknown probability exceeds another in view
    of the evidence of two samples. Biometrika 25.

    Examples
    --------
    >>> policy = Thompson(arms=2, seed=0)
    >>> for _ in range(100):
    ...     arm = policy.select()
    ...     policy.update(arm, reward=float(arm))
    >>> policy.select()
    1
    """

    def __init__(self, arms: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._won = np.ones(arms)
        self._lost = np.ones(arms)

    def select(self) -> int:
        """Return the arm whose drawn mean is largest."""
        return int(self._random.beta(self._won, self._lost).argmax())

    def update(self, action: int, reward: float) -> None:
        """Learn from a reward."""
        share = min(max(reward, 0.0), 1.0)
        self._won[action] += share
        self._lost[action] += 1.0 - share
