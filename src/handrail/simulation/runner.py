"""Run tasks on all cores: skip what is stored, store what finishes, stop when told to."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from handrail.checks import whole
from handrail.simulation.progress import Progress
from handrail.simulation.stop import Interrupted, Stop
from handrail.simulation.store import Store

__all__ = ["Task", "cores", "rounds_by_kind", "run"]

_TICK: Final = 0.1
"""Seconds the calling thread waits at a time: on some systems Ctrl-C cannot end a wait."""


@dataclass(frozen=True)
class Task:
    """A block of work whose result is kept under its key.

    Parameters
    ----------
    key : str
        Names all that the result depends on: same key, same result.
    rounds : int
        How many rounds it simulates.
    kind : str
        What its rounds cost: tasks of one kind cost about the same per round.
    compute : callable
        Returns the result. It releases the interpreter's lock, looks at the event now and then
        and raises `Interrupted` once it is set.
    """

    key: str
    rounds: int
    kind: str
    compute: Callable[[Stop], bytes]


def cores() -> int:
    """Return how many cores this process may use.

    Returns
    -------
    int
        At least 1.
    """
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def rounds_by_kind(tasks: Iterable[Task]) -> Mapping[str, int]:
    """Return the rounds of each kind of task.

    Parameters
    ----------
    tasks : iterable of Task
        Any tasks.

    Returns
    -------
    mapping of str to int
        What `Progress` is made from.
    """
    rounds: Counter[str] = Counter()
    for task in tasks:
        rounds[task.kind] += task.rounds
    return rounds


def run(
    tasks: Sequence[Task],
    store: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Compute the tasks whose result is not in the store yet, each in one thread.

    Every result is stored as soon as it is there. An exception, from a task or from outside
    (Ctrl-C), stops all tasks: what finished is kept, what did not leaves nothing, and the same
    call goes on from there. A second Ctrl-C does not wait for tasks that are slow to stop.

    Parameters
    ----------
    tasks : sequence of Task
        The work, begun in this order.
    store : Store
        Where results are looked up and kept.
    workers : int, optional
        How many tasks are computed at a time; the cores this process may use by default.
    progress : Progress, optional
        Where to tell how far it is.

    Raises
    ------
    InputError
        The number of workers is not one, or the store cannot keep a result.
    """
    crew = cores() if workers is None else whole("workers", workers, most=10_000)
    stored = store.keys()
    missing = [task for task in tasks if task.key not in stored]
    if progress is not None:
        found = rounds_by_kind(task for task in tasks if task.key in stored)
        progress.start(max(1, min(crew, len(missing))), found)
    with _Threads(missing, store, crew) as threads:
        for finished in threads.reports():
            if progress is None:
                continue
            if finished is None:
                progress.tick()
            else:
                progress.done(finished.task.kind, finished.task.rounds, finished.seconds)


@dataclass(frozen=True)
class _Report:
    """What became of a task."""

    task: Task
    seconds: float = 0.0
    error: BaseException | None = None


class _Threads:
    """Threads that compute and store tasks; leaving the ``with`` block stops them."""

    def __init__(self, tasks: Sequence[Task], store: Store, workers: int) -> None:
        self._tasks = deque(tasks)
        self._count = len(tasks)
        self._store = store
        self._stop = Stop()
        self._reports: queue.SimpleQueue[_Report] = queue.SimpleQueue()
        # Daemons, so that a task which does not stop cannot keep the process alive.
        self._threads = [
            threading.Thread(target=self._work, name=f"handrail-{number}", daemon=True)
            for number in range(min(workers, len(tasks)))
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_TICK)

    def reports(self) -> Iterator[_Report | None]:
        """Start; yield each task once it is stored, and None now and then; raise its error."""
        for thread in self._threads:
            thread.start()
        waiting = self._count
        while waiting:
            try:
                report = self._reports.get(timeout=_TICK)
            except queue.Empty:
                yield None
                continue
            if report.error is not None:
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
                error.add_note(f"in block {task.key} ({task.kind}, {task.rounds} rounds)")
                self._stop.set()
                self._reports.put(_Report(task, error=error))
                return
            self._reports.put(_Report(task, time.perf_counter() - begin))
