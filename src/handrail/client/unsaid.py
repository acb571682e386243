"""Answers that were handed out: which of them the service was not yet told are played.

Where a missing reward has a default, a round counts only if its action is said to be played. Word
goes with the next request to its policy, whatever that asks, and by itself if there is none soon.
It is kept until a request that carried it was answered; the service ignores what it knows. Word
that is lost for good costs what the round earned, and is safe: the round counts nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from handrail.client.unheard import LIFETIME, Pause
from handrail.service.limits import Limits

__all__ = ["HandOut", "Taken", "Unsaid"]

_LINGER: Final = 0.5
"""Seconds that word waits for a request that takes it along."""
_MOST: Final = Limits.batch
"""Words in one request: more the service does not take."""
_ALONG: Final = 100
"""Words with one request that a page waits for; each costs the service some 0.1 ms."""
_SOON: Final = 0.01
"""Seconds after which a call that is about to return is taken to have returned."""


@dataclass(slots=True, eq=False)
class HandOut:
    """What one call of decide gives its caller, of which the service is to be told.

    An exception from a signal's handler may come at any time before the caller has it. So whoever
    returns it says so last of all, in one assignment, and only then it counts.
    """

    policy: str
    given: bool | None = None
    """Whether the caller got it; None before that is known."""
    since: float = 0.0
    played: list[str] = field(default_factory=list)
    """Decisions whose answers it holds."""
    lost: list[str] = field(default_factory=list)
    """Keys of rounds whose answers were lost, and for which it holds the baseline."""

    def wait(self) -> float:
        """Return the seconds until somebody has to see what became of it."""
        return _SOON if self.lost else _LINGER


@dataclass(slots=True, eq=False)
class _Word:
    """That one answer was handed out, when, and what carries it or did so last."""

    since: float
    by: Taken | None = None

    def away(self) -> bool:
        """Return whether a request carries it."""
        return self.by is not None and not self.by.over


class Taken:
    """Words that one request carries; kept, unless it is said that they were heard or refused.

    An exception from a signal's handler may come at any time, also while words are taken or put
    back. So whoever makes one sets `over` in a `finally`, in one assignment: that puts back all.

    Parameters
    ----------
    owner : Unsaid
        Where they are kept.
    policy : str
        The policy they are about.

    Attributes
    ----------
    ids : list of str
        The decisions.
    over : bool
        Whether the request is over.
    """

    def __init__(self, owner: Unsaid, policy: str) -> None:
        self._owner = owner
        self._policy = policy
        self.ids: list[str] = []
        self.over = False

    def take(self, rounds: int = _MOST) -> None:
        """Take the oldest: a request to decide carries those of as many rounds as it asks for."""
        self._owner._take(self._policy, self, min(max(rounds, _ALONG), _MOST))

    def heard(self) -> None:
        """Take note that the service has them."""
        self._owner._settle(self._policy, self, heard=True)

    def refused(self) -> None:
        """Give them up: the service will never take them."""
        self._owner._settle(self._policy, self, heard=False)

    def away(self, now: float) -> None:
        """Take note that the service could not be told at a time: the next try waits a while."""
        self._owner._failed(self._policy, self, now)


class Unsaid:
    """A bounded list of words for each policy, the oldest first.

    Parameters
    ----------
    room : int
        Words kept for one policy; beyond that the oldest is forgotten.

    Examples
    --------
    >>> unsaid = Unsaid(room=10)
    >>> unsaid.add("shop", ["a", "b"], now=0.0)
    >>> first, second = Taken(unsaid, "shop"), Taken(unsaid, "shop")
    >>> first.take()
    >>> first.ids
    ['a', 'b']
    >>> first.over = True  # and no answer came
    >>> second.take()
    >>> second.heard()
    >>> second.over = True
    >>> len(unsaid), unsaid.said
    (0, 2)
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._kept: dict[str, dict[str, _Word]] = {}
        self._pause = Pause()
        self._hurried = float("-inf")
        self._count = 0
        self.said = 0
        self.forgotten = 0

    def __len__(self) -> int:
        """Return how many are kept, those under way among them."""
        return self._count

    def add(self, policy: str, ids: Iterable[str], now: float) -> None:
        """Remember answers that were handed out."""
        with self._lock:
            for each in ids:
                words = self._kept.setdefault(policy, {})
                if each in words:
                    continue
                word = _Word(now)
                words[each] = word  # no call until they are counted: see `_drop`
                self._count += 1
                while len(words) > self._room:
                    self._drop(policy, next(iter(words)))
                    self.forgotten += 1

    def withdraw(self, policy: str, ids: Iterable[str]) -> None:
        """Forget answers that were not played, or of which the caller said so by hand."""
        with self._lock:
            for each in ids:
                self._drop(policy, each)

    def _take(self, policy: str, taken: Taken, most: int) -> None:
        if policy not in self._kept:  # as for most policies, always
            return
        with self._lock:
            for each, word in self._kept.get(policy, {}).items():
                if len(taken.ids) == most:
                    break
                if not word.away():
                    word.by = taken
                    taken.ids.append(each)

    # -- words that no request takes along ------------------------------------------------------

    def wait(self, now: float) -> float | None:
        """Return the seconds until words are due; None if none wait."""
        with self._lock:
            first = min((at for at, _ in self._times()), default=None)
            return None if first is None else max(0.0, max(first, self._pause.until) - now)

    def due(self, now: float) -> str | None:
        """Return a policy whose words are due."""
        with self._lock:
            at, policy = min(self._times(), default=(float("inf"), None))
            return policy if max(at, self._pause.until) <= now else None

    def hurry(self, now: float) -> None:
        """Let all words be due that are here now."""
        with self._lock:
            self._hurried = now

    def _times(self) -> Iterator[tuple[float, str]]:
        """Go through the policies, and when the oldest word of each is due."""
        for policy, words in self._kept.items():
            since = next((word.since for word in words.values() if not word.away()), None)
            if since is not None:
                yield (since if since <= self._hurried else since + _LINGER), policy

    # -- what became of them --------------------------------------------------------------------

    def _settle(self, policy: str, taken: Taken, *, heard: bool) -> None:
        with self._lock:
            for each, _ in self._carried(policy, taken):
                self._drop(policy, each)
                self.said += heard
                self.forgotten += not heard
            if heard and taken.ids:
                self._pause.over()

    def _failed(self, policy: str, taken: Taken, now: float) -> None:
        with self._lock:
            self._pause.begin(now)
            for each, word in self._carried(policy, taken):
                if now - word.since > LIFETIME:
                    self._drop(policy, each)
                    self.forgotten += 1

    def _carried(self, policy: str, taken: Taken) -> list[tuple[str, _Word]]:
        """Return what a request carries, but for what was forgotten or withdrawn meanwhile."""
        words = self._kept.get(policy, {})
        found = ((each, words.get(each)) for each in taken.ids)
        return [(each, word) for each, word in found if word is not None and word.by is taken]

    def _drop(self, policy: str, each: str) -> None:
        words = self._kept.get(policy, {})
        if each in words:
            # Without a call: after one, a signal's handler may raise, and the count were wrong.
            del words[each]
            self._count -= 1
            if not words:
                del self._kept[policy]
