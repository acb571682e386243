"""Rows of API keys and of idempotency keys that nobody wrote: left out, said, and not believed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.registry import CollectorRegistry

from handrail.cli import main
from handrail.service.desk import Desk
from handrail.service.http.gate import KeyGate
from handrail.service.http.meters import Meters
from handrail.service.keys import Keyring, new_key, rotten_keys
from handrail.service.messages import Answer, DecideRequest, ModeRequest
from handrail.service.problems import Problem
from handrail.service.server import Settings, first_keys
from handrail.service.store.open import open_store
from handrail.service.store.protocol import KeyRow
from rotten import change, lenient
from service_logs import fruit

# -- API keys --------------------------------------------------------------------------------------

ROTTEN = [
    "hash = 'text'",
    "hash = x'00'",
    "hash = NULL",
    "hash = 7",
    "role = 'admim'",
    "role = NULL",
    "role = x'61646d696e'",
    "policy = x'6e657773'",
    "created_at = NULL",
    "created_at = 'then'",
    "created_at = -1",
    "revoked_at = 'then'",
    "expires_at = 'then'",
    "expires_at = x'00'",
    "expires_at = 1.5",
    "used_at = 'then'",
    "label = x'00'",
    "id = 'x'",
    "id = x'00'",
    "id = CAST(x'3132333435363738ff' AS TEXT)",
]


def made(path: Path, rotten: str) -> list[tuple[str, KeyRow]]:
    """Make a database with a key for an admin, whose row rots, and a sound one to read."""
    keys = [new_key("admin"), new_key("read")]
    store = open_store(str(path))
    with store.writing() as writer:
        for _, row in keys:
            writer.add_key(row)
    store.close()
    lenient(path, "keys", f"UPDATE keys SET {rotten} WHERE id = ?", keys[0][1].id)
    return keys


@pytest.mark.parametrize("rotten", ROTTEN)
def test_a_rotten_key_opens_nothing_and_the_others_do(
    tmp_path: Path, rotten: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.db"
    (bad, _), (good, good_row) = made(path, rotten)

    async def story() -> None:
        store = open_store(str(path), exclusive=True)
        settings = Settings(host="127.0.0.1", port=0, database=str(path))
        rows = first_keys(store, settings, pytest.fail)
        assert len(Keyring(rows)) == 1
        desk = Desk(store)
        await desk.start()
        gate = KeyGate(desk.keys, rows, note=desk.note_used)
        for _ in range(2):
            key = gate.check({b"authorization": b"Bearer " + good.encode()})
            assert key == good_row
            looked = gate.check({b"authorization": b"Bearer " + bad.encode()})
            assert isinstance(looked, Awaitable)
            assert (await refused(looked)).status == 401
            await gate.refresh()
        await gate.note_used()
        assert desk.damaged_rows == {"idempotency": 0, "keys": 1}
        await desk.stop(30.0)
        store.close()

    asyncio.run(story())
    said = [each for each in caplog.records if "the table keys is damaged" in each.getMessage()]
    assert [each.levelname for each in said] == ["CRITICAL"]  # once


@pytest.mark.parametrize("rotten", ROTTEN)
def test_commands_go_on_beside_a_rotten_key(
    tmp_path: Path, rotten: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.db"
    (_, bad), (_, good) = made(path, rotten)
    at = ["--database", str(path)]
    assert main(["keys", "list", *at]) == 0
    said = capsys.readouterr()
    assert good.id in said.out
    assert bad.id not in said.out
    assert said.err.startswith("damaged, and left out: key ")
    assert main(["keys", "create", "--role", "read", *at]) == 0
    assert main(["keys", "revoke", good.id, *at]) == 0
    capsys.readouterr()
    assert main(["keys", "revoke", good.id, *at]) == 2
    assert "was revoked" in capsys.readouterr().err


def test_keys_that_were_made_are_sound() -> None:
    for role in ("decide", "reward", "read", "admin"):
        _, row = new_key(role, "news", now=0, label="x", expires_at=5)
        for each in (row, row._replace(revoked_at=0, used_at=2**62, policy=None, label=None)):
            assert rotten_keys([each]) == []


# -- idempotency keys ------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Some rounds, each under a key of its own, some of them made at one time."""
    path = tmp_path / "log.db"
    run(path, play)
    return path


async def play(desk: Desk) -> None:
    await desk.create(fruit("news"))
    for number in range(20):
        requests = [DecideRequest(idempotency_key=f"key-{number}-{each}") for each in range(3)]
        await desk.decide("news", requests, batch=True)


def run(path: Path, story: Callable[[Desk], Awaitable[object]]) -> None:
    async def told() -> None:
        store = open_store(str(path), exclusive=True)
        desk = Desk(store)
        await desk.start()
        try:
            await story(desk)
        finally:
            await desk.stop(30.0)
            store.close()

    asyncio.run(told())


async def ask(desk: Desk, key: str) -> Answer:
    (answer,) = await desk.decide("news", [DecideRequest(idempotency_key=key)])
    return answer


async def refused(asked: Awaitable[object]) -> Problem:
    with pytest.raises(Problem) as caught:
        await asked
    return caught.value


KEY = "key-7-1"
WRONG_EVENT = ["'text'", "NULL", "x'00'", "1.5", "0", "-3", f"{2**40}", f"{2**63 - 1}"]
"""What can be seen to be no event's number."""
OTHER_EVENT = ["1", "2", "3", "seq + 1", "seq - 1", "seq + 16", f"{2**40 - 1}", "62"]


