"""The fold: a log read again gives the state, bit for bit, that serving it left in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest

from handrail.service import events, snapshots
from handrail.service.audit import Audit
from handrail.service.book import Book
from handrail.service.desk import Desk
from handrail.service.limits import Limits
from handrail.service.messages import (
    ArmRequest,
    CreateRequest,
    DecideRequest,
    ModeRequest,
    RewardRequest,
)
from handrail.service.problems import Problem
from handrail.service.shelf import load
from handrail.service.snapshots import restore, take
from handrail.service.store.open import open_store
from handrail.service.store.protocol import Reader, Row, SnapshotRow, Store
from service_support import ALGORITHMS, kinds, request

CASES = [
    pytest.param(kind, created, id=f"{name}-{kind}")
    for name in ALGORITHMS
    for kind, created in kinds(name)
]

LIMITS = Limits(snapshot_every=37, pending=25)


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    store = open_store(str(path))
    try:
        yield store
    finally:
        store.close()


async def serve(store: Store, kind: str, created: CreateRequest, rounds: int) -> Book:
    """Serve a random mix of requests; return the book as it is in memory at the end."""
    desk = Desk(store, limits=LIMITS)
    await desk.start()
    rng = np.random.default_rng(5)
    await desk.create(created)
    waiting: list[str] = []
    for number in range(rounds):
        if number in (20, 40, 45):
            mode = {20: "shadow", 40: "paused", 45: "live"}[number]
            await desk.change_mode(created.name, ModeRequest(mode=mode))  # type: ignore[arg-type]
        batch = [request(kind, rng) for _ in range(1 + int(rng.integers(3)))]
        if number % 5 == 0:
            batch[0].idempotency_key = f"key-{number}"
        waiting += [answer.id for answer in await desk.decide(created.name, batch)]
        while waiting and rng.random() < 0.75:
            chosen = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.2:
                try:
                    await desk.fallback(created.name, chosen)
                except Problem as problem:
                    assert problem.status == 409  # noqa: PT017
                continue
            given = RewardRequest(decision=chosen, reward=float(rng.uniform(0.0, 1.0)))
            await desk.rewards(created.name, [given], batch=True)
    ((_, book),) = desk._shelf.items()
    await desk.stop(10.0)
    return book


class Unsnapped:
    """A reader of a log that has no snapshots."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def events(self, policy: int, after: int = 0, limit: int = 1_000_000) -> list[Row]:
        return self._reader.events(policy, after, limit)

    def snapshots(self, policy: int) -> list[SnapshotRow]:
        return []


def same(book: Book, other: Book) -> None:
    assert book.policy.to_bytes() == other.policy.to_bytes()
    assert book.state() == other.state()
    assert (book.seq, book.head) == (other.seq, other.head)


@pytest.mark.parametrize(("kind", "created"), CASES)
def test_the_log_gives_the_state_back(kind: str, created: CreateRequest, tmp_path: Path) -> None:
    with opened(tmp_path / "log.db") as store:
        served = asyncio.run(serve(store, kind, created, 60))
        with store.reading() as reader:
            (policy,) = reader.policies()
            assert reader.snapshots(policy.number)
            same(load(reader, policy.number), served)
            folded = load(Unsnapped(reader), policy.number)  # type: ignore[arg-type]
            same(folded, served)
            rows = reader.events(policy.number)
    assert [row.seq for row in rows] == list(range(1, served.seq + 1))
    for row in rows:
        event = events.decode(row.body)
        assert events.encode(events.from_json(events.to_json(event))) == row.body
    snapshot = take(folded)
    first = events.decode(rows[0].body)
    assert isinstance(first, events.Created)
    again = restore(first, snapshot)
    assert again is not None
    same(again, served)
    assert Audit(created.name, limits=LIMITS).run(rows).findings == []


def test_a_snapshot_with_sums_of_an_older_version_is_not_used(tmp_path: Path) -> None:
    """They carry rounding that the log does not: it is folded instead."""
    sums = Path(__file__).parent.parent / "policies" / "data" / "contexts-2.handrail"
    kind, created = next(case for case in kinds("LinHANDRAIL") if case[1].dim is not None)
    with opened(tmp_path / "log.db") as store:
        served = asyncio.run(serve(store, kind, created, 20))
        with store.reading() as reader:
            (policy,) = reader.policies()
            first = events.decode(reader.events(policy.number)[0].body)
    assert isinstance(first, events.Created)
    kept = take(served)
    assert restore(first, kept) is not None
    start = 1 + snapshots._DIGEST
    content = msgspec.msgpack.decode(kept.body[start:]) | {"policy": sums.read_bytes()}
    body = msgspec.msgpack.encode(content)
    checksum = snapshots._checksum(kept.seq, kept.hash, body)
    older = SnapshotRow(kept.seq, kept.hash, kept.body[:1] + checksum + body)
    assert not snapshots.is_damaged(older)
    assert restore(first, older) is None


def test_arms_that_come_and_go_and_checkpoints_are_folded(tmp_path: Path) -> None:
    created = CreateRequest(
        name="shop",
        algorithm="HANDRAILT",
        arms=["a", "b", "c"],
        baseline="b",
        baseline_mean=0.4,
        alpha=0.2,
        delta=0.1,
        reward_range=(0.0, 1.0),
        arms_ever=5,
        checkpoint_gap=3,
    )

    async def run(store: Store) -> Book:
        desk = Desk(store)
        await desk.start()
        await desk.create(created)
        for number in range(30):
            if number == 10:
                assert (await desk.add_arm("shop", ArmRequest(name="d"))).arm == "d"
            if number == 20:
                assert (await desk.retire_arm("shop", "a")).arm == "a"
            (answer,) = await desk.decide("shop", [DecideRequest()])
            assert number < 20 or answer.action != "a"
            await desk.rewards("shop", [RewardRequest(decision=answer.id, reward=0.5)])
            if number % 3 == 2:
                passed = await desk.checkpoint("shop")
                assert passed.checkpoints == number // 3 + 1
        ((_, book),) = desk._shelf.items()
        await desk.stop(10.0)
        return book

    with opened(tmp_path / "log.db") as store:
        served = asyncio.run(run(store))
        with store.reading() as reader:
            (policy,) = reader.policies()
            same(load(Unsnapped(reader), policy.number), served)  # type: ignore[arg-type]
    assert served.names == ["a", "b", "c", "d"]
