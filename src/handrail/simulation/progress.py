"""How far a run is: share done, rounds per second, time left.

Rounds of one kind may cost hundreds of times those of another, so shares and times are weighed by
what a round of each kind costs: at first a guess, then what was measured.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TextIO

from handrail.extras import need_extra

__all__ = ["Progress"]

_SECONDS_A_ROUND: Final = {
    "arms": 5e-9,
    "arms-plain": 170e-9,
    "fixed": 80e-9,
    "fixed-plain": 500e-9,
    "contexts": 3e-6,
    "proposals": 10e-6,
}
_OTHER_SECONDS_A_ROUND: Final = 1e-6
_WINDOW: Final = 30.0
"""Rounds per second are those of the latest seconds, this many."""
_BAR_EVERY: Final = 0.1
_LINE_EVERY: Final = 10.0
_TEXT_WIDTH: Final = 66
"""Room for the longest text, so that the bar behind it stays where it is."""


class Progress:
    """Tells on a stream how far a run is: a bar on a terminal, else a plain line now and then.

    Whoever makes it closes it, best by ``with``; `run` does the rest. Not for several threads.

    Parameters
    ----------
    total : mapping of str to int
        The rounds of each kind, all tasks together.
    stream : text stream, optional
        Where it is told; standard error by default. When it can no longer be written to, the
        rest is silence.
    clock : callable, optional
        Returns the time in seconds.
    """

    def __init__(
        self,
        total: Mapping[str, int],
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._work = _Work(total)
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._computed = 0
        self._started: float | None = None
        self._told = 0.0
        self._counted = 0.0
        self._share = 0.0
        self._recent: deque[tuple[float, int]] = deque()
        self._bar: Any = None
        self._live = self._stream is not None and self._stream.isatty()
        if self._live:
            need_extra("tqdm", "simulation")  # said before anything is computed

    def start(self, workers: int, found: Mapping[str, int]) -> None:
        """Begin: the clock runs from now.

        Parameters
        ----------
        workers : int
            How many tasks are computed at a time.
        found : mapping of str to int
            The rounds of each kind that need no computing; they count as done.
        """
        for kind, rounds in found.items():
            self._work.found(kind, rounds)
        self._work.workers = workers
        now = self._clock()
        if self._started is None:
            self._started = now
            if self._live:
                self._bar = _new_bar(self._stream)
        self._told = self._counted = now
        self._recent.append((now, self._computed))
        if self._bar is not None:
            self._tell(now)

    def staff(self, workers: int) -> None:
        """Take note of how many tasks are computed at a time by now."""
        self._work.workers = workers

    def say(self, text: str) -> None:
        """Tell something else, on a line of its own."""
        try:
            if self._bar is not None:
                self._bar.clear()
            if self._stream is not None:
                self._stream.write(f"{text}\n")
                self._stream.flush()
        except (OSError, ValueError):
            self._stream = None
        if self._bar is not None:
            self._tell(self._clock())

    def done(self, kind: str, rounds: int, seconds: float) -> None:
        """Count a finished task, which took one worker so many seconds."""
        self._work.done(kind, rounds, seconds)
        self._computed += rounds
        now = self._counted = self._clock()
        self._recent.append((now, self._computed))
        self.tick()

    def tick(self) -> None:
        """Tell how far it is, if it was not told just now."""
        now = self._clock()
        if now - self._told >= (_LINE_EVERY if self._bar is None else _BAR_EVERY):
            self._tell(now)

    def close(self) -> None:
        """Tell how it ended; a second time does nothing."""
        if self._started is None or self._stream is None:
            return
        self._tell(self._clock())
        self._stream = None
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _tell(self, now: float) -> None:
        self._told = now
        self._share = max(self._share, self._work.share())  # the costs move, the bar never back
        try:
            if self._bar is not None:
                self._bar.n = self._share
                self._bar.set_description_str(self._text(now).ljust(_TEXT_WIDTH))
            elif self._stream is not None:
                self._stream.write(f"{self._text(now)}\n")
                self._stream.flush()
        except (OSError, ValueError):  # a terminal that went away is no reason to stop computing
            self._stream = None

    def _text(self, now: float) -> str:
        whole = self._work.left == 0
        percent = 100 if whole else min(99, int(100.0 * self._share))
        total = self._work.total
        parts = [f"{percent:4d} %", f"{total - self._work.left:.1e} of {total:.1e} rounds"]
        rate = self._rate(now, latest=not whole)
        if rate > 0.0:
            parts.append(f"{rate:.1e} rounds/s")
        if whole:
            parts.append(f"in {_time(now - (self._started or 0.0))}")
        else:
            # What is being computed has come on since the last task was counted.
            seconds = self._work.seconds_left() - (now - self._counted)
            parts.append(f"{_time(max(seconds, 1.0))} left")
        return "  ".join(parts)

    def _rate(self, now: float, *, latest: bool) -> float:
        """Return the rounds per second, lately or from the start; without those found."""
        while len(self._recent) > 1 and self._recent[1][0] <= now - _WINDOW:
            self._recent.popleft()
        since, before = self._recent[0] if latest else (self._started or 0.0, 0)
        return (self._computed - before) / (now - since) if now > since else 0.0


@dataclass
class _Kind:
    """The rounds of one kind."""

    total: int
    guess: float
    left: int
    tasks: int = 0
    rounds: int = 0
    """Rounds measured, and the seconds they took."""
    seconds: float = 0.0


class _Work:
    """What is done and left to do, in seconds of work."""

    def __init__(self, total: Mapping[str, int]) -> None:
        self._kinds = {
            kind: _Kind(rounds, _SECONDS_A_ROUND.get(kind, _OTHER_SECONDS_A_ROUND), rounds)
            for kind, rounds in total.items()
        }
        self.workers = 1
        self.total = sum(total.values())

    @property
    def left(self) -> int:
        return sum(kind.left for kind in self._kinds.values())

    def found(self, name: str, rounds: int) -> None:
        self._kinds[name].left -= rounds

    def done(self, name: str, rounds: int, seconds: float) -> None:
        kind = self._kinds[name]
        kind.left -= rounds
        kind.tasks += 1
        # Every worker's first task of a kind may have waited for the compiler.
        if kind.tasks > self.workers:
            kind.rounds += rounds
            kind.seconds += seconds

    def share(self) -> float:
        """Return the share of all work that is done."""
        costs = self._costs()
        total = sum(costs[name] * kind.total for name, kind in self._kinds.items())
        left = sum(costs[name] * kind.left for name, kind in self._kinds.items())
        return 1.0 - left / total if total > 0.0 else 1.0

    def seconds_left(self) -> float:
        """Return the seconds until all is done, if all workers stay busy."""
        costs = self._costs()
        left = sum(costs[name] * kind.left for name, kind in self._kinds.items())
        return left / self.workers

    def _costs(self) -> dict[str, float]:
        """Return the seconds a round of each kind takes one worker."""
        measured = [kind for kind in self._kinds.values() if kind.seconds > 0.0]
        guessed = sum(kind.guess * kind.rounds for kind in measured)
        # How slow this machine is tells something of the kinds not measured yet.
        slowness = sum(kind.seconds for kind in measured) / guessed if guessed > 0.0 else 1.0
        return {
            name: kind.seconds / kind.rounds
            if kind.seconds > 0.0 and kind.rounds > 0
            else kind.guess * slowness
            for name, kind in self._kinds.items()
        }


def _new_bar(stream: TextIO) -> Any:
    """Return a bar from 0 to 1 behind a text."""
    tqdm = need_extra("tqdm", "simulation")
    # It is told when to draw: no thread of its own has to see to that.
    kind = type("Bar", (tqdm.tqdm,), {"monitor_interval": 0})
    return kind(total=1.0, file=stream, dynamic_ncols=True, bar_format="{desc} {bar}")


def _time(seconds: float) -> str:
    """Return a time as mm:ss, h:mm:ss or days."""
    whole = round(seconds)
    if whole >= 48 * 3600:
        return f"{seconds / 86400:.1f} days"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes:02d}:{rest:02d}"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
