"""PostgreSQL: servers take turns, and lose no more than the transaction they are in."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from children import child, line
from handrail.errors import InputError
from handrail.service.store.open import open_store
from handrail.service.store.protocol import LogMoved, PolicyRow, Store, StoreUnavailable
from logs import add, chain
from postgres_server import PostgresServer

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")

from handrail.service.store.address import Address  # noqa: E402  they need psycopg
from handrail.service.store.postgres import Patience, PostgresStore  # noqa: E402

# Within a transaction, so that a slow machine cannot lose it before the test has the lock.
HURRY = "SET idle_in_transaction_session_timeout = '200ms'"


@pytest.fixture
def url(postgres_url: str) -> str:
    """The address of a database that has its tables."""
    open_store(postgres_url).close()
    return postgres_url


@contextlib.contextmanager
def opened(url: str, patience: Patience = Patience()) -> Iterator[PostgresStore]:  # noqa: B008
    store = PostgresStore(Address(url), patience)
    try:
        yield store
    finally:
        store.close()


def extend(store: Store, policies: list[int]) -> None:
    """Append one event to each policy, whatever the others did."""
    with store.writing() as writer:
        writer.lock([row for row in writer.policies() if row.number in policies])
        for policy in policies:
            head = writer.head(policy)
            seq = 1 if head is None else head.seq + 1
            writer.append(policy, chain(seq, seq))


def events(store: Store, policy: int) -> int:
    """Return how many events a log has, all of them right."""
    with store.reading() as reader:
        found = reader.events(policy)
    assert found == chain(1, len(found))
    return len(found)


def backend(store: PostgresStore) -> int:
    """Return the process that serves a store's transactions."""
    assert store._connection is not None
    return store._connection.info.backend_pid


