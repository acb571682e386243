"""Reports in the background: a thread that is there only while there is something to report."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from handrail.client.core import Core
from handrail.client.counts import LOGGER

__all__ = ["AsyncReporter", "Reporter"]


class Reporter:
    """Sends reports from a daemon thread.

    Parameters
    ----------
    core : Core
        The client's core.
    send : callable
        Sends what is due.
    """

    def __init__(self, core: Core, send: Callable[[], None]) -> None:
        self._core = core
        self._send = send
        self._change = threading.Condition()
        self._running = False
        self._closed = False

    def wake(self) -> None:
        """Take up what was added; never blocks for long and never raises."""
        if not len(self._core.unheard):
            return
        with self._change:
            if self._running:
                self._change.notify_all()
            elif not self._closed:
                thread = threading.Thread(target=self._work, name="handrail-reports", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # no more threads: the next fallback tries again
                    LOGGER.warning("fallbacks cannot be reported now: %s", error)
                else:
                    self._running = True

    def flush(self, timeout: float) -> bool:
        """Wait until everything is reported; return whether it is."""
        end = time.monotonic() + timeout
        self.wake()
        with self._change:
            while len(self._core.unheard):
                left = end - time.monotonic()
                if left <= 0 or not self._running:
                    return False
                self._change.wait(left)
        return True

    def close(self) -> None:
        """Let the thread end after the report it is at."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def _work(self) -> None:
        while True:
            with self._change:
                wait = self._core.unheard.wait(self._core.clock())
                if wait is None or self._closed:
                    self._running = False
                    self._change.notify_all()
                    return
                if wait > 0:
                    self._change.wait(min(wait, threading.TIMEOUT_MAX))
                    continue
            try:
                self._send()
            except Exception as error:  # the thread goes on with the next
                LOGGER.warning("a fallback could not be reported: %s", error)


class AsyncReporter:
    """Sends reports from a task.

    Parameters
    ----------
    core : Core
        The client's core.
    send : callable
        Sends what is due.
    """

    def __init__(self, core: Core, send: Callable[[], Awaitable[None]]) -> None:
        self._core = core
        self._send = send
        self._task: asyncio.Task[None] | None = None
        self._added = asyncio.Event()
        self._closed = False

    def wake(self) -> None:
        """Take up what was added; never raises."""
        if self._closed or not len(self._core.unheard):
            return
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="handrail-reports")
        else:
            self._added.set()

    async def flush(self, timeout: float) -> bool:
        """Wait until everything is reported; return whether it is."""
        self.wake()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout)
        return not len(self._core.unheard)

    async def close(self) -> None:
        """End the task."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        while (wait := self._core.unheard.wait(self._core.clock())) is not None:
            if wait > 0:
                self._added.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._added.wait(), wait)
                continue
            try:
                await self._send()
            except Exception as error:
                LOGGER.warning("a fallback could not be reported: %s", error)
