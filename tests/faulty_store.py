"""A database whose transactions fail on demand: before, undone, or after they are on disk."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from handrail.service.store.protocol import Reader, Store, StoreUnavailable, Writer

__all__ = ["Fault", "FaultyStore"]

Fault = Literal["before", "undone", "after"]
"""When: before it begins; so that it is undone; or after it is on disk, so that nobody can tell."""


class FaultyStore:
    """A store in front of another one.

    Parameters
    ----------
    store : Store
        The one that works.

    Attributes
    ----------
    faults : deque
        What becomes of the next transactions; None is none, and when it is empty all go well.
    reads : callable, optional
        Called whenever somebody reads, and may raise.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = threading.Lock()
        self.shared = store.shared
        self.faults: deque[Fault | None] = deque()
        self.reads: Callable[[Reader], None] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let transactions wait until the block ends."""
        with self._turn:
            yield

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Begin a transaction."""
        with self._turn:
            pass
        fault = self.faults.popleft() if self.faults else None
        if fault == "before":
            raise StoreUnavailable("away, before anything was written")
        with self._store.writing() as writer:
            yield writer
            if fault == "undone":
                raise StoreUnavailable("away, and nothing is written")
        if fault == "after":
            raise StoreUnavailable("away, and all is written")

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Begin to read."""
        with self._store.reading() as reader:
            if self.reads is not None:
                self.reads(reader)
            yield reader

    def check(self) -> None:
        """Look whether it is the one that was opened."""
        self._store.check()

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()
