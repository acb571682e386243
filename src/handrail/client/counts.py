"""What happened, counted; and warnings, said once a minute."""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from handrail.client.steps import Cause

__all__ = ["LOGGER", "Counts", "Tally"]

LOGGER: Final = logging.getLogger("handrail.client")

_EVERY: Final = 60.0
"""Seconds between two warnings of the same kind."""
_KINDS: Final = 1_000
"""Kinds of warnings remembered."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a client did since it was made.

    Attributes
    ----------
    decisions : int
        Rounds that were asked for.
    fallbacks : mapping
        Rounds that fell back, by cause: "unreachable", "timeout", "broken" (a connection),
        "refused" (3xx, 4xx), "failed" (5xx), "unreadable", "resting" (held back after failures),
        "input".
    unreported : int
        Fallbacks that wait to be reported.
    reported : int
        Fallbacks the service was told of.
    forgotten : int
        Fallbacks that were given up: too many, too old, or refused. Their rounds stay unconfirmed.
    played_unsaid : int
        Answers handed out that wait to be said to be played, where the service asks for it.
    played_said : int
        Answers the service was told are played.
    played_forgotten : int
        Answers that were given up likewise. Their rounds count nothing.
    """

    decisions: int
    fallbacks: Mapping[Cause, int]
    unreported: int
    reported: int
    forgotten: int
    played_unsaid: int
    played_said: int
    played_forgotten: int


class Tally:
    """Counts and warns; calls from several threads are fine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decisions = 0
        self._fallbacks: Counter[Cause] = Counter()
        self._warned: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def decided(self, rounds: int) -> None:
        """Count rounds that were asked for."""
        with self._lock:
            self._decisions += rounds

    def fell_back(self, cause: Cause, rounds: int) -> None:
        """Count rounds that fell back."""
        with self._lock:
            self._fallbacks[cause] += rounds

    def rounds(self) -> tuple[int, dict[Cause, int]]:
        """Return the rounds that were asked for, and those that fell back, by cause."""
        with self._lock:
            return self._decisions, dict(self._fallbacks)

    def warn(self, kind: str, policy: str, message: str, now: float) -> None:
        """Log a warning, unless one of its kind was logged within the last minute."""
        with self._lock:
            last, held = self._warned.pop((kind, policy), (now - _EVERY, 0))
            quiet = now - last < _EVERY
            self._warned[kind, policy] = (last, held + 1) if quiet else (now, 0)
            if len(self._warned) > _KINDS:
                self._warned.popitem(last=False)
        if not quiet:
            more = f" ({held} more since the last warning)" if held else ""
            LOGGER.warning("policy %s: %s%s", policy, message, more)
