"""Tasks are run once, stored at once, and stopped without loss."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from handrail.errors import InputError
from handrail.simulation.crew import Task
from handrail.simulation.progress import Progress
from handrail.simulation.runner import rounds_by_kind, run
from handrail.simulation.stop import Interrupted, Stop
from handrail.simulation.store import MemoryStore, SqliteStore
from handrail.simulation.threads import Threads, cores

LIMIT = 30.0
"""Seconds after which a test that waits in vain gives up."""

CHILD = """
import hashlib, os, sys, threading
from handrail.simulation.crew import Task
from handrail.simulation.runner import run
from handrail.simulation.stop import Interrupted
from handrail.simulation.store import SqliteStore
from handrail.simulation.threads import Threads

def say(text):
    os.write(1, f"{text}{os.linesep}".encode())  # whole, whichever thread it is

def result(number):
    return hashlib.pbkdf2_hmac("sha256", str(number).encode(), b"", 500, dklen=1000)

def compute(number, stop):
    if number >= int(held):
        say(f"holds {number}")
        stop.wait(30.0)
        if mode == "stubborn":
            say(f"deaf {number}")
            threading.Event().wait(30.0)
    if stop.is_set():
        raise Interrupted
    payload = result(number)  # without the interpreter's lock
    say(f"done {number}")
    return payload

path, mode, held = sys.argv[1:]
tasks = [Task(str(n), 10, "arms", lambda stop, n=n: compute(n, stop)) for n in range(60)]
with SqliteStore(path) as store:
    run(tasks, store, Threads(2))
