"""How much of the machine others took while something was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["Others", "ticks"]


class Others:
    """Counts the processors' time from now on; knows nothing where there is no /proc.

    Parameters
    ----------
    processes : iterable of int
        Those that are measured, besides this one; they have to be there until `share` is called.
    """

    def __init__(self, processes: Iterable[int]) -> None:
        self._processes = list(processes)
        self._start = time.perf_counter()
        self._before = self._ticks()

    def _ticks(self) -> int | None:
        """Return the ticks of all processes but those that are measured."""
        try:
            whole = [
                int(each) for each in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
            ]
            ours = sum(map(ticks, [*self._processes, os.getpid()]))
        except OSError:
            return None
        idle, waiting = whole[3:5]
        return sum(whole) - idle - waiting - ours

    def share(self) -> float | None:
        """Return the share of the processors' time that others took."""
        now = self._ticks()
        if now is None or self._before is None:
            return None
        seconds = (now - self._before) / os.sysconf("SC_CLK_TCK")
        return max(0.0, seconds / (time.perf_counter() - self._start) / (os.cpu_count() or 1))


def ticks(process: int) -> int:
    """Return the processors' time that a process took so far, in the system's ticks."""
    # The name of a process may have blanks and brackets in it; what follows has neither.
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
