"""Clients of both kinds, closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from client.askers import BOTH, SyncAsker


@pytest.fixture(params=BOTH, ids=["sync", "async"])
def asker(request: pytest.FixtureRequest) -> Iterator[Callable[..., SyncAsker]]:
    """Make clients of one kind, and close them."""
    made: list[SyncAsker] = []

    def make(url: str, **settings: Any) -> SyncAsker:
        made.append(request.param(url, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()
