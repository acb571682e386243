"""Every round so far, and which rewards may be used (docs/algorithms.md, "Late rewards").

Without a window a round closes as soon as its reward is used, or when somebody closes it. With a
window of W rounds, round i closes at the start of round i + W. What a round of S is then:

- *learned*: its reward, or the default, is in the estimator and among the summed rewards;
- *earned*: among the summed rewards alone. A missing reward without a default is summed as 0, the
  lowest one, and so is the missing reward of a fallback by choice;
- *lost*: in neither. Where a default is declared, rounds have to be confirmed and nobody said that
  this one was played.

Rewards of closed rounds are dropped. ``edition`` 1 is how files of old releases go on: a reward
confirms, with a default silence does too, and a missing reward without a default leaves the promise
for good.
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
        self,
        dim: int,
        window: int | None,
        default: float | None,
        confirm: bool | str = False,
        edition: int = 2,
    ) -> None:
        self.length = 0
        self.confirm = bool(confirm)
        self.window = window
        self.default = default
        self.edition = edition
        self.needs_word = edition == 2 and confirm is True and default is not None
        self._action: Counts = np.zeros(ROOM, dtype=np.int64)
        self._features: Floats = np.zeros((ROOM, dim))
        self._in_s: Flags = np.zeros(ROOM, dtype=np.bool_)
        self._learned: Flags = np.zeros(ROOM, dtype=np.bool_)
        self._earned: Flags = np.zeros(ROOM, dtype=np.bool_)
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
        self._said: set[int] = set()
        self._fallen: set[int] = set()
        self._chosen: set[int] = set()
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

    def learn(self, number: int, reward: float) -> str:
        """A reward of round ``number`` has come; "learned", "waiting", "ignored" or "late"."""
        if not self._awaits[number - 1]:
            return "ignored"
        if number in self._settled:
            return "late"
        self._early[number] = reward
        if self.window is not None or self._unsaid(number):
            return "waiting"
        self._end(number)
        return "learned"

    def teach(self, number: int, mean: float) -> None:
        """Round ``number`` is learned from at once, as if its mean had been its reward."""
        self._use(number, mean, learned=True)

    def played(self, number: int) -> str:
        """The action of round ``number`` was played: "played", "ignored" or "late"."""
        if not self.needs_word or not self._awaits[number - 1]:
            return "ignored"
        if number in self._settled:
            return "late"
        self._said.add(number)
        if self.window is None and number in self._early:
            self._end(number)
        return "played"

    def close(self, number: int) -> None:
        """No reward of round ``number`` will come any more."""
        if not self._awaits[number - 1] or number in self._settled or number in self._closed:
            return
        self._closed.add(number)
        if self.window is None:
            self._end(number)

    def fall_back(self, number: int, in_s: bool, awaits: bool) -> str:
        """The baseline was played in round ``number``, which is in S or awaits a reward or not."""
        entry = number - 1
        if number in self._settled:
            return "late"
        self._action[entry] = self._baseline[entry]
        self._features[entry] = self._baseline_features[entry]
        self._in_s[entry] = in_s
        self._awaits[entry] = awaits
        self._fallen.add(number)
        return "baseline"

    def choose(self, number: int) -> str:
        """The caller chose the baseline for the user of round ``number``, which stays in S."""
        if number in self._settled:
            return "late"
        self._chosen.add(number)
        return "choice"

    def start(self, time: int) -> None:
        """The start of round ``time``: close the rounds whose window has ended, in their order."""
        if self.window is None:
            return
        for number in range(1, time - self.window + 1):
            if number not in self._settled and self._awaits[number - 1]:
                self._end(number)

    def _unsaid(self, number: int) -> bool:
        """Whether round ``number`` lacks the word that it was played."""
        return self.needs_word and number not in self._said | self._fallen | self._chosen

    def _end(self, number: int) -> None:
        """Round ``number`` closes."""
        reward = self._early.get(number)
        self._settled.add(number)
        if number in self._chosen:
            self._use(number, 0.0 if reward is None else reward, learned=False)
        elif self._unsaid(number):
            return
        elif reward is not None or self.default is not None:
            self._use(number, self.default if reward is None else reward, learned=True)
        elif self.edition == 2 and self._in_s[number - 1]:
            self._use(number, 0.0, learned=False)

    def _use(self, number: int, reward: float | None, learned: bool) -> None:
        assert reward is not None
        self._settled.add(number)
        self._learned[number - 1] = learned
        self._earned[number - 1] = True
        self._reward[number - 1] = reward
        self._taken.append(number - 1)

    @property
    def learned(self) -> Flags:
        """Rounds with a reward in the estimator."""
        return self._learned[: self.length]

    @property
    def earned(self) -> Flags:
        """Rounds of S with a reward among those summed."""
        return self.in_s & self._earned[: self.length]

    @property
    def in_s(self) -> Flags:
        """S, the rounds in which the baseline was not played; all rounds where there is none."""
        return self._in_s[: self.length]

    @property
    def pending(self) -> Flags:
        """Rounds of S without a reward among those summed."""
        return self.in_s & ~self.earned

    @property
    def counted(self) -> Flags:
        """Rounds of S in N_k and x: not those summed as 0, nor those not confirmed."""
        if self.confirm:
            return self.in_s & self.learned
        return self.in_s & (self.learned | ~self.earned)

    @property
    def promises(self) -> Floats:
        """max(lower, 0) of every round, or 0 where it has to be confirmed.

        In edition 1 no more than mu_b there (of an interval its lower end).
        """
        mine = np.maximum(self.lowers, 0.0)
        if not self.confirm:
            return mine
        return np.minimum(mine, self.baseline_los) if self.edition == 1 else np.zeros(self.length)

    @property
    def counts_now(self) -> bool:
        """Whether the action at hand counts what it earns at least: not if it may get lost.

        Edition 1 counted it.
        """
        return not self.confirm or self.edition == 1

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
        """The reward of every round, nan where none is summed or learned."""
        return self._reward[: self.length]

    @property
    def lowers(self) -> Floats:
        """The lower bound of every round's action when it was chosen."""
        return self._lower[: self.length]

    @property
    def taken(self) -> list[float]:
        """The summed rewards of S, in the order in which they were taken in."""
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
