"""A clock that jumps: the log's time stands still rather than going back, and keys are kept."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from handrail.service.chain import START, link
from handrail.service.desk import Desk
from handrail.service.events import decode
from handrail.service.limits import Limits
from handrail.service.messages import Answer, CreateRequest, DecideRequest, RewardRequest
from handrail.service.store.open import open_store
from handrail.service.store.protocol import Store
from service_processes import seeded
from service_truth import audit, fold_again

POLICY = CreateRequest(
    name="shop",
    algorithm="HANDRAIL",
    arms=3,
    baseline=0,
    baseline_mean=0.4,
    alpha=0.5,
    delta=0.1,
    reward_range=(0.0, 1.0),
    window=30,
)
NOW = 1.8e9
YEAR = 366 * 86_400.0


class Clock:
    """Seconds since 1970, as somebody sets them."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


async def one(desk: Desk, key: str | None = None) -> Answer:
    (answer,) = await desk.decide("shop", [DecideRequest(idempotency_key=key)])
    return answer


async def jumping(store: Store, rng: random.Random) -> None:
    """Decide and reward while the clock jumps, back most of all, and ask for keys again."""
    clock = Clock()
    given: dict[str, Answer] = {}
    for _ in range(4):
        desk = Desk(store, limits=Limits(snapshot_every=25), clock=clock)
        await desk.start()
        if not given:
            await desk.create(POLICY)
        for _ in range(40):
            # Never ahead of the stated time for which keys are kept, but years back.
            clock.now = rng.choice([NOW, NOW + rng.uniform(0, 3600), NOW - rng.uniform(0, YEAR), 0])
            key = f"key-{len(given)}"
            given[key] = await one(desk, key)
            assert not given[key].repeated
            again = rng.choice(list(given))
            clock.now = rng.choice([clock.now, NOW - YEAR, NOW + 3600])
            repeated = await one(desk, again)
            assert repeated.repeated
            assert repeated.id == given[again].id
            if rng.random() < 0.7:
                reward = RewardRequest(decision=given[again].id, reward=0.5)
                await desk.rewards("shop", [reward], batch=True)
        await desk.stop(30.0)


def test_a_clock_that_jumps_back(tmp_path: Path) -> None:
    database = str(tmp_path / "log.db")
    store = open_store(database, exclusive=True)
    with seeded(9) as rng:
        asyncio.run(jumping(store, rng))
        with store.reading() as reader:
            rows = reader.events(1)
        store.close()
        head, at = START, 0
        for row in rows:
            head = link(head, row.body)
            event = decode(row.body)
            assert row.hash == head
            assert event.at >= at
            at = event.at
        assert at == int((NOW + 3600) * 1e6)
        assert fold_again(database, {"shop": head.hex()}) > 0
        audit(database)


@pytest.mark.parametrize("jump", [-YEAR, 0.0])
def test_a_key_is_kept_for_its_time_and_not_for_ever(jump: float, tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        clock = Clock()
        desk = Desk(store, limits=Limits(idempotency_seconds=100.0), clock=clock)
        await desk.start()
        await desk.create(POLICY)
        first = await one(desk, "a")
        clock.now += jump
        assert (await one(desk, "a")).id == first.id
        clock.now = NOW + 99.0
        assert (await one(desk, "a")).id == first.id
        clock.now = NOW + 101.0
        second = await one(desk, "a")
        assert (second.repeated, second.round) == (False, 2)
        await desk.stop(30.0)

    store = open_store(str(tmp_path / "log.db"), exclusive=True)
    asyncio.run(main(store))
    store.close()
