"""A circuit breaker: a service that is away is not waited for on every page."""

from __future__ import annotations

import threading

__all__ = ["Breaker"]


class Breaker:
    """Rests after several failures in a row, then lets one request through at a time.

    Parameters
    ----------
    failures : int
        Failures in a row after which it rests.
    rest : float
        Seconds of rest, and between two trials after it.

    Notes
    -----
    The one that is let through after a rest extends the rest: the others go on falling back until
    its answer comes, and a trial whose answer never comes blocks nothing.

    Examples
    --------
    >>> breaker = Breaker(failures=2, rest=5.0)
    >>> breaker.failed(now=0.0), breaker.allows(now=0.0)
    (False, True)
    >>> breaker.failed(now=0.0), breaker.allows(now=1.0)
    (True, False)
    >>> breaker.allows(now=5.0), breaker.allows(now=5.0)
    (True, False)
    >>> breaker.succeeded()
    >>> breaker.allows(now=5.0)
    True
    """

    def __init__(self, failures: int, rest: float) -> None:
        self._limit = failures
        self._rest = rest
        self._failures = 0
        self._until: float | None = None
        self._lock = threading.Lock()

    @property
    def resting(self) -> bool:
        """Whether requests are held back, but for trials."""
        return self._until is not None

    def allows(self, now: float) -> bool:
        """Return whether a request may go out now."""
        if self._until is None:
            return True
        with self._lock:
            if self._until is None:
                return True
            if now < self._until:
                return False
            self._until = now + self._rest
            return True

    def succeeded(self) -> None:
        """Take note of an answer."""
        if self._failures or self._until is not None:
            with self._lock:
                self._failures = 0
                self._until = None

    def failed(self, now: float) -> bool:
        """Take note of a failure; return whether a rest begins with it."""
        with self._lock:
            self._failures += 1
            if self._failures < self._limit:
                return False
            begins = self._until is None
            self._until = now + self._rest
            return begins
