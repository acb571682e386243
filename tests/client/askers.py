"""Both clients behind one face, so that every test is one of both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

import handrail
from handrail.client import Choice, Counts

__all__ = ["BOTH", "AsyncAsker", "SyncAsker"]


class SyncAsker:
    """`Client` as it is."""

    closed = False

    def __init__(self, url: str, **settings: Any) -> None:
        settings.setdefault("baselines", {"shop": "current"})
        self.client: Any = handrail.Client(url, **settings)

    def call(self, name: str, *given: Any, **more: Any) -> Any:
        return getattr(self.client, name)(*given, **more)

    def go_through(self, name: str, *given: Any, **more: Any) -> list[Any]:
        return list(getattr(self.client, name)(*given, **more))

    def decide(self, **more: Any) -> Choice:
        choice: Choice = self.call("decide", "shop", **more)
        return choice

    def counts(self) -> Counts:
        counts: Counts = self.client.counts()
        return counts

    def flush(self, timeout: float) -> bool:
        return bool(self.call("flush", timeout))

    def __enter__(self) -> SyncAsker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it; twice is as once."""
        if not self.closed:
            self.closed = True
            self.call("close", timeout=0.001)


class AsyncAsker(SyncAsker):
    """`AsyncClient` on a loop of its own, which runs only during calls."""

    def __init__(self, url: str, **settings: Any) -> None:
        settings.setdefault("baselines", {"shop": "current"})
        self.client = handrail.AsyncClient(url, **settings)
        self.runner = asyncio.Runner()

    def call(self, name: str, *given: Any, **more: Any) -> Any:
        return self.runner.run(getattr(self.client, name)(*given, **more))

    def go_through(self, name: str, *given: Any, **more: Any) -> list[Any]:
        async def gather() -> list[Any]:
            return [each async for each in getattr(self.client, name)(*given, **more)]

        return self.runner.run(gather())

    def close(self) -> None:
        """Close it; twice is as once."""
        if not self.closed:
            super().close()
            self.runner.close()


BOTH: tuple[Callable[..., SyncAsker], ...] = (SyncAsker, AsyncAsker)
