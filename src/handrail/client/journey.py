"""One request under way: when it must be over, and whether any of it has left."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar
from typing import Final

__all__ = ["JOURNEY", "Journey"]


class Journey:
    """What the network must know of a request; the thread or task that carries it sets it.

    Parameters
    ----------
    deadline : float
        When it must be over, on the clock that never goes back.

    Attributes
    ----------
    sent : bool
        Whether any of the request may have reached the service.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.sent = False

    def left(self, late: type[Exception]) -> float:
        """Return the seconds that are left; raise if there are none."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise late("the time is over")
        return min(seconds, threading.TIMEOUT_MAX)


JOURNEY: Final[ContextVar[Journey]] = ContextVar("handrail-journey")
"""The request that this thread or task carries."""
