"""Who makes proposals to a guard that is certified, unless somebody else is named."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["IN_TURN", "InTurn"]

_STINT: Final = 20
"""Rounds in which one action is proposed: longer than what a guard lets pass unpaid for."""


class InTurn:
    """Every action in turn, whatever it earns, but not the baseline once it is known which it is.

    Parameters
    ----------
    arms : int
        Arms, or actions in a round.
    seed : int
        Unused: there is nothing to draw.
    dim : int, optional
        Length of the features, likewise.

    Notes
    -----
    Each action is proposed for a stint of 20 rounds. The one that is heard of most often without
    having been proposed last is the baseline (others are heard of late): proposing that would be
    no risk.

    Examples
    --------
    >>> proposer = InTurn(arms=3, seed=0)
    >>> [proposer.select() for _ in range(60)][::20]
    [0, 1, 2]
    >>> proposer.update(1, reward=0.5)
    >>> [proposer.select() for _ in range(60)][::20]
    [0, 2, 0]
    """

    def __init__(self, arms: int, seed: int, dim: int | None = None) -> None:
        self._arms = arms
        self._last = arms - 1
        self._left = 0
        self._unasked = [0] * arms
        self._held = -1

    def select(self, features: Any = None) -> int:
        """Return the action whose turn it is."""
        if self._left == 0 or self._last == self._held:
            self._left = _STINT
            self._last = (self._last + 1) % self._arms
            if self._last == self._held:
                self._last = (self._last + 1) % self._arms
        self._left -= 1
        return self._last

    def update(self, action: int, reward: float, features: Any = None) -> None:
        """See which action is the baseline."""
        if action != self._last:
            self._unasked[action] += 1
            self._held = self._unasked.index(max(self._unasked))


IN_TURN: Final = f"{InTurn.__module__}:{InTurn.__qualname__}"
"""The name that simulations know it by."""
