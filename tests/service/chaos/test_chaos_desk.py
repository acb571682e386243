"""The desk when its database fails it: it says so, tries again, and never dies unnoticed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from faulty_store import FaultyStore
from handrail.service import keeper
from handrail.service.book import Book
from handrail.service.desk import Desk
from handrail.service.limits import Limits
from handrail.service.messages import CreateRequest, DecideRequest
from handrail.service.problems import Problem
from handrail.service.store.open import open_store
from handrail.service.store.protocol import Reader, StoreBroken, StoreUnavailable

POLICY = CreateRequest(
    name="shop",
    algorithm="HANDRAIL",
    arms=3,
    baseline=0,
    baseline_mean=0.4,
    alpha=0.5,
    delta=0.1,
    reward_range=(0.0, 1.0),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FaultyStore]:
    opened = FaultyStore(open_store(str(tmp_path / "log.db"), exclusive=True))
    yield opened
    opened.close()


def with_desk(store: FaultyStore, story: Callable[[Desk], Awaitable[None]]) -> None:
    """Tell a story of a desk that has a policy."""

    async def main() -> None:
        desk = Desk(store, limits=Limits(snapshot_every=10))
        await desk.start()
        await desk.create(POLICY)
        await desk.show("shop")  # what is due after the first request is done
        async with asyncio.timeout(60):
            await story(desk)
            await desk.stop(30.0)

    asyncio.run(main())


async def status(answer: Awaitable[object]) -> int:
    """Return the HTTP status that an answer would have."""
    try:
        await answer
    except Problem as problem:
        return problem.status
    return 200


async def eventually(true: Callable[[], bool]) -> None:
    """Look until it is true; the story has an end anyway."""
    while not true():
        await asyncio.sleep(0.01)


def test_files_that_are_swapped_are_noticed_by_those_who_only_look(
    store: FaultyStore, tmp_path: Path
) -> None:
    async def story(desk: Desk) -> None:
        (tmp_path / "log.db-wal").unlink()
        async with asyncio.timeout(10):
            while await status(desk.show("shop")) == 200:  # without a pause, nothing is written
                pass
        assert isinstance(desk.broken, StoreBroken)

    with_desk(store, story)
    assert len(list(tmp_path.glob("log.db.rescued-*"))) == 1


def test_a_database_that_is_away_is_tried_until_it_is_back(store: FaultyStore) -> None:
    async def story(desk: Desk) -> None:
        store.faults.extend(["before"] * 2)
        assert await status(desk.decide("shop", [DecideRequest()])) == 503
        assert (desk.ready, desk.reachable, desk.broken) == (False, False, None)
        await eventually(lambda: desk.ready)  # though nobody asks for anything
        assert not store.faults
        (answer,) = await desk.decide("shop", [DecideRequest()])
        assert answer.round == 1

    with_desk(store, story)


def test_what_only_looks_does_not_show_that_writing_works(store: FaultyStore) -> None:
    async def story(desk: Desk) -> None:
        store.faults.append("undone")
        assert await status(desk.decide("shop", [DecideRequest()])) == 503
        assert (await desk.show("shop")).round == 0
        assert not desk.ready
        assert await status(desk.decide("shop", [DecideRequest()])) == 200
        assert desk.ready

    with_desk(store, story)


def test_what_is_committed_can_be_looked_at_while_nothing_can_be_written(
    store: FaultyStore,
) -> None:
    """Also by those who wait beside others that want to write."""

    async def story(desk: Desk) -> None:
        await desk.decide("shop", [DecideRequest()] * 3, batch=True)
        store.faults.extend(["before", "undone", "before"] * 100)
        with store.held():
            writers = [asyncio.ensure_future(desk.decide("shop", [DecideRequest()]))]
            await asyncio.sleep(0)
            await eventually(lambda: desk.waiting == 0)  # it has begun, and the others wait
            looks: list[Awaitable[object]] = [
                *(desk.show("shop"), desk.policies("", 10, None)),
                *(desk.budget("shop", 0, 10), desk.estimates("shop", 0, 10)),
                *(desk.decisions("shop", 0, 10), desk.events("shop", 0, 10)),
            ]
            waiting = [asyncio.ensure_future(status(each)) for each in looks]
            await eventually(lambda: desk.waiting >= len(looks) - 1)
            writers.append(asyncio.ensure_future(desk.decide("shop", [DecideRequest()])))
        assert await asyncio.gather(*waiting) == [200] * len(looks)
        assert [await status(each) for each in writers] == [503, 503]
        assert (await desk.budget("shop", 0, 10)).round == 3
        assert (await desk.estimates("shop", 0, 10)).round == 3
        store.faults.clear()

    with_desk(store, story)


def test_a_database_that_neither_works_nor_fails_makes_it_not_ready(
    store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        with store.held():
            asked = asyncio.ensure_future(desk.decide("shop", [DecideRequest()]))
            assert desk.ready
            monkeypatch.setattr("handrail.service.desk._STALL_SECONDS", 0.01)
            await eventually(lambda: not desk.ready)
            assert not asked.done()
        assert (await asked)[0].round == 1
        await eventually(lambda: desk.ready)

    with_desk(store, story)


def test_reading_that_fails_is_tried_too(store: FaultyStore) -> None:
    def away(_: Reader) -> None:
        raise StoreUnavailable("away")

    async def story(desk: Desk) -> None:
        store.reads = away
        assert await status(desk.keys()) == 503
        assert not desk.ready
        await eventually(lambda: desk.ready)
        store.reads = None
        assert await desk.keys() == []

    with_desk(store, story)


def test_reading_from_a_broken_database_ends_the_service(store: FaultyStore) -> None:
    def broken(_: Reader) -> None:
        raise StoreBroken("a page cannot be read")

    async def story(desk: Desk) -> None:
        store.reads = broken
        assert await status(desk.keys()) == 503
        assert isinstance(desk.broken, StoreBroken)
        assert not desk.ready
        assert await status(desk.decide("shop", [DecideRequest()])) == 503

    with_desk(store, story)


def test_snapshots_that_fail_do_not_keep_it_from_deciding(
    store: FaultyStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistake(_: Book) -> None:
        raise ValueError("a mistake of ours")

    async def story(desk: Desk) -> None:
        monkeypatch.setattr(keeper, "take", mistake)
        for number in range(1, 30):
            (answer,) = await desk.decide("shop", [DecideRequest()])
            assert answer.round == number
        assert desk.ready

    with_desk(store, story)
    assert "a mistake of ours" in caplog.text


def test_a_mistake_in_the_thread_ends_the_service(
    store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        def mistake(_: object) -> None:
            raise KeyError("a mistake of ours")

        monkeypatch.setattr(desk, "_serve", mistake)
        asked = asyncio.ensure_future(desk.decide("shop", [DecideRequest()]))
        await eventually(lambda: desk.broken is not None)
        assert isinstance(desk.broken, KeyError)
        assert not asked.done()  # the server cuts it off
        assert await status(desk.decide("shop", [DecideRequest()])) == 503
        asked.cancel()

    with_desk(store, story)
