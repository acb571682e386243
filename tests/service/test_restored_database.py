"""A database that is restored to an earlier state under servers that keep theirs in memory."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from handrail.service.audit import Audit
from handrail.service.desk import Desk
from handrail.service.limits import Limits
from handrail.service.messages import CreateRequest, DecideRequest
from handrail.service.problems import Problem
from handrail.service.store.open import is_postgres, open_store
from handrail.service.store.protocol import Row
from service_logs import rows

TABLES = ("policies", "events", "idempotency", "snapshots", "keys")


def request(name: str) -> CreateRequest:
    return CreateRequest(
        name=name,
        algorithm="HANDRAIL",
        arms=3,
        baseline=0,
        baseline_mean=0.4,
        alpha=0.5,
        delta=0.1,
        reward_range=(0.0, 1.0),
    )


class Database:
    """A database whose state can be kept, and restored under whoever uses it."""

    def __init__(self, source: str, folder: Path) -> None:
        self.source = source
        self._kept = folder / "kept.db"
        open_store(source).close()

    def keep(self) -> None:
        """Keep the state as it is now."""
        if is_postgres(self.source):
            for table in TABLES:
                self._run(f"DROP TABLE IF EXISTS kept_{table}")
                self._run(f"CREATE TABLE kept_{table} AS SELECT * FROM handrail_{table}")
        else:
            self._copy(Path(self.source), self._kept)

    def restore(self) -> None:
        """Bring the state back that was kept, in one transaction."""
        if is_postgres(self.source):
            steps = []
            for table in TABLES:
                steps.append(f"DELETE FROM handrail_{table}")
                rows = f"OVERRIDING SYSTEM VALUE SELECT * FROM kept_{table}"
                steps.append(f"INSERT INTO handrail_{table} {rows}")
            steps.append(
                "SELECT setval(pg_get_serial_sequence('handrail_policies', 'number'), "
                "(SELECT coalesce(max(number), 0) + 1 FROM handrail_policies), false)"
            )
            self._run("; ".join(["BEGIN", *steps, "COMMIT"]))
        else:
            self._copy(self._kept, Path(self.source))

    def _copy(self, source: Path, target: Path) -> None:
        """Copy as the `.restore` of SQLite's own shell does: within its locks, in place."""
        with (
            contextlib.closing(sqlite3.connect(source)) as one,
            contextlib.closing(sqlite3.connect(target)) as two,
        ):
            one.backup(two)

    def _run(self, statement: str) -> None:
        import psycopg

        with contextlib.closing(psycopg.connect(self.source, autocommit=True)) as connection:
            connection.execute(statement)

    def change(self, statement: str) -> None:
        """Run a statement of the kind of database it is, in which tables have a {prefix}."""
        if is_postgres(self.source):
            self._run(statement.format(prefix="handrail_"))
        else:
            with contextlib.closing(sqlite3.connect(self.source, isolation_level=None)) as file:
                file.executescript(statement.format(prefix=""))

    def log(self, name: str) -> list[Row]:
        store = open_store(self.source)
        try:
            return rows(store, name)
        finally:
            store.close()

    def rounds(self, name: str) -> int:
        """Return how many rounds the log has, in which nothing is wrong."""
        audit = Audit(name).run(self.log(name))
        assert audit.findings == []
        assert audit.tally is not None
        return audit.tally.rounds


@pytest.fixture
def database(source: str, tmp_path: Path) -> Database:
    return Database(source, tmp_path)


@contextlib.asynccontextmanager
async def serving(database: Database, **limits: int) -> AsyncIterator[Desk]:
    store = open_store(database.source, exclusive=True)
    desk = Desk(store, limits=Limits(**limits))
    await desk.start()
    try:
        yield desk
        await desk.stop(30.0)
    finally:
        store.close()


async def play(desk: Desk, name: str, rounds: int) -> int:
    """Decide so many rounds; return the last one's number."""
    for _ in range(rounds):
        (answer,) = await desk.decide(name, [DecideRequest()])
    return answer.round


async def status(answer: Awaitable[object]) -> int:
    try:
        await answer
    except Problem as problem:
        return problem.status
    return 200


@pytest.fixture
def postgres_database(postgres_url: str, tmp_path: Path) -> Database:
    return Database(postgres_url, tmp_path)


