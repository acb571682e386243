"""Looking up names without waiting longer than there is time.

A lookup cannot be interrupted, so it has a thread of its own: the caller stops waiting at the
deadline, the thread ends when the system gives up. All who ask for a name meanwhile share it, so
that a resolver that hangs holds one thread, and none of the application's.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Found", "Lookups"]

Found: TypeAlias = list[str] | OSError
"""The addresses of a host, in the system's order, or why there are none."""


@dataclass(slots=True, eq=False)
class _Lookup:
    """Who waits for a name, and whether a thread looks it up."""

    tell: list[Callable[[Found], object]] = field(default_factory=list)
    begun: bool = False


class Lookups:
    """Looks up names, one thread for each name at a time."""

    def __init__(self) -> None:
        self._running: dict[str, _Lookup] = {}
        self._lock = threading.Lock()

    def start(self, host: str, tell: Callable[[Found], object]) -> None:
        """Have a host's addresses told once they are known, now or from another thread."""
        if _is_address(host):
            tell([host])
            return
        with self._lock:
            lookup = self._running.setdefault(host, _Lookup())
            lookup.tell.append(tell)
        # Its thread says that it has begun: who is interrupted here may not have started it.
        if lookup.begun:
            return
        thread = threading.Thread(
            target=self._look_up, args=(host, lookup), daemon=True, name="handrail-lookup"
        )
        try:
            thread.start()
        except RuntimeError as error:  # no more threads
            self._end(host, lookup, OSError(str(error)))

    def _look_up(self, host: str, lookup: _Lookup) -> None:
        with self._lock:
            if lookup.begun:
                return
            lookup.begun = True
        try:
            entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except Exception as error:
            found: Found = error if isinstance(error, OSError) else OSError(str(error))
        else:
            found = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        self._end(host, lookup, found)

    def _end(self, host: str, lookup: _Lookup, found: Found) -> None:
        with self._lock:
            if self._running.get(host) is lookup:
                del self._running[host]
            waiting, lookup.tell = lookup.tell, []  # two threads may come to an end of it
        for tell in waiting:
            tell(found)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
