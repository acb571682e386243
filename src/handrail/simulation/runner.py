"""Run tasks: skip what is stored, have a crew compute the rest, tell how far it is."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from handrail.simulation.crew import Crew, Finished, Notice, Task
from handrail.simulation.progress import Progress
from handrail.simulation.store import Store
from handrail.simulation.threads import Threads

__all__ = ["rounds_by_kind", "run"]


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
    crew: Crew | None = None,
    *,
    progress: Progress | None = None,
) -> None:
    """Compute the tasks whose result is not in the store yet.

    Every result is stored as soon as it is there. An exception, from a task or from outside
    (Ctrl-C), stops all tasks: what finished is kept, what did not leaves nothing, and the same
    call goes on from there.

    Parameters
    ----------
    tasks : sequence of Task
        The work, begun in this order.
    store : Store
        Where results are looked up and kept.
    crew : Crew, optional
        Who computes; by default a thread for each core that this process may use.
    progress : Progress, optional
        Where to tell how far it is.

    Raises
    ------
    InputError
        The store cannot keep a result, or a cluster is lost.
    """
    crew = Threads() if crew is None else crew
    stored = store.keys()
    missing = [task for task in tasks if task.key not in stored]
    if progress is not None:
        found = rounds_by_kind(task for task in tasks if task.key in stored)
        progress.start(_busy(crew, missing), found)
    with crew.work(missing, store) as events:
        for event in events:
            if progress is None:
                if isinstance(event, Notice):
                    warnings.warn(event.text, RuntimeWarning, stacklevel=2)
                continue
            progress.staff(_busy(crew, missing))
            match event:
                case Finished(task, seconds):
                    progress.done(task.kind, task.rounds, seconds)
                case Notice(text):
                    progress.say(text)
                case None:
                    progress.tick()


def _busy(crew: Crew, tasks: Sequence[Task]) -> int:
    """Return how many workers have something to do."""
    return max(1, min(crew.workers, len(tasks)))