def test_a_server_goes_on_from_the_log_and_not_from_its_memory(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with serving(database) as desk:
            await desk.create(request("shop"))
            assert await play(desk, "shop", 5) == 5
            database.keep()
            assert await play(desk, "shop", 6) == 11
            database.restore()
            assert await play(desk, "shop", 1) == 6
            assert await play(desk, "shop", 2) == 8
            assert desk.restored == 1
            assert desk.ready

    asyncio.run(story())
    assert database.rounds("shop") == 8
    assert "restored to an earlier state" in caplog.text


def test_a_batch_is_decided_anew_as_a_whole(database: Database) -> None:
    async def story() -> None:
        async with serving(database) as desk:
            for name in ("a", "b", "c"):
                await desk.create(request(name))
                await play(desk, name, 2)
            database.keep()
            await play(desk, "b", 3)
            database.restore()
            asked = [desk.decide(name, [DecideRequest()] * 2, batch=True) for name in "abc"]
            answers = await asyncio.gather(*asked)
            assert [[each.round for each in answer] for answer in answers] == [[3, 4]] * 3

    asyncio.run(story())
    assert [database.rounds(name) for name in "abc"] == [4, 4, 4]


def test_a_log_that_grew_again_under_another_server(postgres_database: Database) -> None:
    """It is as long as what the first one remembers, or longer; and it is another log."""

    async def story() -> None:
        async with serving(postgres_database) as one, serving(postgres_database) as two:
            await one.create(request("shop"))
            await play(one, "shop", 3)
            await two.show("shop")
            for more in (0, 1, 4):
                before = (await two.show("shop")).round
                postgres_database.keep()
                assert await play(one, "shop", 5) == before + 5
                postgres_database.restore()
                assert await play(two, "shop", 5 + more) == before + 5 + more
                assert await play(one, "shop", 1) == before + 6 + more
                assert (await two.show("shop")).round == before + 6 + more
            assert (one.restored, two.restored) == (3, 0)

    asyncio.run(story())
    assert postgres_database.rounds("shop") == 3 + 6 + 7 + 10


def test_numbers_of_policies_that_are_used_again(database: Database) -> None:
    """A policy that is gone, and another one that has its number now."""

    async def story() -> None:
        async with serving(database, books=1) as desk:
            database.keep()
            await desk.create(request("old"))
            await play(desk, "old", 3)
            await desk.create(request("older"))  # one book is kept: the other policy's number only
            database.restore()
            await desk.create(request("new"))
            await play(desk, "new", 3)
            assert await status(desk.decide("old", [DecideRequest()])) == 404
            assert await status(desk.decide("older", [DecideRequest()])) == 404
            assert await play(desk, "new", 1) == 4

    asyncio.run(story())
    assert database.rounds("new") == 4


def test_two_policies_that_changed_their_numbers(postgres_database: Database) -> None:
    """Made in another order after the restore, and known by their old numbers elsewhere."""

    async def story() -> None:
        async with serving(postgres_database) as one, serving(postgres_database) as two:
            postgres_database.keep()
            for name in ("a", "b"):
                await one.create(request(name))
                await play(one, name, 2)
            postgres_database.restore()
            for name in ("b", "a"):
                await two.create(request(name))
                await play(two, name, 3)
            asked = [one.decide(name, [DecideRequest()]) for name in ("a", "b", "a")]
            assert [answer[0].round for answer in await asyncio.gather(*asked)] == [4, 4, 5]

    asyncio.run(story())
    assert [postgres_database.rounds(name) for name in ("a", "b")] == [5, 4]


def test_what_is_shown_is_the_log(postgres_database: Database) -> None:
    async def story() -> None:
        async with serving(postgres_database) as desk:
            await desk.create(request("shop"))
            await play(desk, "shop", 2)
            postgres_database.keep()
            await play(desk, "shop", 2)
            postgres_database.restore()
            assert (await desk.show("shop")).round == 2
            assert (await desk.decisions("shop", 0, 10)).decisions[-1].round == 2

    asyncio.run(story())


def test_snapshots_of_what_is_gone_are_not_kept(database: Database) -> None:
    async def story() -> None:
        async with serving(database, snapshot_every=10) as desk:
            await desk.create(request("shop"))
            database.keep()
            await play(desk, "shop", 40)
            database.restore()
            await play(desk, "shop", 25)

    asyncio.run(story())
    store = open_store(database.source)
    with store.reading() as reader:
        log = reader.events(1)
        assert [log[each.seq - 1].hash for each in reader.snapshots(1)] == [
            each.hash for each in reader.snapshots(1)
        ]
    store.close()


def test_no_snapshot_of_what_is_gone_is_taken_at_the_end(database: Database) -> None:
    """Nobody asked for anything after the restore, so nobody noticed it."""

    async def story() -> None:
        async with serving(database, snapshot_every=100) as desk:
            await desk.create(request("shop"))
            database.keep()
            await play(desk, "shop", 40)
            database.restore()

    asyncio.run(story())
    store = open_store(database.source)
    with store.reading() as reader:
        assert reader.snapshots(1) == []
        assert len(reader.events(1)) == 1
    store.close()


def test_a_key_whose_decision_is_gone_leads_to_no_other(database: Database) -> None:
    """Events were removed, what is kept of keys was not, and other decisions took the places."""

    async def story() -> None:
        async with serving(database) as desk:

            async def ask(key: str) -> tuple[int, str]:
                (answer,) = await desk.decide("shop", [DecideRequest(idempotency_key=key)])
                return answer.round, answer.id

            await desk.create(request("shop"))
            old = [await ask(f"old-{number}") for number in range(6)]
            database.change("DELETE FROM {prefix}events WHERE seq > 3")
            new = [await ask(f"new-{number}") for number in range(6)]
            assert [each[0] for each in new] == [3, 4, 5, 6, 7, 8]
            assert await status(desk.fallback("shop", "key:old-4")) == 404
            assert await status(desk.played("shop", "key:old-4")) == 404
            assert (await ask("old-1"), await ask("new-1")) == (old[1], new[1])
            assert (await ask("old-4"))[0] == 9  # decided anew, and its own from now on
            assert (await ask("old-4"))[0] == 9
            assert await status(desk.fallback("shop", "key:old-4")) == 200

    asyncio.run(story())
    assert database.rounds("shop") == 9


# -- the table of policies -------------------------------------------------------------------------


def test_a_policy_that_is_gone_gets_no_events(database: Database) -> None:
    """Its row is, and its events are there."""

    async def story() -> None:
        async with serving(database) as desk:
            for name in ("a", "b"):
                await desk.create(request(name))
                await play(desk, name, 3)
            database.change("DELETE FROM {prefix}policies WHERE name = 'a'")
            assert await status(desk.decide("a", [DecideRequest()])) == 404
            assert await play(desk, "b", 1) == 4
            assert desk.restored == 1

    asyncio.run(story())
    store = open_store(database.source)
    with store.reading() as reader:
        assert [len(reader.events(number)) for number in (1, 2)] == [4, 5]
    store.close()


SWAPPED = """
    UPDATE {prefix}policies SET name = 'x' WHERE name = 'a';
    UPDATE {prefix}policies SET name = 'a' WHERE name = 'b';
    UPDATE {prefix}policies SET name = 'b' WHERE name = 'x'
"""


def test_names_that_were_swapped_get_no_events(database: Database) -> None:
    """Each log would go on under the other's name; a policy beside them is not touched."""

    async def story() -> None:
        async with serving(database) as desk:
            for name in ("a", "b", "c"):
                await desk.create(request(name))
                await play(desk, name, 3)
            database.change(SWAPPED)
            for name in ("a", "b", "a"):
                assert await status(desk.decide(name, [DecideRequest()])) == 503
                assert await status(desk.show(name)) == 503
            assert await play(desk, "c", 1) == 4
            # Memory is dropped when it is found wrong, and not for every request from then on.
            assert desk.restored == 1

    asyncio.run(story())
    store = open_store(database.source)
    with store.reading() as reader:
        assert [len(reader.events(number)) for number in (1, 2, 3)] == [4, 4, 5]
    store.close()


# -- restores without a lock -----------------------------------------------------------------------


@pytest.mark.parametrize("more", [1, 30])
def test_a_restore_that_takes_no_lock(postgres_database: Database, more: int) -> None:
    """What is appended before it is committed it neither sees nor removes: the log has a hole."""
    import psycopg

    async def story() -> None:
        async with serving(postgres_database) as desk:
            await desk.create(request("shop"))
            await desk.decide("shop", [DecideRequest()] * 50, batch=True)
            with contextlib.closing(psycopg.connect(postgres_database.source)) as restoring:
                restoring.execute("DELETE FROM handrail_events WHERE seq > 21")
                assert await play(desk, "shop", more) == 50 + more
                restoring.commit()
            assert await status(desk.decide("shop", [DecideRequest()])) == 503
            assert await status(desk.show("shop")) == 503
            assert desk.restored == 1

    asyncio.run(story())
    assert [row.seq for row in postgres_database.log("shop")] == [
        *range(1, 22),
        *range(52, 52 + more),
    ]