"""


def task(key: str, compute: Callable[[Stop], bytes] | None = None) -> Task:
    return Task(key, 10, "arms", compute or (lambda stop: key.encode()))


def until_stopped(stop: Stop) -> bytes:
    assert stop.wait(LIMIT)
    raise Interrupted


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("workers", [None, 1, 2, 50])
def test_every_task_is_computed_and_stored(workers: int | None) -> None:
    store = MemoryStore()
    run([task(str(i)) for i in range(200)], store, Threads(workers))
    assert store.keys() == {str(i) for i in range(200)}
    assert store.get("17") == b"17"


def test_stored_tasks_are_skipped() -> None:
    store = MemoryStore()
    computed: list[str] = []

    def work(key: str) -> Task:
        def compute(stop: Stop) -> bytes:
            computed.append(key)
            return key.encode()

        return task(key, compute)

    run([work("a"), work("c")], store, Threads(1))
    run([work(key) for key in "abcd"], store, Threads(1))
    assert computed == ["a", "c", "b", "d"]
    run([work(key) for key in "abcd"], store)
    assert len(computed) == 4


def test_nothing_to_do_is_fine() -> None:
    run([], MemoryStore())


def test_as_many_at_a_time_as_there_are_workers() -> None:
    """Three that wait for each other end; and there are never more."""
    barrier = threading.Barrier(3)
    running, most, lock = 0, 0, threading.Lock()

    def compute(stop: Stop) -> bytes:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        barrier.wait(LIMIT)
        with lock:
            running -= 1
        return b""

    run([task(str(i), compute) for i in range(12)], MemoryStore(), Threads(3))
    assert most == 3


def test_workers_are_the_cores_by_default() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
    barrier = threading.Barrier(cores())
    tasks = [task(str(i), lambda stop: str(barrier.wait(LIMIT)).encode()) for i in range(cores())]
    run(tasks, MemoryStore())


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
def test_bad_workers_are_refused(workers: int) -> None:
    with pytest.raises(InputError) as caught:
        run([task("a")], MemoryStore(), Threads(workers))
    assert caught.value.field == "workers"


def test_an_error_stops_the_others_and_names_its_task() -> None:
    store = MemoryStore()
    holds = threading.Event()

    def hold(stop: Stop) -> bytes:
        holds.set()
        return until_stopped(stop)

    def fail(stop: Stop) -> bytes:
        assert holds.wait(LIMIT)
        raise ZeroDivisionError("no")

    never = task("never", lambda stop: pytest.fail("was begun"))
    tasks = [task("a"), task("b"), task("held", hold), task("broken", fail), never]
    with pytest.raises(ZeroDivisionError) as caught:
        run(tasks, store, Threads(2))
    assert caught.value.__notes__ == ["in block broken (arms, 10 rounds)"]
    assert store.keys() == {"a", "b"}
    run([task(each.key) for each in tasks], store, Threads(2))
    assert store.keys() == {each.key for each in tasks}


def test_what_finishes_while_stopping_is_kept() -> None:
    store = MemoryStore()
    began = threading.Event()

    def finish(stop: Stop) -> bytes:
        began.set()
        assert stop.wait(LIMIT)
        return b"finished all the same"

    def fail(stop: Stop) -> bytes:
        assert began.wait(LIMIT)
        raise MemoryError

    with pytest.raises(MemoryError):
        run([task("a", finish), task("b", fail)], store, Threads(2))
    assert store.keys() == {"a"}


def test_a_store_that_is_full_stops_the_run() -> None:
    class Full(MemoryStore):
        def put(self, key: str, payload: bytes) -> None:
            if len(self.keys()) == 3:
                raise InputError("out", "no disk space is left")
            super().put(key, payload)

    store = Full()
    with pytest.raises(InputError, match="no disk space"):
        run([task(str(i)) for i in range(100)], store, Threads(1))
    assert store.keys() == {"0", "1", "2"}


def test_a_task_that_stops_unasked_is_an_error() -> None:
    def compute(stop: Stop) -> bytes:
        raise Interrupted

    with pytest.raises(Interrupted) as caught:
        run([task("a", compute)], MemoryStore())
    assert "block a" in caught.value.__notes__[0]


def test_an_interrupt_in_the_caller_stops_the_tasks() -> None:
    """Here from the progress, which the calling thread runs."""

    class Impatient(Progress):
        def done(self, kind: str, rounds: int, seconds: float) -> None:
            raise KeyboardInterrupt

    store = MemoryStore()
    progress = Impatient({"arms": 20}, stream=io.StringIO())
    with pytest.raises(KeyboardInterrupt):
        run([task("a"), task("b", until_stopped)], store, Threads(2), progress=progress)
    assert store.keys() == {"a"}


def test_memory_stays_flat() -> None:
    class Forgets(MemoryStore):
        def put(self, key: str, payload: bytes) -> None:
            super().put(key, b"")

    tasks = [task(str(i), lambda stop: bytes(100_000)) for i in range(2000)]
    tracemalloc.start()
    try:
        run(tasks, Forgets(), Threads(4))
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_progress_hears_of_every_task() -> None:
    store = MemoryStore()
    tasks = [Task(str(i), 10 + i, "arms" if i % 3 else "fixed", lambda stop: b"") for i in range(9)]
    run(tasks[:4], store)
    stream = io.StringIO()
    with Progress(rounds_by_kind(tasks), stream=stream) as progress:
        run(tasks, store, Threads(2), progress=progress)
    assert rounds_by_kind(tasks) == {"arms": 87, "fixed": 39}
    assert stream.getvalue().startswith(" 100 %  1.3e+02 of 1.3e+02 rounds")


class Child:
    """A process that runs sixty tasks, says what it does, and holds in those from one on."""

    def __init__(self, path: Path, mode: str = "", held: int = 60) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path), mode, str(held)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        with self.process:
            pass

    def wait_for(self, word: str, count: int) -> None:
        """Read until the child has said so often that something is done, holds or is deaf."""
        assert self.process.stdout is not None
        while sum(line.startswith(word) for line in self.said) < count:
            line = self.process.stdout.readline()
            assert line, "the child has ended"
            self.said.append(line.strip())

    def end(self, number: signal.Signals | None = None) -> str:
        """Send a signal; return what the child wrote to standard error, once it has ended."""
        if number is not None:
            self.process.send_signal(number)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        begin = time.monotonic()
        self.said += self.process.stdout.read().splitlines()  # until the child has ended
        err = self.process.stderr.read()
        self.process.wait(LIMIT)
        assert time.monotonic() - begin < LIMIT / 2
        return err

    def done(self) -> list[str]:
        """Return the keys of all tasks that were computed to their end."""
        return [line.split()[1] for line in self.said if line.startswith("done")]


def check_whole_and_resume(path: Path, child: Child) -> None:
    """The store holds whole results of what was done; a second run computes the rest alone."""
    with SqliteStore(path) as store:
        kept = store.keys()
        assert all(len(store.get(key)) == 1000 for key in kept)
    assert 0 < len(kept) < 60
    # Of each worker, the last task may have been computed and not yet be stored.
    assert kept <= set(child.done())
    assert len(set(child.done()) - kept) <= 2
    with Child(path) as second:
        assert second.end() == ""
        assert second.process.returncode == 0
    assert sorted(second.done()) == sorted({str(n) for n in range(60)} - kept)
    with SqliteStore(path) as store:
        keys = store.keys()
        assert len({store.get(key) for key in keys}) == len(keys) == 60


posix = pytest.mark.skipif(os.name != "posix", reason="needs signals to processes")


@posix
def test_ctrl_c_stops_tasks_that_run(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    with Child(path, held=5) as child:
        child.wait_for("holds", 2)
        err = child.end(signal.SIGINT)
        assert child.process.returncode == -signal.SIGINT
        assert err.rstrip().endswith("KeyboardInterrupt")
    assert [each.name for each in tmp_path.iterdir()] == ["blocks.sqlite"]
    with SqliteStore(path) as store:
        assert store.keys() == set("01234")
    check_whole_and_resume(path, child)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_ended_in_the_middle_loses_nothing_that_was_stored(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "blocks.sqlite"
    with Child(path, held=50) as child:
        child.wait_for("done", 10)
        child.end(number)
        assert child.process.returncode == -number
    check_whole_and_resume(path, child)


@posix
def test_a_second_ctrl_c_waits_for_nobody(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    with Child(path, "stubborn", held=5) as child:
        child.wait_for("holds", 2)
        child.process.send_signal(signal.SIGINT)
        child.wait_for("deaf", 2)
        err = child.end(signal.SIGINT)
        assert child.process.returncode == -signal.SIGINT
        assert err.rstrip().endswith("KeyboardInterrupt")
    check_whole_and_resume(path, child)
