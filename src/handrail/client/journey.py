"""One request under way: when it must be over, and whether any of it has left."""

from __future__ import annotations

import threading
import time

from handrail.client.steps import Failure

__all__ = ["Journey", "TooLarge"]


class TooLarge(Exception):
    """The answer is larger than any of the service's."""


class Journey:
    """What the network must know of a request.

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
        self._span = deadline - time.monotonic()

    def left(self) -> float:
        """Return the seconds that are left; raise if there are none."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return min(seconds, threading.TIMEOUT_MAX)

    def failure(self, error: Exception) -> Failure:
        """Return what an exception on the way means."""
        if isinstance(error, TimeoutError):
            if self._span <= 0:
                return Failure("timeout", "the time was over before anything was sent", sent=False)
            return Failure("timeout", f"no answer within {self._span:.3g} s", self.sent)
        if isinstance(error, TooLarge):
            return Failure("unreadable", str(error), self.sent)
        said = str(error) or type(error).__name__
        if self.sent:
            return Failure("broken", f"the connection broke: {said}", self.sent)
        return Failure("unreachable", said, self.sent)
