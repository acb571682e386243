"""Any requests, in any order, with faults between: the log alone gives back what was in memory.

The other tests of the fold serve requests that make sense, one after the other. Here they come in
bursts that share transactions, some are nonsense, transactions fail in all three ways, the clock
jumps and the desk starts anew.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faulty_store import FaultyStore
from handrail.service.answers import answer
from handrail.service.desk import Desk
from handrail.service.events import Decided, FellBack, Rewarded, decode
from handrail.service.limits import Limits
from handrail.service.messages import (
    Answer,
    ArmRequest,
    CreateRequest,
    DecideRequest,
    ModeRequest,
    RewardRequest,
)
from handrail.service.problems import Problem
from handrail.service.review import review
from handrail.service.sources import DatabaseSource
from handrail.service.store.open import open_store
from handrail.service.store.protocol import Store
from service_truth import fold_again

_COMMON: dict[str, Any] = {"alpha": 0.7, "delta": 0.1, "reward_range": (0.0, 1.0)}
_LINEAR: dict[str, Any] = {**_COMMON, "theta_bound": 1.0}
POLICIES = [
    CreateRequest(
        name="named",
        algorithm="HANDRAILT",
        arms=["a", "b", "c"],
        arms_ever=6,
        baseline="b",
        baseline_mean=0.4,
        checkpoint_gap=3,
        **_COMMON,
    ),
    CreateRequest(
        name="window",
        algorithm="CUCB",
        arms=3,
        baseline=0,
        baseline_mean="learned",
        window=3,
        default_reward=0.0,
        **_COMMON,
    ),
    CreateRequest(name="contexts", algorithm="CLUCB2", dim=2, feature_bound=1.0, **_LINEAR),
    CreateRequest(
        name="guard", algorithm="GUARD", baseline="old", baseline_mean=(0.3, 0.5), **_COMMON
    ),
]
KINDS = (*["decide"] * 6, *["reward"] * 5, "fallback", "mode", "arm", "checkpoint")


class Step(NamedTuple):
    """A request, in numbers that stand for whatever there is to choose from."""

    kind: str
    policy: int
    chosen: int
    size: int
    key: int
    sound: bool


STEP = st.builds(
    Step,
    st.sampled_from([*KINDS, "archive"]),
    st.integers(0, 3),
    st.integers(0, 40),
    st.integers(1, 3),
    st.integers(0, 9),
    st.integers(0, 9).map(bool),
)
FAULT = st.sampled_from([None] * 5 + ["before", "undone", "after"])
BURST = st.tuples(
    st.lists(STEP, min_size=3, max_size=8),
    st.lists(FAULT, max_size=2),
    st.sampled_from([0.0, 1.0, 3600.0, -1.0, -1e6]),
    st.integers(0, 9).map(lambda draw: draw == 9),
)


class Player:
    """Sends requests to a desk, and notes what it answers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.now = 1.8e9
        self.decisions: dict[str, list[Answer]] = {each.name: [] for each in POLICIES}
        self.rewards: set[tuple[str, float]] = set()
        self.fallbacks: set[str] = set()
        self.desk = self._new_desk()

    def _new_desk(self) -> Desk:
        limits = Limits(snapshot_every=9, pending=6, batch=5)
        return Desk(self._store, limits=limits, clock=lambda: self.now)

    async def start(self) -> None:
        await self.desk.start()

    async def start_anew(self) -> None:
        await self.desk.stop(30.0)
        self.desk = self._new_desk()
        await self.desk.start()

    async def play(self, steps: Sequence[Step]) -> None:
        """Send requests all at once."""
        done = await asyncio.gather(*map(self._send, steps), return_exceptions=True)
        for step, outcome in zip(steps, done, strict=True):
            if isinstance(outcome, Problem):
                assert outcome.status in (404, 409, 422, 503), (step, outcome)
            elif isinstance(outcome, BaseException):
                raise outcome

    async def _send(self, step: Step) -> None:
        name = POLICIES[step.policy].name
        given = self.decisions[name]
        chosen = given[step.chosen % len(given)].id if given else "nonsense"
        desk = self.desk
        match step.kind:
            case "decide":
                requests = [_request(name, step, i) for i in range(step.size)]
                self.decisions[name] += await desk.decide(name, requests)
            case "reward":
                reward = step.chosen / 40 if step.sound else 2.0
                told = [RewardRequest(decision=chosen, reward=reward)] * step.size
                for said in await desk.rewards(name, told, batch=True):
                    if said.status in ("learned", "waiting", "repeated"):
                        self.rewards.add((chosen, reward))
            case "fallback":
                named = chosen if step.sound else f"key:{name}-{step.key}-0"
                said_so = await desk.fallback(name, named)
                if said_so.status == "baseline":
                    self.fallbacks.add(said_so.decision)
            case "mode":
                mode = ("live", "shadow", "paused")[step.chosen % 3]
                await desk.change_mode(name, ModeRequest(mode=mode))  # type: ignore[arg-type]
            case "arm":
                await self._change_arms(name, step)
            case "checkpoint":
                await desk.checkpoint(name)
            case _:
                if step.chosen == 7:  # now and then, and for ever
                    await desk.archive(name)

    async def _change_arms(self, name: str, step: Step) -> None:
        if step.sound:
            await self.desk.add_arm(name, ArmRequest(name=f"arm-{step.chosen}"))
        else:
            await self.desk.retire_arm(name, "abcd"[step.chosen % 4])


