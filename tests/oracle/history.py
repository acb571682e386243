"""Every round so far, and which rewards may be used (docs/algorithms.md, "Late rewards").

Without a window a reward is used as soon as it comes. With a window of W rounds, round i settles at
the start of round i + W: with its reward if one has come, else with the default if there is one,
else it stays pending for ever. Rewards of settled rounds are dropped.

Where rounds have to be confirmed, one without a reward in use may have been the baseline's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle.answer import Floats

Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]

ROOM = 4096  # rounds kept at most


class History:
    """Columns with one entry per round; round i is entry i - 1."""

    def __init__(
        self, dim: int, window: int | None, default: float | None, confirm: bool = False
    ) -> None:
        self.length = 0
        self.confirm = confirm
        self.window = window
        self.default = default
        self._action: Counts = np.zeros(ROOM, dtype=np.int64)
        self._features: Floats = np.zeros((ROOM, dim))
        self._in_s: Flags = np.zeros(ROOM, dtype=np.bool_)
        self._learned: Flags = np.zeros(ROOM, dtype=np.bool_)
        self._reward: Floats = np.full(ROOM, np.nan)
        self._lower: Floats = np.zeros(ROOM)
        self._awaits: Flags = np.zeros(ROOM, dtype=np.bool_)
        self._baseline_lo: Floats = np.zeros(ROOM)
        self._baseline_hi: Floats = np.zeros(ROOM)
        self._baseline_features: Floats = np.zeros((ROOM, dim))
        self._baseline: Counts = np.full(ROOM, -1, dtype=np.int64)
        self._true_mean: Floats = np.zeros(ROOM)
        self._settled: set[int] = set()
        self._closed: set[int] = set()
        self._early: dict[int, float] = {}
        self._taken: list[int] = []

    def append(
        self,
        *,
        action: int,
        features: Floats,
        in_s: bool,
        awaits: bool,
        lower: float,
        baseline_mean: tuple[float, float],
        baseline_features: Floats,
        true_mean: float,
        baseline: int = -1,
    ) -> None:
        """One more round, in S or not. Only the reward of a round that ``awaits`` one is used."""
        entry = self.length
        if entry == len(self._action):
            raise ValueError(f"the oracle keeps at most {ROOM} rounds")
        self._action[entry] = action
        self._features[entry] = features
        self._in_s[entry] = in_s
        self._lower[entry] = lower
        self._awaits[entry] = awaits
        self._baseline_lo[entry], self._baseline_hi[entry] = baseline_mean
        self._baseline_features[entry] = baseline_features
        self._true_mean[entry] = true_mean
        self._baseline[entry] = baseline
        self.length += 1

    def learn(self, number: int, reward: float) -> None:
        """A reward of round ``number`` has come."""
        if not self._awaits[number - 1] or number in self._settled or number in self._closed:
            return
        if self.window is None:
            self._settle(number, reward)
        else:
            self._early[number] = reward

    def teach(self, number: int, mean: float) -> None:
        """Round ``number`` is learned from at once, as if its mean had been its reward."""
        self._settle(number, mean)

    def close(self, number: int) -> None:
        """No reward of round ``number`` will come any more."""
        if not self._awaits[number - 1] or number in self._settled or number in self._closed:
            return
        self._closed.add(number)
        if self.window is None:
            self._settle(number, self.default)

    def fall_back(self, number: int, in_s: bool, awaits: bool) -> None:
        """The baseline was played in round ``number``, which is in S or awaits a reward or not."""
        entry = number - 1
        if number in self._settled:
            return
        self._action[entry] = self._baseline[entry]
        self._features[entry] = self._baseline_features[entry]
        self._in_s[entry] = in_s
        self._awaits[entry] = awaits

    def start(self, time: int) -> None:
        """The start of round ``time``: settle the rounds whose window has ended, in their order."""
        if self.window is None:
            return
        for number in range(1, time - self.window + 1):
            if number not in self._settled and self._awaits[number - 1]:
                self._settle(number, self._early.get(number, self.default))

    def _settle(self, number: int, reward: float | None) -> None:
        self._settled.add(number)
        if reward is not None:
            self._learned[number - 1] = True
            self._reward[number - 1] = reward
            self._taken.append(number - 1)

    @property
    def learned(self) -> Flags:
        """Rounds with a reward in use."""
        return self._learned[: self.length]

    @property
    def in_s(self) -> Flags:
        """S, the rounds in which the baseline was not played; all rounds where there is none."""
        return self._in_s[: self.length]

    @property
    def pending(self) -> Flags:
        """Rounds of S without a reward in use."""
        return self.in_s & ~self.learned

    @property
    def counted(self) -> Flags:
        """Rounds of S that are known to have been played as decided."""
        return self.in_s & self.learned if self.confirm else self.in_s

    @property
    def promises(self) -> Floats:
        """max(lower, 0) of every round; no more than mu_b where the baseline may have been played.

        Of an interval for mu_b its lower end.
        """
        mine = np.maximum(self.lowers, 0.0)
        return np.minimum(mine, self.baseline_los) if self.confirm else mine

    @property
    def unconfirmed(self) -> float:
        """What rounds of S that are not confirmed promise, all of them."""
        return float(np.sum(self.promises[self.pending])) if self.confirm else 0.0

    @property
    def actions(self) -> Counts:
        """The action of every round."""
        return self._action[: self.length]

    @property
    def features(self) -> Floats:
        """The feature vector of every round's action."""
        return self._features[: self.length]

    @property
    def rewards(self) -> Floats:
        """The reward of every round, nan where none is in use."""
        return self._reward[: self.length]

    @property
    def lowers(self) -> Floats:
        """The lower bound of every round's action when it was chosen."""
        return self._lower[: self.length]

    @property
    def taken(self) -> list[float]:
        """The rewards of S in use, in the order in which they were taken in."""
        return [float(self._reward[entry]) for entry in self._taken if self._in_s[entry]]

    @property
    def baseline_los(self) -> Floats:
        """A lower bound on mu_b of every round."""
        return self._baseline_lo[: self.length]

    @property
    def baseline_his(self) -> Floats:
        """An upper bound on mu_b of every round."""
        return self._baseline_hi[: self.length]

    @property
    def baseline_features(self) -> Floats:
        """The feature vector of every round's baseline."""
        return self._baseline_features[: self.length]

    @property
    def true_means(self) -> Floats:
        """The true mean of every round's action, where it was told."""
        return self._true_mean[: self.length]
