"""What is to be computed, and who computes it: the threads of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from handrail.simulation.stop import Stop
from handrail.simulation.store import Store

__all__ = ["Crew", "Event", "Finished", "Notice", "Task", "name_block"]


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
        and raises `Interrupted` once it is set. For a cluster it must survive pickling.
    """

    key: str
    rounds: int
    kind: str
    compute: Callable[[Stop], bytes]


@dataclass(frozen=True)
class Finished:
    """A task whose result is in the store, and the seconds its worker took."""

    task: Task
    seconds: float


@dataclass(frozen=True)
class Notice:
    """Something that whoever waits for the results should know: one line."""

    text: str


Event: TypeAlias = Finished | Notice | None
"""What a crew reports; None says only that time has passed."""


class Crew(Protocol):
    """Computes tasks, several at a time."""

    @property
    def workers(self) -> int:
        """How many tasks are computed at a time; may change while it works."""

    def work(self, tasks: Sequence[Task], store: Store) -> AbstractContextManager[Iterator[Event]]:
        """Compute tasks in about this order and store each result as soon as it is there.

        Leaving the ``with`` block stops the work: what finished is kept, what did not leaves
        nothing.

        Parameters
        ----------
        tasks : sequence of Task
            None of them is in the store yet.
        store : Store
            Where results are kept.

        Returns
        -------
        context manager
            Its value reports every task, and None a few times a second; it ends with the last
            task and raises the error of one that fails.
        """
        ...


def name_block(error: BaseException, task: Task) -> None:
    """Note on an error which block it came from.

    Parameters
    ----------
    error : BaseException
        What went wrong.
    task : Task
        Where.
    """
    error.add_note(f"in block {task.key} ({task.kind}, {task.rounds} rounds)")