def _request(name: str, step: Step, place: int) -> DecideRequest:
    """Return a round's request; the same step and place say the same."""
    key = f"{name}-{step.key}-{place}" if step.key < 6 else None
    if name == "guard":
        return DecideRequest(proposal=f"new-{step.chosen % 2}", idempotency_key=key)
    if name == "contexts":
        value = 0.1 + step.chosen / 100
        rows = [[value, 0.2], [0.3, value], [0.1, 0.1]]
        if not step.sound and place == step.size - 1:
            rows[1] = [9.0, 9.0]  # beyond the bound that was declared
        return DecideRequest(features=rows, baseline=2, baseline_mean=0.3, idempotency_key=key)
    return DecideRequest(baseline=None if step.sound else 99, idempotency_key=key)


async def tell(store: FaultyStore, bursts: Sequence[Any]) -> Player:
    """Play bursts of requests; at the end nothing is under way any more."""
    player = Player(store)
    await player.start()
    for policy in POLICIES:
        await player.desk.create(policy)
    for steps, faults, jump, anew in bursts:
        store.faults.extend(faults)
        player.now += jump
        await player.play(steps)
        if anew:
            await player.start_anew()
    store.faults.clear()
    return player


def check_log(store: Store, player: Player) -> None:
    """Check that the logs hold all that was answered, once."""
    books = dict(player.desk._shelf.items())
    with store.reading() as reader:
        for row in reader.policies():
            book = books.get(row.number)
            found: dict[int, Answer] = {}
            rewards: set[tuple[str, float]] = set()
            fallbacks: set[str] = set()
            keys: set[str] = set()
            for event in (decode(each.body) for each in reader.events(row.number)):
                match event:
                    case Decided():
                        assert book is not None
                        assert event.round == len(found) + 1
                        found[event.round] = answer(book, event)
                        assert event.key is None or event.key not in keys
                        keys.add(event.key or "")
                    case Rewarded():
                        rewards.add((found[event.round].id, event.reward))
                    case FellBack():
                        fallbacks.add(found[event.round].id)
            for said in player.decisions[row.name]:
                decided = found[said.round]
                if said.repeated and said.event == "baseline" and decided.event != "baseline":
                    # A retry after a fallback: the baseline is what was played in the round.
                    assert decided.id in fallbacks
                    assert (said.id, said.margin) == (decided.id, None)
                    continue
                said.repeated = False
                assert decided == said
            ids = {each.id for each in found.values()}
            assert {each for each in player.rewards if each[0] in ids} <= rewards
            assert {each for each in player.fallbacks if each in ids} <= fallbacks


@pytest.mark.parametrize("examples", [pytest.param(1000, marks=pytest.mark.long), 30])
def test_the_fold_gives_back_what_was_in_memory(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.lists(BURST, min_size=8, max_size=16))
    def run(bursts: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            database = str(Path(folder) / "log.db")
            store = FaultyStore(open_store(database, exclusive=True))
            try:
                asyncio.run(_story(store, database, bursts))
            finally:
                store.close()

    run()


async def _story(store: FaultyStore, database: str, bursts: list[Any]) -> None:
    player = await tell(store, bursts)
    for policy in POLICIES:  # what a fault dropped is loaded again
        await player.desk.show(policy.name)
    check_log(store, player)
    books = {book.definition["name"]: book for book in player.desk.books}
    fold_again(database, {name: book.head.hex() for name, book in books.items()})
    with store.reading() as reader:
        numbers = {row.name: row.number for row in reader.policies()}
    states = {name: (book.policy.to_bytes(), book.state()) for name, book in books.items()}
    await player.start_anew()
    for policy in POLICIES:
        await player.desk.show(policy.name)
        book = dict(player.desk._shelf.items())[numbers[policy.name]]
        assert (book.policy.to_bytes(), book.state()) == states[policy.name]
    await player.desk.stop(30.0)
    found, _ = review(DatabaseSource(store))
    assert found.holds
