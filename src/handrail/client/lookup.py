"""Looking up names without waiting longer than there is time.

A lookup cannot be interrupted, so it has a thread of its own: the caller stops waiting at the
deadline, the thread ends when the system gives up. All who ask for a name meanwhile share it, so
that a resolver that hangs holds one thread, and none of the application's.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from concurrent.futures import Future

__all__ = ["Lookups"]


class Lookups:
    """Looks up names, one thread for each name at a time."""

    def __init__(self) -> None:
        self._running: dict[str, Future[list[str]]] = {}
        self._lock = threading.Lock()

    def start(self, host: str) -> Future[list[str]]:
        """Return the addresses of a host, in the system's order, once they are known."""
        found: Future[list[str]] = Future()
        if _is_address(host):
            found.set_result([host])
            return found
        with self._lock:
            if host in self._running:
                return self._running[host]
            self._running[host] = found
            found.set_running_or_notify_cancel()  # one who gives up takes it from no other
        thread = threading.Thread(
            target=self._look_up, args=(host, found), daemon=True, name="handrail-lookup"
        )
        try:
            thread.start()
        except RuntimeError as error:  # no more threads
            self._end(host)
            found.set_exception(OSError(str(error)))
        return found

    def _look_up(self, host: str, found: Future[list[str]]) -> None:
        try:
            entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except Exception as error:
            self._end(host)
            found.set_exception(error if isinstance(error, OSError) else OSError(str(error)))
        else:
            self._end(host)
            found.set_result(list(dict.fromkeys(str(entry[4][0]) for entry in entries)))

    def _end(self, host: str) -> None:
        with self._lock:
            del self._running[host]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
