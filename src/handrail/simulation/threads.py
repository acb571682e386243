"""The cores of this machine: each computes one task at a time, in a thread."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from handrail.checks import whole
from handrail.simulation.crew import Event, Finished, Task, name_block
from handrail.simulation.stop import Interrupted, Stop
from handrail.simulation.store import Store

__all__ = ["TICK", "Threads", "cores"]

TICK: Final = 0.1
"""Seconds the calling thread waits at a time: on some systems Ctrl-C cannot end a wait."""


def cores() -> int:
    """Return how many cores this process may use.

    Returns
    -------
    int
        At least 1.
    """
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


class Threads:
    """A crew of threads in this process; a second Ctrl-C does not wait for slow ones.

    Parameters
    ----------
    workers : int, optional
        How many tasks are computed at a time; the cores this process may use by default.

    Raises
    ------
    InputError
        The number of workers is not one.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers: Final = cores() if workers is None else whole("workers", workers, most=10_000)

    @contextmanager
    def work(self, tasks: Sequence[Task], store: Store) -> Iterator[Iterator[Event]]:
        """Compute and store tasks: see `Crew`."""
        threads = _Running(tasks, store, self.workers)
        try:
            yield threads.reports()
        finally:
            threads.stop()


@dataclass(frozen=True)
class _Failed:
    """A task that could not be computed or stored."""

    error: BaseException


class _Running:
    """Threads that compute and store tasks until they are told to stop."""

    def __init__(self, tasks: Sequence[Task], store: Store, workers: int) -> None:
        self._tasks = deque(tasks)
        self._count = len(tasks)
        self._store = store
        self._stop = Stop()
        self._reports: queue.SimpleQueue[Finished | _Failed] = queue.SimpleQueue()
        # Daemons, so that a task which does not stop cannot keep the process alive.
        self._threads = [
            threading.Thread(target=self._work, name=f"handrail-{number}", daemon=True)
            for number in range(min(workers, len(tasks)))
        ]

    def stop(self) -> None:
        """Stop the threads and wait for them."""
        self._stop.set()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(TICK)

    def reports(self) -> Iterator[Event]:
        """Start; yield each task once it is stored, and None now and then; raise its error."""
        for thread in self._threads:
            thread.start()
        waiting = self._count
        while waiting:
            try:
                report = self._reports.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            if isinstance(report, _Failed):
                raise report.error
            waiting -= 1
            yield report

    def _work(self) -> None:
        """Compute and store tasks, in a thread, until there are none or it is told to stop."""
        while not self._stop.is_set():
            try:
                task = self._tasks.popleft()
            except IndexError:
                return
            begin = time.perf_counter()
            try:
                # Stored here, in a thread that no Ctrl-C reaches.
                self._store.put(task.key, task.compute(self._stop))
            except BaseException as error:
                if isinstance(error, Interrupted) and self._stop.is_set():
                    return
                name_block(error, task)
                self._stop.set()
                self._reports.put(_Failed(error))
                return
            self._reports.put(Finished(task, time.perf_counter() - begin))
