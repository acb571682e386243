"""What a log adds up to, in plain Python and without the ledger's code: to compare with it.

Sums are exact: a list of floats whose exact sum is the sum of all that was added (Shewchuk's
partial sums, as `math.fsum` has them inside), rounded once when they are asked for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from handrail.errors import InputError
from handrail.service.events import Closed, Decided, Event, FellBack, Rewarded, SaidPlayed

__all__ = ["ExactSum", "Tally"]


class ExactSum:
    """A running sum without rounding, in little room.

    Examples
    --------
    >>> total = ExactSum()
    >>> for value in (1e100, 1.0, -1e100):
    ...     total.add(value)
    >>> total.value
    1.0
    """

    def __init__(self) -> None:
        self._partials: list[float] = []

    def add(self, value: float) -> None:
        """Add a finite number."""
        kept = 0
        for other in self._partials:
            large, small = (value, other) if abs(value) >= abs(other) else (other, value)
            value = large + small
            rest = small - (value - large)
            if rest:
                self._partials[kept] = rest
                kept += 1
        self._partials[kept:] = [value]

    @property
    def value(self) -> float:
        """The sum, rounded once."""
        return math.fsum(self._partials)


class _Waiting(NamedTuple):
    """A round whose reward may still come; numbers in inner units."""

    held: bool
    floor: float
    mean: float
    promise: float
    known: bool
    """Whether it is known which action the baseline was, to those to whom it is one of many."""
    reward: float | None = None
    fallen: bool = False
    chosen: bool = False
    """Whether the caller chose the baseline, and the round stays one of S."""
    said: bool = False
    """Whether the action was said to be played."""


class Tally:
    """Counts and sums of a log, in units where means lie in [0, 1].

    Parameters
    ----------
    low, scale : float
        What a reward of 0 and one of 1 are in the user's units: low and low + scale.
    conservative : bool
        Whether the algorithm promises anything: if not, all its rounds are plays.
    learns_baseline : bool
        Whether baseline rounds await a reward.
    window : int or None
        After how many rounds a round is settled.
    default : float or None
        The reward of rounds whose reward never comes, in the user's units.
    fixed : bool
        Whether the actions are the same in all rounds.
    baseline_known : bool
        Whether the baseline is known where a round does not name it.
    edition : int
        Of the rules: in edition 1 a round without a reward keeps its promise.
    needs_word : bool
        Whether a round counts only if its action was said to be played.
    one_mean : bool
        Whether one mean of the baseline stands for all rounds.

    Attributes
    ----------
    rounds, plays, rewards, lessons, fallbacks, closed : int
        Decided rounds; those of an action other than the baseline; their rewards that count; those
        of baseline rounds; reports of the baseline in place of the decision; rounds given up.
    missed, missing, lost, choices : int
        Rewards that count and teach nothing; those of them that never came; rounds never said to be
        played; reports that the baseline was chosen.
    spared, forgone, reward, lesson, promised, waived : ExactSum
        The least the baseline earned in its own rounds, the most it would have in the others, the
        rewards of plays and of baseline rounds, and the promises of plays that wait or were given
        up.
    least, most : ExactSum
        What the baseline would have earned in all rounds, at least and at most.
    """

    def __init__(
        self,
        low: float,
        scale: float,
        conservative: bool,
        learns_baseline: bool,
        window: int | None,
        default: float | None,
        fixed: bool,
        baseline_known: bool,
        edition: int,
        needs_word: bool,
        one_mean: bool,
    ) -> None:
        self._low, self._scale = low, scale
        self._conservative = conservative
        self._learns_baseline = learns_baseline
        self._window = window
        self._default = None if default is None else self._inward(default)
        self._fixed, self._baseline_known = fixed, baseline_known
        self._edition, self._needs_word, self._one_mean = edition, needs_word, one_mean
        self._open: dict[int, _Waiting] = {}
        self.rounds = self.plays = self.rewards = self.lessons = 0
        self.fallbacks = self.closed = 0
        self.missed = self.missing = self.lost = self.choices = 0
        self.spared, self.forgone = ExactSum(), ExactSum()
        self.reward, self.lesson = ExactSum(), ExactSum()
        self.promised, self.waived = ExactSum(), ExactSum()
        self.least, self.most = ExactSum(), ExactSum()

    def _inward(self, value: float) -> float:
        return (value - self._low) / self._scale

    @property
    def pending(self) -> int:
        """How many plays wait for their reward."""
        return sum(not each.held for each in self._open.values())

    @property
    def waiting(self) -> int:
        """How many baseline rounds wait for theirs."""
        return sum(each.held for each in self._open.values())

    def take(self, event: Event) -> None:
        """Count an event; InputError if it cannot follow what was counted before."""
        match event:
            case Decided():
                self._decide(event)
            case Rewarded():
                self._reward(event)
            case SaidPlayed():
                self._say_played(event)
            case FellBack():
                self._fall_back(event)
            case Closed():
                self._close(event)

    def _decide(self, event: Decided) -> None:
        if event.round != self.rounds + 1:
            raise InputError("round", f"{event.round} does not follow round {self.rounds}")
        if self._window is not None:
            # The window of round i ends when round i + window is decided.
            while self._open and (first := next(iter(self._open))) <= event.round - self._window:
                self._settle(first, self._open[first].reward)
        held = event.event == "baseline" and self._conservative
        self.rounds += 1
        self.least.add(event.floor)
        self.most.add(event.mean)
        if held:
            self.spared.add(event.floor)
        else:
            self.plays += 1
            self.forgone.add(event.mean)
            self.promised.add(event.promise)
        if not held or self._learns_baseline:
            known = self._fixed and (self._baseline_known or event.baseline is not None)
            self._open[event.round] = _Waiting(held, event.floor, event.mean, event.promise, known)

    def _found(self, number: int) -> _Waiting:
        if number > self.rounds or number < 1:
            raise InputError("round", f"{number} was not decided")
        found = self._open.get(number)
        if found is None:
            raise InputError("round", f"{number} awaits no reward, or had one before")
        return found

    def _awaits_word(self, found: _Waiting) -> bool:
        return self._needs_word and not (found.said or found.fallen or found.chosen)

    def _say_played(self, event: SaidPlayed) -> None:
        found = self._found(event.round)
        if not self._needs_word or found.fallen or found.chosen or found.said:
            raise InputError("round", f"{event.round} was not to be said to be played")
        self._open[event.round] = found._replace(said=True)
        if self._window is None and found.reward is not None:
            self._settle(event.round, found.reward)

    def _reward(self, event: Rewarded) -> None:
        found = self._found(event.round)
        reward = self._inward(event.reward)
        if self._window is None and not self._awaits_word(found):
            self._settle(event.round, reward)
        elif found.reward is not None:
            raise InputError("round", f"{event.round} had a reward before")
        else:
            self._open[event.round] = found._replace(reward=reward)

    def _fall_back(self, event: FellBack) -> None:
        found = self._found(event.round)
        if found.held or found.fallen or found.chosen:
            raise InputError("round", f"{event.round} was a baseline round before")
        if found.reward is not None:
            raise InputError("round", f"{event.round} was confirmed by a reward")
        self.fallbacks += 1
        if not self._conservative:
            # The baseline is an action like any other: its reward is awaited, if it is known.
            self._open[event.round] = found._replace(fallen=True)
            if self._needs_word or not found.known:
                self._settle(event.round, None, given_up=True)
            return
        self.promised.add(-found.promise)
        if event.because == "choice" and self._one_mean:
            self.choices += 1
            self._open[event.round] = found._replace(promise=0.0, chosen=True)
            return
        self.plays -= 1
        self.forgone.add(-found.mean)
        self.spared.add(found.floor)
        if self._learns_baseline and not self._needs_word:
            self._open[event.round] = found._replace(held=True, fallen=True)
        else:
            del self._open[event.round]

    def _close(self, event: Closed) -> None:
        self._found(event.round)
        self.closed += 1
        if self._window is None:  # else it is settled when its window closes
            self._settle(event.round, None)

    def _settle(self, number: int, reward: float | None, *, given_up: bool = False) -> None:
        """End a round: with its reward, the default, or none."""
        found = self._open.pop(number)
        lost = self._awaits_word(found)
        came = reward is not None
        if lost:
            self.lost += 1
            reward = None
        elif not came and not given_up and not found.chosen:
            reward = self._default
        if not found.held:
            self.promised.add(-found.promise)
        if found.held:
            if reward is not None:
                self.lessons += 1
                self.lesson.add(reward)
            return
        counts = self._conservative and (self._edition > 1 or found.chosen)
        if reward is None and (lost or given_up or not counts):
            self.waived.add(found.promise)
            return
        if reward is None or found.chosen:
            self.missed += 1
            self.missing += not came
        self.rewards += 1
        self.reward.add(0.0 if reward is None else reward)
