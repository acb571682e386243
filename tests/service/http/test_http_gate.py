"""The gate by itself: how often it looks, what it does while it cannot, who comes from a page."""

from __future__ import annotations

import asyncio
import time

import pytest

from fake_desk import FakeDesk
from handrail.service.http.gate import KeyGate, OpenGate, is_loopback
from handrail.service.keys import new_key
from handrail.service.problems import Problem
from handrail.service.store.protocol import KeyRow


def header(key: str) -> dict[bytes, bytes]:
    return {b"authorization": f"Bearer {key}".encode()}


async def checked(gate: KeyGate, key: str) -> KeyRow:
    found = gate.check(header(key))
    return found if isinstance(found, KeyRow) else await found


def test_it_looks_at_once_and_then_once_a_second() -> None:
    now = [100.0]
    desk = FakeDesk()
    gate = KeyGate(desk.keys, [], clock=lambda: now[0])
    key, row = new_key("read")

    async def main() -> None:
        with pytest.raises(Problem):
            await checked(gate, key)
        assert desk.fetched == 1
        desk.rows.append(row)
        with pytest.raises(Problem):  # it has just looked
            await checked(gate, key)
        assert desk.fetched == 1
        now[0] += 1.0
        assert await checked(gate, key) == row
        assert desk.fetched == 2
        assert await checked(gate, key) == row
        assert desk.fetched == 2

    asyncio.run(main())


def test_many_at_once_look_once() -> None:
    desk = FakeDesk()
    key, row = new_key("read")
    desk.rows.append(row)

    async def main() -> list[KeyRow]:
        gate = KeyGate(desk.keys, [])
        return await asyncio.gather(*(checked(gate, key) for _ in range(20)))

    assert asyncio.run(main()) == [row] * 20
    assert desk.fetched == 1


def test_while_the_database_is_away_known_keys_stay() -> None:
    key, row = new_key("read")
    desk = FakeDesk([row])
    desk.fails = Problem(503, "away")

    async def main() -> None:
        gate = KeyGate(desk.keys, [row])
        await gate.refresh()
        assert await checked(gate, key) == row
        desk.fails = None
        desk.rows = [row._replace(revoked_at=1)]
        await gate.refresh()
        with pytest.raises(Problem) as caught:
            await checked(gate, key)
        assert caught.value.status == 401

    asyncio.run(main())


def test_it_notes_which_keys_were_used_and_when() -> None:
    keys = [new_key("read") for _ in range(3)]
    desk = FakeDesk([row for _, row in keys])

    async def main() -> None:
        gate = KeyGate(desk.keys, [keys[0][1]], note=desk.note_used)
        await gate.note_used()
        assert desk.asked == []  # nobody came
        before = time.time_ns() // 1000
        for key, _ in keys[:2]:  # one it knows, and one that it has to look for
            await checked(gate, key)
        desk.fails = Problem(503, "away")
        await gate.note_used()
        desk.fails = None
        await gate.note_used()
        ((_, used),) = [each for each in desk.asked if each[0] == "note_used"][-1:]
        assert set(used) == {row.id for _, row in keys[:2]}
        assert all(before <= at <= time.time_ns() // 1000 for at in used.values())
        count = len(desk.asked)
        await gate.note_used()
        assert len(desk.asked) == count

    asyncio.run(main())


@pytest.mark.parametrize(
    ("headers", "may"),
    [
        ({}, True),
        ({b"host": b"127.0.0.1:8642"}, True),
        ({b"host": b"localhost"}, True),
        ({b"host": b"[::1]:8642"}, True),
        ({b"host": b"evil.example"}, False),  # a name that was made to point here
        ({b"host": b"127.0.0.1.evil.example"}, False),
        ({b"host": b""}, False),
        ({b"host": b"[::1"}, False),
        ({b"host": b"localhost:8642", b"origin": b"http://localhost:8642"}, True),
        ({b"host": b"localhost:8642", b"origin": b"http://localhost:9000"}, False),
        ({b"host": b"localhost:8642", b"origin": b"https://evil.example"}, False),
        ({b"host": b"localhost:8642", b"origin": b"null"}, False),
    ],
)
def test_without_keys_pages_of_elsewhere_are_refused(
    headers: dict[bytes, bytes], may: bool
) -> None:
    gate = OpenGate()
    if may:
        gate.check(headers)
    else:
        with pytest.raises(Problem) as caught:
            gate.check(headers)
        assert caught.value.status == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.0.1", "example.org", "10.0.0.1"])
def test_what_is_no_loopback_address(host: str) -> None:
    assert not is_loopback(host)
