"""Explore, then commit."""

from __future__ import annotations

__all__ = ["ExploreThenCommit"]


class ExploreThenCommit:
    """Every arm equally often, then for ever the one that did best: an A/B test.

    Parameters
    ----------
    arms : int
        How many.
    seed : int
        Not used: nothing is random.
    each : int, default=30
        Rewards of each arm before it commits.

    Notes
    -----
    While it explores, the arm with the fewest rewards is proposed, the first among equals. Guarded,
    it explores as fast as it may.

    References
    ----------
    T. Lattimore, C. Szepesvari (2020). Bandit algorithms, Chapter 6.

    Examples
    --------
    >>> policy = ExploreThenCommit(arms=2, seed=0, each=1)
    >>> for reward in (0.0, 1.0):
    ...     policy.update(policy.select(), reward)
    >>> policy.select()
    1
    """

    def __init__(self, arms: int, seed: int, each: int = 30) -> None:
        self._each = each
        self._plays = [0] * arms
        self._sums = [0.0] * arms
        self._chosen: int | None = None

    def select(self) -> int:
        """Return the arm to explore, or the one chosen."""
        if self._chosen is not None:
            return self._chosen
        fewest = min(self._plays)
        if fewest < self._each:
            return self._plays.index(fewest)
        means = [total / plays for total, plays in zip(self._sums, self._plays, strict=True)]
        self._chosen = means.index(max(means))
        return self._chosen

    def update(self, action: int, reward: float) -> None:
        """Learn from a reward, until it has committed."""
        if self._chosen is None:
            self._plays[action] += 1
            self._sums[action] += reward
