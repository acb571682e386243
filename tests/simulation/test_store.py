"""Blocks are kept whole or not at all, whatever happens."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handrail.errors import InputError
from handrail.simulation.store import MemoryStore, SqliteStore, Store, check_unused, store_files

OPEN = """
import sys
from handrail.errors import InputError
from handrail.simulation.store import SqliteStore
try:
    SqliteStore(sys.argv[1]).close()
except InputError as error:
    print(error)
"""

PUT = """
import sys
from handrail.simulation.store import SqliteStore
store = SqliteStore(sys.argv[1])
for number in range(10**9):
    store.put(str(number), block(number))
    print(number, flush=True)
"""

BLOCK = """
def block(number):
    return str(number).encode() * (number * 7919 % 20_000)
"""


def block(number: int) -> bytes:
    return str(number).encode() * (number * 7919 % 20_000)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def filled(path: Path, count: int = 20) -> dict[str, bytes]:
    """Make a store of some blocks, small and large."""
    content = {str(number): block(number) for number in range(count)}
    with SqliteStore(path) as store:
        for key, payload in content.items():
            store.put(key, payload)
    return content


@pytest.fixture(params=[MemoryStore, SqliteStore])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with request.param(*([tmp_path / "b"] if request.param is SqliteStore else [])) as made:
        yield made


def test_what_is_put_is_there(store: Store) -> None:
    assert store.keys() == set()
    store.put("a", b"one")
    store.put("b", b"")
    store.put("c/ü:1", bytes(range(256)) * 1000)
    assert store.get("a") == b"one"
    assert store.get("b") == b""
    assert store.get("c/ü:1") == bytes(range(256)) * 1000
    assert store.keys() == {"a", "b", "c/ü:1"}
    assert "a" in store
    assert "d" not in store
    with pytest.raises(KeyError, match="d"):
        store.get("d")


def test_the_first_block_of_a_key_stays(store: Store) -> None:
    store.put("a", b"one")
    store.put("a", b"two")
    assert store.get("a") == b"one"


def test_several_threads_may_use_it(store: Store) -> None:
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 25):
                store.put(str(number), block(number))
                assert store.get(str(number)) == block(number)
                assert str(number) in store
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(25 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.keys() == {str(number) for number in range(150)}


def test_closing_twice_is_fine(store: Store) -> None:
    store.close()
    store.close()


def test_a_store_is_one_file_once_closed(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    content = filled(path, 400)
    assert names(tmp_path) == ["blocks.sqlite"]
    with SqliteStore(path) as store:
        assert store.keys() == set(content)
        assert {key: store.get(key) for key in content} == content
        store.put("more", b"x")
        assert set(names(tmp_path)) <= set(store_files("blocks.sqlite"))
    assert names(tmp_path) == ["blocks.sqlite"]


def test_another_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    with SqliteStore(path) as store:
        store.put("a", b"one")
        other = subprocess.run(
            [sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True
        )
        assert other.stdout == (
            f"out: {path} is in use by another process; wait for it, or choose another folder\n"
        )
        for refused in (SqliteStore, check_unused):
            with pytest.raises(InputError, match="in use by another process"):
                refused(path)
        store.put("b", b"two")
        assert store.keys() == {"a", "b"}
    check_unused(path)
    with SqliteStore(path) as store:
        assert store.keys() == {"a", "b"}


def test_what_is_no_store_is_not_in_use(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a store")
    for name in ("text", "missing", "."):
        check_unused(tmp_path / name)
    assert names(tmp_path) == ["text"]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_while_storing_leaves_whole_blocks(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    for lines in (1, 40, 300):
        with subprocess.Popen(
            [sys.executable, "-c", BLOCK + PUT, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            seen = [process.stdout.readline().strip() for _ in range(lines)]
            process.send_signal(signal.SIGKILL)
            seen += process.stdout.read().split()
        with SqliteStore(path) as store:
            keys = store.keys()
            assert keys >= set(seen)
            assert all(store.get(key) == block(int(key)) for key in keys)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"garbage" * 1000,
        lambda whole: b"SQLite format 3\0" + b"garbage" * 1000,
        lambda whole: whole[:50],
        lambda whole: whole[:4096],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-4096],
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "blocks.sqlite"
    filled(path)
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(InputError, match="--force") as caught:
        SqliteStore(path)
    assert caught.value.field == "out"
    assert str(path) in caught.value.reason
    assert names(tmp_path) == ["blocks.sqlite"]
    assert path.read_bytes() == before


def test_every_flipped_byte_is_found_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    content = filled(path, 8)
    whole = path.read_bytes()
    refused = 0
    places = [*range(0, len(whole), 421), *range(8192, 8212), whole.index(b"CREATE") + 3]
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xD5]) + whole[place + 1 :])
        try:
            with SqliteStore(path) as store:
                for key in store.keys() & set(content):
                    assert store.get(key) == content[key]
                for key in set(content) - store.keys():
                    store.put(key, content[key])
        except InputError:
            refused += 1
    assert refused > 0.7 * len(places)  # the others are in unused space


def test_a_file_of_somebody_else_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (name)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="holds something else"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(InputError, match="upgrade handrail"):
        SqliteStore(path)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "blocks.sqlite"):
        with pytest.raises(InputError, match="cannot be written") as caught:
            SqliteStore(path)
        assert caught.value.field == "out"


def fill(store: SqliteStore) -> set[str]:
    """Put blocks until there is no room, then make sure that the others are all there."""
    stored: set[str] = set()

    def put_all() -> None:
        for number in range(10_000):
            store.put(str(number), block(number))
            stored.add(str(number))

    with pytest.raises(InputError, match="no disk space is left") as caught:
        put_all()
    assert caught.value.field == "out"
    assert "what was computed is kept" in caught.value.remedy
    assert len(stored) > 5
    assert store.keys() == stored
    assert all(store.get(key) == block(int(key)) for key in stored)
    return stored


def test_no_room_keeps_what_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    with SqliteStore(path) as store:
        store._connection.execute("PRAGMA max_page_count = 200")
        stored = fill(store)
    with SqliteStore(path) as store:
        assert store.keys() == stored
        store.put("more", bytes(100_000))
        assert store.keys() == stored | {"more"}


def test_a_full_disk_keeps_what_was_stored(mount: Callable[[str], Path]) -> None:
    disk = mount("size=1m")
    path = disk / "blocks.sqlite"
    with SqliteStore(path) as store:
        stored = fill(store)
    with SqliteStore(path) as store:
        assert store.keys() == stored
        assert all(store.get(key) == block(int(key)) for key in stored)


def test_a_read_only_disk_is_refused(mount: Callable[[str], Path]) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        SqliteStore(mount("ro") / "blocks.sqlite")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer's signal")
def test_an_interrupt_leaves_a_whole_store(tmp_path: Path) -> None:
    """As Ctrl-C would, between any two steps of the interpreter."""
    path = tmp_path / "blocks.sqlite"
    armed, hits, number = False, 0, 0

    def interrupt(*_: object) -> None:
        if armed:
            raise KeyboardInterrupt

    rng = np.random.default_rng(0)
    store = SqliteStore(path)
    gc.disable()  # what others run while it collects is not to be interrupted
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while hits < 300 and number < 20_000:
            number += 1
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1.5e-4))
                store.put(str(number), block(number))
                store.get(str(number))
                store.keys()
                armed = False
            except KeyboardInterrupt:
                armed = False
                hits += 1
            assert not store._lock.locked()
            assert not store._connection.in_transaction
            if str(number) in store:
                assert store.get(str(number)) == block(number)
            store.put(f"after {number}", b"z")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert hits == 300
    store.close()
    assert names(tmp_path) == ["blocks.sqlite"]
    with SqliteStore(path) as store:
        assert {f"after {i}" for i in range(1, number + 1)} <= store.keys()
