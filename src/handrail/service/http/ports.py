"""What HTTP asks of the desk, where the work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from handrail.policies.outcomes import Because
from handrail.service.messages import (
    Answer,
    ArmAnswer,
    ArmRequest,
    CheckpointAnswer,
    CreateRequest,
    DecideRequest,
    FallbackAnswer,
    ModeRequest,
    PlayedAnswer,
    RewardAnswer,
    RewardRequest,
)
from handrail.service.shown import BudgetView, DecisionPage, EstimatesView, PolicyPage, PolicyView
from handrail.service.store.protocol import KeyRow, Row

__all__ = ["BookPort", "DeskPort"]


class BookPort(Protocol):
    """A policy in memory, as far as its metrics go."""

    @property
    def margin(self) -> float | None:
        """The certified margin of the latest round."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """What it was created with, its name too."""


class DeskPort(Protocol):
    """Decides, and keeps what it decided; every method raises `Problem` and nothing else."""

    @property
    def ready(self) -> bool:
        """Whether decisions are made without a long wait."""

    @property
    def broken(self) -> BaseException | None:
        """Why nothing it said can be relied on any longer."""

    async def start(self) -> None:
        """Begin to work."""

    async def stop(self, grace: float) -> None:
        """Finish what waits, for so many seconds at most, and end."""

    async def create(self, request: CreateRequest) -> PolicyView:
        """Make a policy."""

    async def policies(self, after: str, limit: int, only: str | None) -> PolicyPage:
        """Return policies after a name; only the one named, if one is."""

    async def show(self, name: str) -> PolicyView:
        """Return a policy as it is."""

    async def change_mode(self, name: str, request: ModeRequest) -> PolicyView:
        """Change a policy's mode."""

    async def archive(self, name: str) -> PolicyView:
        """Archive a policy."""

    async def decide(
        self,
        name: str,
        requests: list[DecideRequest],
        batch: bool = False,
        played: Sequence[str] = (),
    ) -> list[Answer]:
        """Decide rounds, all of them or none, after what was played before."""

    async def rewards(
        self,
        name: str,
        requests: list[RewardRequest],
        batch: bool = False,
        played: Sequence[str] = (),
    ) -> list[RewardAnswer]:
        """Take rewards, after what was played before."""

    async def played(self, name: str, decision: str) -> PlayedAnswer:
        """Take in that a decision's action was played."""

    async def played_all(self, name: str, decisions: list[str]) -> list[PlayedAnswer]:
        """Take in which decisions' actions were played."""

    async def fallback(
        self, name: str, decision: str, because: Because = "no-answer"
    ) -> FallbackAnswer:
        """Count a decision as one in which the baseline was played."""

    async def checkpoint(self, name: str) -> CheckpointAnswer:
        """Report a checkpoint."""

    async def add_arm(self, name: str, request: ArmRequest) -> ArmAnswer:
        """Add an arm."""

    async def retire_arm(self, name: str, arm: str) -> ArmAnswer:
        """Retire an arm."""

    async def decisions(self, name: str, after: int, limit: int) -> DecisionPage:
        """Return decisions after a round."""

    async def budget(self, name: str, after: int, points: int) -> BudgetView:
        """Return the budget over time."""

    async def estimates(self, name: str, after: int, points: int) -> EstimatesView:
        """Return the estimates over time."""

    async def events(self, name: str, after: int, limit: int) -> list[Row]:
        """Return events after one."""

    async def note_used(self, used: dict[str, int]) -> None:
        """Store when API keys were last used."""

    async def keys(self) -> list[KeyRow]:
        """Return the API keys."""

    @property
    def reachable(self) -> bool:
        """Whether the database took what was written last."""

    @property
    def waiting(self) -> int:
        """How many requests wait for the writer."""

    @property
    def damaged(self) -> int:
        """How many logs were found not to follow their hashes."""

    @property
    def damaged_rows(self) -> dict[str, int]:
        """How many rows were found that nobody wrote, by table."""

    @property
    def restored(self) -> int:
        """How often a log was found not to go on from where memory was."""

    @property
    def batches(self) -> int:
        """How many transactions were committed."""

    @property
    def commit_seconds(self) -> float:
        """How long they took."""

    @property
    def books(self) -> Sequence[BookPort]:
        """The policies in memory."""