def test_servers_take_turns(url: str) -> None:
    with opened(url) as store:
        policies = [add(store, name) for name in ("a", "b", "c")]
    failed: list[BaseException] = []

    def serve(order: list[int]) -> None:
        try:
            with opened(url) as store:
                for _ in range(40):
                    extend(store, order)
        except BaseException as error:
            failed.append(error)

    orders = [policies, policies[::-1], policies[1:] + policies[:1], policies[:2][::-1]]
    threads = [threading.Thread(target=serve, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with opened(url) as store:
        assert [events(store, policy) for policy in policies] == [160, 160, 120]


def test_policies_do_not_wait_for_each_other(url: str) -> None:
    with opened(url) as store, opened(url, Patience(lock=0.1)) as other:
        first, second = add(store, "a"), add(store, "b")
        with store.writing() as writer:
            writer.lock([PolicyRow(first, "a")])
            extend(other, [second])
            with pytest.raises(StoreUnavailable, match="55P03"):
                extend(other, [first])
        extend(other, [first])
        assert (events(store, first), events(store, second)) == (1, 1)


def test_after_the_lock_it_sees_what_its_last_holder_wrote(url: str) -> None:
    with opened(url) as store, opened(url) as other:
        policy = add(store)
        with store.writing() as writer:
            assert writer.head(policy) is None  # the transaction began before the other's did
            extend(other, [policy])
            writer.lock([PolicyRow(policy, "news")])
            head = writer.head(policy)
            assert head is not None
            assert head.seq == 1


def test_policies_that_are_others_by_now_are_not_locked(url: str) -> None:
    with opened(url) as store, opened(url) as other:
        one, two = add(store, "a"), add(store, "b")
        with store.writing() as writer:
            writer.lock([PolicyRow(two, "b"), PolicyRow(one, "a")])
        for wrong in (PolicyRow(one, "b"), PolicyRow(two + 1, "c")):
            with pytest.raises(LogMoved, match=wrong.name), store.writing() as writer:
                writer.lock([PolicyRow(two, "b"), wrong])
        extend(other, [one, two])  # and no lock is left


@pytest.mark.parametrize("missing", [1, 2, 5, 29])
def test_a_hole_is_found_while_no_more_events_are_behind_it(url: str, missing: int) -> None:
    """Wherever it lies: the log before it may have any length."""
    with opened(url) as store:
        policy = add(store, "news", 70)
        with store.reading() as reader:
            for seq in (1, 2, 3, 69, 70):
                assert reader.since(policy, seq, 100) == chain(seq, 70)
            assert reader.since(policy, 60, 2) == chain(60, 61)
            assert reader.since(policy, 71, 100) == []
        for behind in range(1, missing + 1):
            first = 70 - behind - missing + 1
            with store.writing() as writer:
                writer._run(
                    "DELETE FROM handrail_events WHERE seq >= %s AND seq < %s",
                    first,
                    first + missing,
                )
                with pytest.raises(LogMoved, match="events before 70"):
                    writer.since(policy, 70, 100)
                writer.append(policy, chain(first, first + missing - 1))


def test_a_holder_that_does_nothing_loses_the_lock(url: str) -> None:
    with opened(url) as paused, opened(url) as other:
        policy = add(other)
        with pytest.raises(StoreUnavailable), paused.writing() as writer:  # noqa: PT012
            writer.lock([PolicyRow(policy, "news")])
            writer.append(policy, chain(1, 1))
            writer._connection.execute(HURRY)
            extend(other, [policy])  # waits until PostgreSQL ends the idle transaction
            writer.head(policy)
        assert events(other, policy) == 1
        extend(paused, [policy])
        assert events(paused, policy) == 2


PAUSED = """
import sys
from logs import chain
from handrail.service.store.address import Address
from handrail.service.store.postgres import PostgresStore
from handrail.service.store.protocol import PolicyRow, StoreUnavailable

store = PostgresStore(Address(sys.argv[1]))
policy = int(sys.argv[2])
try:
    with store.writing() as writer:
        writer.lock([PolicyRow(policy, "news")])
        writer.append(policy, chain(1, 1))
        writer._connection.execute(sys.argv[3])
        print("locked", flush=True)
        sys.stdin.readline()
except StoreUnavailable:
    print("lost", flush=True)
with store.writing() as writer:
    writer.lock([PolicyRow(policy, "news")])
    writer.append(policy, chain(2, 2))
print("recovered", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="only POSIX can pause a process")
def test_a_process_that_is_paused_loses_the_lock_and_writes_nothing(url: str) -> None:
    with opened(url) as store:
        policy = add(store)
        with child(PAUSED, url, policy, HURRY) as process:
            assert line(process) == "locked"
            process.send_signal(signal.SIGSTOP)
            extend(store, [policy])
            process.send_signal(signal.SIGCONT)
            assert process.stdin is not None
            process.stdin.write("go on\n")
            process.stdin.flush()
            assert line(process) == "lost"
            assert line(process) == "recovered"
        assert events(store, policy) == 2


def test_a_process_that_is_killed_frees_the_lock(url: str) -> None:
    with opened(url) as store:
        policy = add(store)
        with child(PAUSED, url, policy, HURRY.replace("200ms", "0")) as process:
            assert line(process) == "locked"
            process.kill()
            process.wait()
            extend(store, [policy])
        assert events(store, policy) == 1


def test_a_connection_that_is_cut_costs_one_transaction(url: str, postgres: PostgresServer) -> None:
    with opened(url) as store:
        policy = add(store, "news", 1)
        with pytest.raises(StoreUnavailable), store.writing() as writer:  # noqa: PT012
            writer.lock([PolicyRow(policy, "news")])
            writer.append(policy, chain(2, 2))
            postgres.run(f"SELECT pg_terminate_backend({backend(store)}, 10000)")
        assert events(store, policy) == 1
        extend(store, [policy])
        assert events(store, policy) == 2


def test_connections_that_are_cut_while_idle_cost_nothing(
    url: str, postgres: PostgresServer
) -> None:
    with opened(url) as store:
        policy = add(store, "news", 1)
        assert events(store, policy) == 1
        postgres.run(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE application_name = 'handrail'"
        )
        extend(store, [policy])
        assert events(store, policy) == 2


def test_recovers_when_the_database_comes_back(url: str, postgres: PostgresServer) -> None:
    if not postgres.ours:
        pytest.skip("the PostgreSQL that the environment names is not ours to stop")
    with opened(url) as store:
        policy = add(store, "news", 1)
        try:
            with pytest.raises(StoreUnavailable), store.writing() as writer:  # noqa: PT012
                writer.lock([PolicyRow(policy, "news")])
                writer.append(policy, chain(2, 2))
                postgres.stop()
            for _ in range(2):
                with pytest.raises(StoreUnavailable):
                    extend(store, [policy])
                with pytest.raises(StoreUnavailable):
                    events(store, policy)
            with pytest.raises(InputError, match="does not take us"):
                open_store(url)
        finally:
            postgres.start()
        extend(store, [policy])
        assert events(store, policy) == 2


class Cutter(threading.Thread):
    """Stands between a store and PostgreSQL; told to cut, it keeps a commit's answer."""

    def __init__(self, folder: Path, target: str) -> None:
        super().__init__(daemon=True)
        self.cut = threading.Event()
        self._target = target
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        far = socket.socket(socket.AF_UNIX)
        far.connect(self._target)
        back = threading.Thread(target=self._pass, args=(far, near), daemon=True)
        back.start()
        self._pass(near, far)
        back.join()
        near.close()
        far.close()

    def _pass(self, here: socket.socket, there: socket.socket) -> None:
        """Pass on what comes from here; when that is over, all is."""
        with contextlib.suppress(OSError):
            while data := here.recv(65536):
                if self.cut.is_set() and b"C\0\0\0\x0bCOMMIT\0" in data:
                    break
                there.sendall(data)
        for end in (here, there):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_a_commit_without_an_answer_is_not_known(
    url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = Address(url).parameters["host"]
    if not target.startswith("/"):
        pytest.skip("the PostgreSQL that the environment names has no socket in a folder")
    folder = tmp_path_factory.mktemp("s")
    cutter = Cutter(folder, f"{target}/.s.PGSQL.5432")
    try:
        with opened(url) as store, opened(url.replace(target, str(folder))) as cut_off:
            policy = add(store, "news")
            extend(cut_off, [policy])
            cutter.cut.set()
            with pytest.raises(StoreUnavailable):
                extend(cut_off, [policy])
            cutter.cut.clear()
            extend(cut_off, [policy])  # locks, looks, and finds it was committed
            assert events(cut_off, policy) == 3
    finally:
        cutter.close()


def test_a_failure_that_is_passed_over_is_not_committed(url: str) -> None:
    with opened(url) as store:
        policy = add(store, "news", 2)
        with pytest.raises(StoreUnavailable), store.writing() as writer:  # noqa: PT012
            writer.append(policy, chain(3, 3))
            with contextlib.suppress(psycopg.Error):
                writer.append(policy, chain(1, 1))
                writer.head(policy)
        assert events(store, policy) == 2


def test_a_reader_may_take_its_time(url: str) -> None:
    with opened(url) as store, store.reading() as reader:
        found = reader._connection.execute("SHOW idle_in_transaction_session_timeout").fetchone()
    assert found == ("10min",)


def test_more_events_than_are_sent_at_once(url: str) -> None:
    rows = chain(1, 12_001)
    with opened(url) as store:
        policy = add(store)
        with store.writing() as writer:
            writer.append(policy, rows[:100])
            writer.append(policy, rows[100:])
        with store.reading() as reader:
            assert reader.events(policy) == rows


def test_rows_of_policies_and_places_that_none_has(url: str) -> None:
    """Numbers at the ends of what a column can hold."""
    first, last = -(2**63), 2**63 - 1
    with opened(url) as store:
        policy = add(store, "news", 3)
        strays = [first, -1, 0, last]
        with store.writing() as writer:
            for number in strays:
                writer.append(number, [chain(1, 1)[0]._replace(seq=last)])
        with store.reading() as reader:
            assert reader.ownerless() == strays
            assert [row.seq for row in reader.events(last)] == [last]
            assert reader.events(last, last) == []
            assert reader.events(policy, last) == []
            assert reader.since(policy, last, 10) == []
