"""Fallbacks whose decisions may have been committed: remembered until the service knows.

A decision that was committed while the caller had given up is one the caller did not play. Its id
is not known here, its idempotency key is: the report names the key. The service answers 404 as long
as there is no decision under that key; since the request may still be on its way, 404 counts as
"there will be none" only after the service's own time limits have passed.
"""

from __future__ import annotations

import heapq
import threading
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["LIFETIME", "Pause", "Report", "Unheard", "Verdict"]

_SETTLED: Final = 30.0
"""Seconds after which a request that was given up can no longer be committed."""
LIFETIME: Final = 3_600.0
"""Seconds after which a report is given up."""
_FIRST, _LONGEST = 0.5, 30.0
"""Seconds between attempts: the first, doubled each time, at most the second."""

Verdict: TypeAlias = Literal["heard", "absent", "refused", "away"]
"""The service took it; knows no such decision; will never take it; cannot be asked now."""


@dataclass(slots=True)
class Pause:
    """Time in which a service that was away is left alone: twice as long after every failure."""

    until: float = 0.0
    _next: float = _FIRST

    def begin(self, now: float) -> None:
        """Take note of a failure."""
        self.until = now + self._next
        self._next = min(2 * self._next, _LONGEST)

    def over(self) -> None:
        """Take note of an answer."""
        self._next = _FIRST


@dataclass(slots=True)
class Report:
    """One round to be reported: the caller played the baseline."""

    policy: str
    key: str
    since: float
    asked: int = 0


class Unheard:
    """A bounded list of reports, the next one due first.

    Parameters
    ----------
    room : int
        Reports kept; beyond that the oldest is forgotten.

    Examples
    --------
    >>> unheard = Unheard(room=10)
    >>> unheard.add("shop", "k1", now=0.0)
    >>> report = unheard.take(now=0.0)
    >>> unheard.settle(report, "absent", sent=0.0, now=0.1)  # perhaps still on its way
    >>> round(unheard.wait(now=0.1), 1)
    0.5
    >>> report = unheard.take(now=31.0)
    >>> unheard.settle(report, "absent", sent=31.0, now=31.1)
    >>> unheard.wait(now=31.1) is None
    True
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Report] = {}  # in the order they came
        self._due: list[tuple[float, int, Report]] = []
        self._count = 0
        self._pause = Pause()
        self.reported = 0
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, policy: str, key: str, now: float) -> None:
        """Remember a fallback."""
        with self._lock:
            if (policy, key) in self._kept:
                return
            while len(self._kept) >= self._room:
                self._kept.pop(next(iter(self._kept)))
                self.forgotten += 1
            report = Report(policy, key, now)
            # In this order: interrupted in between, it is added again, and this entry skipped.
            self._push(now, report)
            self._kept[policy, key] = report
            if len(self._due) > 2 * self._room:  # mostly forgotten ones
                due = [entry for entry in self._due if self._current(entry[2])]
                heapq.heapify(due)
                self._due = due

    def wait(self, now: float) -> float | None:
        """Return the seconds until a report is due; None if there is none."""
        with self._lock:
            self._skip()
            if not self._due:
                return None
            return max(0.0, max(self._due[0][0], self._pause.until) - now)

    def take(self, now: float) -> Report | None:
        """Return a report that is due; it must be settled."""
        with self._lock:
            self._skip()
            if not self._due or max(self._due[0][0], self._pause.until) > now:
                return None
            return heapq.heappop(self._due)[2]

    def settle(self, report: Report, verdict: Verdict, *, sent: float, now: float) -> None:
        """Take note of what became of a report that was sent at a time."""
        with self._lock:
            if verdict == "away":
                # All of them go to the same service: none is tried before the pause is over.
                self._pause.begin(now)
            else:
                self._pause.over()
            if not self._current(report):
                return
            if verdict == "heard":
                self.reported += 1
            elif verdict == "refused" or now - report.since > LIFETIME:
                self.forgotten += 1
            elif verdict == "away" or sent - report.since < _SETTLED:
                report.asked += verdict == "absent"
                later = min(_FIRST * 2 ** max(report.asked - 1, 0), _LONGEST)
                self._push(now + later if verdict == "absent" else now, report)
                return
            del self._kept[report.policy, report.key]

    def _push(self, due: float, report: Report) -> None:
        self._count += 1
        heapq.heappush(self._due, (due, self._count, report))

    def _current(self, report: Report) -> bool:
        return self._kept.get((report.policy, report.key)) is report

    def _skip(self) -> None:
        """Drop what was forgotten in between."""
        while self._due and not self._current(self._due[0][2]):
            heapq.heappop(self._due)
