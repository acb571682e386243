"""Tasks: requests that wait for the desk's thread, and how their callers get to know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final

from handrail.service.problems import Problem

__all__ = ["CALLER", "Task", "away", "resolve"]

CALLER: Final[ContextVar[str | None]] = ContextVar("caller", default=None)
"""The id of the key that the current request came with, for the events it causes."""


class Task:
    """A request that waits: a policy's name, what is to be done, and who wants to know.

    Its work is done in a `Session`, or in a `Look` if it changes nothing.
    """

    __slots__ = ("by", "changes", "future", "name", "outcome", "work")

    def __init__(
        self,
        name: str | None,
        work: Callable[[Any], Any],
        future: asyncio.Future[Any],
        by: str | None = None,
        *,
        changes: bool,
    ) -> None:
        self.by = by
        self.name = name
        self.work = work
        self.future = future
        self.changes = changes
        self.outcome: Any = None


def resolve(batch: Iterable[Task]) -> None:
    """Hand the outcomes to those who still wait; runs in the loop."""
    for task in batch:
        future, outcome = task.future, task.outcome
        if future.done():
            continue
        if isinstance(outcome, Problem):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def away() -> Problem:
    """Return what is said while nothing can be written or read."""
    return Problem(503, "the database cannot be reached or written to", remedy="try again later")