def kept(path: Path, change_to: str) -> None:
    lenient(path, "idempotency", f"UPDATE idempotency SET {change_to} WHERE key = ?", KEY)


@pytest.mark.parametrize("seq", [*WRONG_EVENT, *OTHER_EVENT])
def test_a_decision_is_found_by_its_time(
    database: Path, seq: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not made again."""
    kept(database, f"seq = {seq}")

    async def story(desk: Desk) -> None:
        before = await desk.show("news")
        answer = await ask(desk, KEY)
        assert (answer.round, answer.repeated) == (23, True)
        assert (await ask(desk, KEY)).id == answer.id
        assert (await ask(desk, "key-7-2")).round == 24
        (first, *_) = await desk.decide("news", [DecideRequest(idempotency_key=KEY)], batch=True)
        assert first.id == answer.id
        assert (await desk.played("news", f"key:{KEY}")).decision == answer.id
        assert (await desk.show("news")).round == before.round
        assert (await ask(desk, "another")).round == before.round + 1
        assert desk.damaged_rows == {"idempotency": 1, "keys": 0}

    run(database, story)
    said = [each for each in caplog.records if "the table idempotency" in each.getMessage()]
    assert [each.levelname for each in said] == ["CRITICAL"]
    assert f"policy 1, key {KEY!r}" in said[0].getMessage()


@pytest.mark.parametrize("seq", [*WRONG_EVENT, *OTHER_EVENT])
@pytest.mark.parametrize("at", ["'text'", "NULL", "1.5", "0", "at - 9223372036854775807 - 1"])
def test_where_nothing_tells_nothing_is_decided(database: Path, seq: str, at: str) -> None:
    kept(database, f"seq = {seq}, at = {at}")

    async def story(desk: Desk) -> None:
        before = await desk.show("news")
        for _ in range(2):
            problem = await refused(ask(desk, KEY))
            assert (problem.status, problem.field) == (503, "idempotency_key")
        problem = await refused(desk.decide("news", [DecideRequest(idempotency_key=KEY)], True))
        assert problem.field == "requests[0].idempotency_key"
        assert (await refused(desk.played("news", f"key:{KEY}"))).status == 503
        assert (await desk.show("news")).round == before.round
        assert (await ask(desk, "another")).round == before.round + 1

    run(database, story)


@pytest.mark.parametrize("at", ["1.5", "'text'", "NULL", "0", "-at"])
def test_a_time_that_is_none_does_not_matter_where_the_event_is_right(
    database: Path, at: str
) -> None:
    kept(database, f"at = {at}")
    store = open_store(str(database))
    with store.writing() as writer:
        writer.forget(1)
    store.close()

    async def story(desk: Desk) -> None:
        await desk.change_mode("news", ModeRequest(mode="paused"))  # what is old is forgotten then
        await desk.change_mode("news", ModeRequest(mode="live"))
        assert (await ask(desk, KEY)).round == 23

    run(database, story)


def test_a_key_that_is_bytes_is_the_same_key(database: Path) -> None:
    """A flipped bit makes them of a text."""
    kept(database, "key = CAST(key AS BLOB)")

    async def story(desk: Desk) -> None:
        assert (await ask(desk, KEY)).round == 23
        assert (await ask(desk, "another")).round == 61

    run(database, story)


def test_rows_that_nobody_asks_for_are_found_after_a_start(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept(database, "seq = 'text'")
    lenient(database, "idempotency", "UPDATE idempotency SET at = NULL WHERE key = 'key-3-0'")
    caplog.set_level(logging.INFO, "handrail.service")

    async def story(desk: Desk) -> None:
        async with asyncio.timeout(60):
            while "were checked" not in caplog.text:
                await asyncio.sleep(0.01)
        assert desk.damaged_rows == {"idempotency": 2, "keys": 0}
        registry = CollectorRegistry()
        registry.register(Meters(desk))
        shown = generate_latest(registry).decode()
        assert 'handrail_damaged_rows{table="idempotency"} 2.0' in shown
        assert 'handrail_damaged_rows{table="keys"} 0.0' in shown
        assert (await ask(desk, KEY)).round == 23
        assert desk.damaged_rows == {"idempotency": 2, "keys": 0}  # no third

    run(database, story)
    for key in (KEY, "key-3-0"):
        assert f"the table idempotency is damaged, and is left out: policy 1, key {key!r}" in (
            caplog.text
        )


def test_what_the_keeper_writes_is_sound(database: Path) -> None:
    store = open_store(str(database))
    with store.writing() as writer:
        writer.remember(0, "", 0, 1)
        assert writer.rotten_kept(10) == []
    store.close()


def test_an_event_that_is_gone_is_no_rotten_row(database: Path) -> None:
    """A restore may leave what was kept of keys: what was decided under them is not there."""
    change(database, "DELETE FROM events WHERE policy = 1 AND seq > 30")
    change(database, "DELETE FROM snapshots")

    async def story(desk: Desk) -> None:
        assert (await ask(desk, "key-15-1")).round == 30
        assert (await ask(desk, "key-15-1")).round == 30
        assert desk.damaged_rows == {"idempotency": 0, "keys": 0}

    run(database, story)
