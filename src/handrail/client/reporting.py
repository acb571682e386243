"""Reports in the background: a thread that is there only while there is something to tell."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from handrail.client.core import Core
from handrail.client.counts import LOGGER

__all__ = ["AsyncReporter", "Reporter"]


class Reporter:
    """Tells the service of fallbacks, and of what was played, from a daemon thread.

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
        # No Condition and no Event: they are written in Python, where the handler of a signal that
        # raises leaves their locks taken. Queues and locks that are written in C have no such gaps.
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._until = -math.inf  # when the thread looks again by itself
        self._sooner: SimpleQueue[None] = SimpleQueue()
        self._flushing: set[SimpleQueue[None]] = set()
        self._closed = False

    def wake(self) -> None:
        """Take up what was added; never blocks for long and never raises."""
        if self._core.busy() or self._flushing:
            self._ensure()
            self._told()  # what they wait for may have gone with the call that ends here

    def _ensure(self) -> bool:
        """Have a thread that is in time for what is due next; return whether there is one."""
        with self._lock:
            return self._in_time()

    def _in_time(self) -> bool:
        wait = self._core.wait()
        if wait is None:
            return True
        if self._thread is not None:
            if self._core.clock() + wait < self._until:
                self._sooner.put(None)
                self._until = -math.inf
        elif not self._closed:
            thread = threading.Thread(target=self._work, name="handrail-reports", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads: the next call tries again
                LOGGER.warning("nothing can be reported now: %s", error)
            else:
                self._thread = thread
        return self._thread is not None

    def _told(self) -> None:
        """Let those who flush look again."""
        for each in tuple(self._flushing):
            each.put(None)

    def flush(self, timeout: float) -> bool:
        """Wait until everything is told; return whether it is."""
        end = time.monotonic() + timeout
        self._core.hurry()
        told: SimpleQueue[None] = SimpleQueue()
        try:
            self._flushing.add(told)
            while self._core.untold():
                left = end - time.monotonic()
                if left <= 0 or not self._ensure():
                    return False
                with suppress(Empty):
                    told.get(timeout=min(left, threading.TIMEOUT_MAX))
        finally:
            self._flushing.discard(told)
        return True

    def close(self) -> None:
        """Let the thread end after the report it is at."""
        self._closed = True
        self._sooner.put(None)
        self._told()

    def _work(self) -> None:
        me = threading.current_thread()
        with self._lock:
            if self._thread is None:  # the call that started it was interrupted
                self._thread = me
            elif self._thread is not me:
                return
        while True:
            with self._lock:
                wait = self._core.wait()
                if wait is None or self._closed:
                    self._thread = None
                    break
                self._until = self._core.clock() + wait if wait > 0 else -math.inf
            if wait > 0:
                with suppress(Empty):
                    self._sooner.get(timeout=min(wait, threading.TIMEOUT_MAX))
                continue
            try:
                self._send()
            except Exception as error:  # the thread goes on with the next
                LOGGER.warning("a report could not be sent: %s", error)
        self._told()


class AsyncReporter:
    """Tells the service of fallbacks, and of what was played, from a task.

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
        self._until = -math.inf  # when the task looks again by itself
        self._sooner = asyncio.Event()
        self._told = asyncio.Event()
        self._closed = False

    def wake(self) -> None:
        """Take up what was added; never raises."""
        self._told.set()
        wait = self._core.wait() if self._core.busy() and not self._closed else None
        if wait is None:
            return
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="handrail-reports")
        elif self._core.clock() + wait < self._until:
            self._sooner.set()

    async def flush(self, timeout: float) -> bool:
        """Wait until everything is told; return whether it is."""
        self._core.hurry()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self._core.untold() and not self._closed:
                    self.wake()
                    self._told.clear()
                    await self._told.wait()
        return not self._core.untold()

    async def close(self) -> None:
        """End the task."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        while (wait := self._core.wait()) is not None:
            if wait > 0:
                self._until = self._core.clock() + wait
                self._sooner.clear()
                # Not wait_for: up to Python 3.11 it drops a cancellation that meets the event.
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._sooner.wait()
                continue
            self._until = -math.inf
            try:
                await self._send()
            except Exception as error:
                LOGGER.warning("a report could not be sent: %s", error)
        self._told.set()
