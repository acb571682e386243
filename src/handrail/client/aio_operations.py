"""What an operator does, and what a report reads: the calls to await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar, Unpack

from handrail.client import calls
from handrail.client.core import Core
from handrail.client.fields import PolicyFields
from handrail.client.reading import LogLine
from handrail.client.steps import Talk
from handrail.service.messages import Action, ArmAnswer, CheckpointAnswer, Mode
from handrail.service.shown import BudgetView, DecisionView, EstimatesView, PolicyView

__all__ = ["AsyncOperations"]

T = TypeVar("T")


class AsyncOperations:
    """Calls of `AsyncClient` that are not on the way of a page; all raise `ServiceError`."""

    _core: Core

    async def _run(self, talk: Talk[T]) -> T:
        """Carry a call's requests."""
        raise NotImplementedError

    # -- policies --------------------------------------------------------------------------------

    async def create_policy(
        self, name: str, algorithm: str, **fields: Unpack[PolicyFields]
    ) -> PolicyView:
        """Make a policy: the parameters of `make_policy`, and `mode`."""
        return await self._run(
            calls.create(self._core, {"name": name, "algorithm": algorithm, **fields})
        )

    async def policies(self) -> AsyncIterator[PolicyView]:
        """Go through the policies in the order of their names."""
        after: str | None = ""
        while after is not None:
            page = await self._run(calls.policies(self._core, after, 100))
            for each in page.policies:
                yield each
            after = page.next

    async def show(self, policy: str) -> PolicyView:
        """Return a policy as it is now."""
        return await self._run(calls.show(self._core, policy))

    async def change_mode(self, policy: str, mode: Mode) -> PolicyView:
        """Change a policy's mode: "live", "shadow" or "paused"."""
        return await self._run(calls.change_mode(self._core, policy, mode))

    async def archive(self, policy: str) -> PolicyView:
        """Archive a policy: it can be read, and decides no more."""
        return await self._run(calls.archive(self._core, policy))

    async def checkpoint(self, policy: str) -> CheckpointAnswer:
        """Report that the round decided last was a checkpoint."""
        return await self._run(calls.checkpoint(self._core, policy))

    async def add_arm(
        self, policy: str, name: str | None = None, *, features: Sequence[float] | None = None
    ) -> ArmAnswer:
        """Add an arm."""
        return await self._run(calls.add_arm(self._core, policy, name, features))

    async def retire_arm(self, policy: str, arm: Action) -> ArmAnswer:
        """Retire an arm."""
        return await self._run(calls.retire_arm(self._core, policy, arm))

    # -- what happened -----------------------------------------------------------------------------

    async def budget(self, policy: str, *, after: int = 0, points: int = 200) -> BudgetView:
        """Return what was earned, what had to be, and what is certified."""
        return await self._run(calls.budget(self._core, policy, after, points))

    async def estimates(self, policy: str, *, after: int = 0, points: int = 200) -> EstimatesView:
        """Return what is known of the actions."""
        return await self._run(calls.estimates(self._core, policy, after, points))

    async def decisions(self, policy: str, *, after: int = 0) -> AsyncIterator[DecisionView]:
        """Go through the decisions after a round, page by page."""
        place: int | None = after
        while place is not None:
            page = await self._run(calls.decisions(self._core, policy, place, 500))
            for each in page.decisions:
                yield each
            place = page.next

    async def events(self, policy: str, *, after: int = 0) -> AsyncIterator[LogLine]:
        """Go through the event log after an event's number, page by page."""
        while lines := await self._run(calls.events(self._core, policy, after, 1_000)):
            for each in lines:
                yield each
            after = lines[-1].seq

    async def ready(self, *, timeout: float | None = None) -> bool:
        """Return whether the service is ready; opens a connection that `decide` then uses."""
        return await self._run(calls.ready(self._core, timeout))
