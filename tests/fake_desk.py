"""A desk that decides nothing: for tests of what stands in front of it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from handrail.policies.outcomes import Because
from handrail.service import chain, events
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
from handrail.service.problems import Problem
from handrail.service.shown import (
    BudgetPoint,
    BudgetView,
    DecisionPage,
    DecisionView,
    EstimatePoint,
    EstimatesView,
    Head,
    PolicyPage,
    PolicyView,
)
from handrail.service.store.protocol import KeyRow, Row

NOW = 1_700_000_000_000_000


def a_log(size: int) -> list[Row]:
    """Return a log of so many events: created, then decided and rewarded in turn."""
    before, rows = chain.START, []
    for seq in range(1, size + 1):
        number = seq // 2
        event: events.Event
        if seq == 1:
            event = events.Created(at=NOW, policy="0" * 16, definition={"name": "a"}, handrail="1")
        elif seq % 2 == 0:
            event = events.Decided(
                at=NOW + seq,
                round=number,
                token="01234567",
                action=number % 3,
                event="safe",
                margin=number / 7,
                upper=None if number == 1 else 0.9,
                lower=0.1,
                floor=0.1,
                mean=0.5,
                promise=0.1,
                safe=2,
                leader=None,
                leader_margin=None,
                leader_upper=None,
                leader_lower=None,
                named=f"arm-{number % 3}" if number % 2 else number % 3,
            )
        else:
            event = events.Rewarded(at=NOW + seq, round=number, reward=0.5)
        body = events.encode(event)
        before = chain.link(before, body)
        rows.append(Row(seq, events.round_of(event), body, before))
    return rows


class FakeBook(NamedTuple):
    """A policy in memory."""

    definition: dict[str, Any]
    margin: float | None


class FakeDesk:
    """Knows the policies `a` and `b`, and keeps what it was asked."""

    def __init__(self, keys: list[KeyRow] | None = None) -> None:
        self.ready = True
        self.broken: BaseException | None = None
        self.names = ["a", "b"]
        self.asked: list[tuple[Any, ...]] = []
        self.rows = list(keys or ())
        self.fetched = 0
        self.fails: Problem | Exception | None = None
        self.logs: dict[str, list[Row]] = defaultdict(lambda: a_log(5))
        self.stopped = False
        self.reachable = True
        self.waiting = 0
        self.damaged = 0
        self.damaged_rows = {"idempotency": 0, "keys": 0}
        self.restored = 0
        self.batches = 0
        self.commit_seconds = 0.0
        self.books: list[FakeBook] = []

    async def start(self) -> None:
        """Begin to work."""

    async def stop(self, grace: float) -> None:
        """End."""
        self.stopped = True

    def _note(self, *asked: Any) -> None:
        self.asked.append(asked)
        if self.fails is not None:
            raise self.fails
        about_all = asked[0] in ("create", "note_used")
        if len(asked) > 1 and not about_all and asked[1] not in self.names:
            raise Problem(404, "there is no policy of this name", field="name")

    def _view(self, name: str) -> PolicyView:
        return PolicyView(
            name=name,
            algorithm="CUCB",
            mode="live",
            archived=False,
            created_at="2026-01-01T00:00:00Z",
            parameters={"arms": 3},
            actions=[0, 1, 2],
            baseline=0,
            round=2,
            pending=1,
            margin=0.5,
            decisions={"optimistic": 0, "safe": 1, "baseline": 1},
            failure_probability=0.05,
            notes=[],
            head=Head(events=len(self.logs[name]), hash=self.logs[name][-1].hash.hex()),
        )

    async def create(self, request: CreateRequest) -> PolicyView:
        """Make a policy."""
        self._note("create", request)
        return self._view(request.name)

    async def policies(self, after: str, limit: int, only: str | None) -> PolicyPage:
        """List policies."""
        self._note("policies")
        names = [name for name in self.names if name > after and only in (None, name)]
        return PolicyPage(policies=[self._view(name) for name in names[:limit]])

    async def show(self, name: str) -> PolicyView:
        """Show a policy."""
        self._note("show", name)
        return self._view(name)

    async def change_mode(self, name: str, request: ModeRequest) -> PolicyView:
        """Change a policy's mode."""
        self._note("change_mode", name, request)
        return self._view(name)

    async def archive(self, name: str) -> PolicyView:
        """Archive a policy."""
        self._note("archive", name)
        return self._view(name)

    async def decide(
        self,
        name: str,
        requests: list[DecideRequest],
        batch: bool = False,
        played: Sequence[str] = (),
    ) -> list[Answer]:
        """Decide rounds."""
        self._note("decide", name, requests, batch, *([played] if played else []))
        return [
            Answer(
                id=f"id-{number}",
                round=number,
                action=0,
                event="baseline",
                margin=None,
                reason="because",
                awaits_reward=False,
            )
            for number, _ in enumerate(requests, 1)
        ]

    async def rewards(
        self,
        name: str,
        requests: list[RewardRequest],
        batch: bool = False,
        played: Sequence[str] = (),
    ) -> list[RewardAnswer]:
        """Take rewards."""
        self._note("rewards", name, requests, batch, *([played] if played else []))
        return [
            RewardAnswer(decision=each.decision, status="learned", detail="it was learned from")
            for each in requests
        ]

    async def played(self, name: str, decision: str) -> PlayedAnswer:
        """Take in what was played."""
        self._note("played", name, decision)
        return PlayedAnswer(decision=decision, status="played", detail="it was played")

    async def played_all(self, name: str, decisions: list[str]) -> list[PlayedAnswer]:
        """Take in what was played."""
        self._note("played_all", name, decisions)
        return [PlayedAnswer(decision=each, status="played", detail="") for each in decisions]

    async def fallback(
        self, name: str, decision: str, because: Because = "no-answer"
    ) -> FallbackAnswer:
        """Count a baseline round."""
        self._note("fallback", name, decision, because)
        return FallbackAnswer(decision=decision, status="baseline", detail="so be it")

    async def checkpoint(self, name: str) -> CheckpointAnswer:
        """Report a checkpoint."""
        self._note("checkpoint", name)
        return CheckpointAnswer(checkpoints=1)

    async def add_arm(self, name: str, request: ArmRequest) -> ArmAnswer:
        """Add an arm."""
        self._note("add_arm", name, request)
        return ArmAnswer(arm=3)

    async def retire_arm(self, name: str, arm: str) -> ArmAnswer:
        """Retire an arm."""
        self._note("retire_arm", name, arm)
        return ArmAnswer(arm=arm)

    async def decisions(self, name: str, after: int, limit: int) -> DecisionPage:
        """List decisions."""
        self._note("decisions", name, after, limit)
        view = DecisionView(
            id="id-1",
            round=1,
            at="2026-01-01T00:00:00Z",
            action=0,
            event="baseline",
            margin=None,
            upper=None,
            lower=0.0,
            mode="live",
            reason="because",
            reward=None,
            rewarded_at=None,
            fell_back=False,
            said_played=False,
            would=None,
            digest=None,
        )
        return DecisionPage(decisions=[view], next=None)

    async def budget(self, name: str, after: int, points: int) -> BudgetView:
        """Show the budget."""
        self._note("budget", name, after, points)
        point = BudgetPoint(round=1, at="2026-01-01T00:00:00Z", event="safe", margin=0.5)
        return BudgetView(
            policy=name,
            alpha=0.1,
            delta=0.05,
            round=1,
            baseline_rounds=0,
            explored_rounds=1,
            pending=0,
            baseline_earnings=0.5,
            required=0.45,
            rewards=1.0,
            promised=0.0,
            low=0.0,
            margin=0.5,
            points=[point],
        )

    async def estimates(self, name: str, after: int, points: int) -> EstimatesView:
        """Show the estimates."""
        self._note("estimates", name, after, points)
        point = EstimatePoint(round=1, at="2026-01-01T00:00:00Z", action=0, lower=0.0, upper=None)
        return EstimatesView(policy=name, round=1, actions=None, theta=[0.5], points=[point])

    async def events(self, name: str, after: int, limit: int) -> list[Row]:
        """Return events."""
        self._note("events", name, after, limit)
        return self.logs[name][after : after + limit]

    async def note_used(self, used: dict[str, int]) -> None:
        """Store when API keys were last used."""
        self._note("note_used", used)

    async def keys(self) -> list[KeyRow]:
        """Return the keys."""
        self.fetched += 1
        await asyncio.sleep(0)
        if isinstance(self.fails, Problem):
            raise self.fails
        return list(self.rows)


class FakeStore:
    """A database that holds nothing but keys."""

    shared = False

    def __init__(self, keys: list[KeyRow] | None = None) -> None:
        self.rows = list(keys or ())
        self.closed = False

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Begin to read."""
        yield self

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Begin to write."""
        yield self

    def keys(self) -> list[KeyRow]:
        """Return the keys."""
        return list(self.rows)

    def add_key(self, key: KeyRow) -> None:
        """Add a key."""
        self.rows.append(key)

    def check(self) -> None:
        """Find it as it was."""

    def close(self) -> None:
        """Let go of it."""
        self.closed = True
