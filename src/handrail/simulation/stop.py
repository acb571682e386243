"""Telling compiled code to stop."""

from __future__ import annotations

import threading

import numpy as np

__all__ = ["Interrupted", "Stop"]


class Interrupted(Exception):
    """Raised by a task that was told to stop; it leaves nothing behind."""


class Stop(threading.Event):
    """An event that compiled code can look at too.

    Attributes
    ----------
    flag : numpy.ndarray
        One number, 0 until the event is set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flag = np.zeros(1, np.int64)

    def set(self) -> None:
        """Set the event and the number."""
        self.flag[0] = 1
        super().set()
