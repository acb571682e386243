"""What every database of the service does alike."""

from __future__ import annotations

import threading

import pytest

from handrail.errors import InputError
from handrail.service.store.open import open_store
from handrail.service.store.protocol import KeyMoved, KeyRow, PolicyRow, Row, SnapshotRow, Store
from handrail.service.store.protocol import StoreUnavailable as Unavailable
from logs import add, chain


def test_events_come_back_as_they_went_in(store: Store) -> None:
    policy, other = add(store, "news", 9), add(store, "sport", 3)
    with store.reading() as reader:
        assert reader.events(policy) == chain(1, 9)
        assert reader.events(policy, after=4, limit=2) == chain(1, 9)[4:6]
        assert reader.events(policy, after=9) == []
        assert reader.events(other) == chain(1, 3)
        assert reader.head(policy) == chain(1, 9)[-1]
        assert reader.head(other + 1) is None
        assert reader.events(other + 1) == []
        assert isinstance(reader.events(policy)[0].body, bytes)


def test_events_of_no_policy_are_found(store: Store) -> None:
    news, sport = add(store, "news", 9), add(store, "sport", 3)
    with store.reading() as reader:
        assert reader.ownerless() == []
    strays = [sport + 3, sport + 70_000]
    with store.writing() as writer:
        for number in strays:
            writer.append(number, chain(1, 4))
    with store.reading() as reader:
        assert reader.ownerless() == strays
        assert len(reader.events(news)) == 9


def test_what_is_kept_of_a_key_and_leads_to_no_event(store: Store) -> None:
    policy = add(store, "news", 5)
    with store.writing() as writer:
        writer.remember(policy, "right", 3, 7)
        writer.remember(policy, "gone", 9, 8)
        writer.remember(policy, "rotten", 0, 9)
        writer.remember(0, "", 0, 9)
    with store.reading() as reader:
        assert reader.keyed(policy, "right") == chain(3, 3)[0]
        for key, kept in (("gone", (9, 8)), ("rotten", (None, 9))):
            with pytest.raises(KeyMoved):
                reader.keyed(policy, key)
            assert reader.kept(policy, key) == kept
        assert reader.kept(policy, "right") == (3, 7)
        assert reader.kept(policy, "unknown") == (None, None)
        assert reader.rotten_kept(10) == [f"policy {policy}, key 'rotten'"]
        assert reader.rotten_kept(0) == []


def test_rounds_are_found_with_both_ends(store: Store) -> None:
    policy = add(store, "news", 9)
    add(store, "sport", 9)
    with store.reading() as reader:
        assert [row.seq for row in reader.rounds(policy, 1, 1)] == [2, 3]
        assert [row.seq for row in reader.rounds(policy, 2, 3)] == [4, 5, 6, 7]
        assert reader.rounds(policy, 5, 100) == []
        assert reader.rounds(policy, 1, 100) == chain(2, 9)


def test_rounds_come_in_the_order_of_seq(store: Store) -> None:
    policy = add(store)
    rows = [Row(1, 2, b"a", b"h"), Row(2, 1, b"b", b"h"), Row(3, 2, b"c", b"h")]
    with store.writing() as writer:
        writer.append(policy, rows)
    with store.reading() as reader:
        assert reader.rounds(policy, 1, 2) == rows


def test_large_numbers_and_bodies(store: Store) -> None:
    policy = add(store)
    row = Row(2**39, 2**52, b"\0" * 3_000_000, b"\xff" * 32)
    with store.writing() as writer:
        writer.append(policy, [row])
    with store.reading() as reader:
        assert reader.head(policy) == row
        assert reader.rounds(policy, 2**52, 2**52) == [row]


def test_policies_are_in_the_order_of_their_names(store: Store) -> None:
    names = ["b", "a", "é", "B", "a2", "Z", "日"]
    numbers = {name: add(store, name) for name in names}
    assert len(set(numbers.values())) == len(names)
    ordered = [PolicyRow(numbers[name], name) for name in sorted(names)]
    with store.reading() as reader:
        assert reader.policies() == ordered
        assert reader.policies(after="a", limit=2) == ordered[3:5]
        assert reader.find("B") == PolicyRow(numbers["B"], "B")
        assert reader.find("c") is None


def test_a_name_is_taken_once(store: Store) -> None:
    policy = add(store)
    with store.writing() as writer:
        assert writer.add_policy("news") is None
    with store.reading() as reader:
        assert reader.policies() == [PolicyRow(policy, "news")]


def test_an_exception_leaves_nothing(store: Store) -> None:
    policy = add(store, "news", 2)
    with pytest.raises(ZeroDivisionError), store.writing() as writer:  # noqa: PT012
        writer.add_policy("sport")
        writer.append(policy, chain(3, 5))
        writer.remember(policy, "k", 3, 1)
        writer.put_snapshot(policy, SnapshotRow(3, chain(3, 3)[0].hash, b"s"), keep=2)
        assert len(writer.snapshots(policy)) == 1
        writer.add_key(KeyRow("id", "read", None, b"h", 1, None))
        assert writer.head(policy) == chain(1, 5)[-1]  # what it wrote it sees itself
        raise ZeroDivisionError
    with store.reading() as reader:
        assert reader.find("sport") is None
        assert reader.events(policy) == chain(1, 2)
        assert reader.keyed(policy, "k") is None
        assert reader.snapshots(policy) == []
        assert reader.keys() == []
    with store.writing() as writer:  # and the next transaction is none the worse for it
        writer.append(policy, chain(3, 3))
    with store.reading() as reader:
        assert len(reader.events(policy)) == 3


def test_an_event_is_never_written_over(store: Store) -> None:
    policy = add(store, "news", 5)
    with pytest.raises(Unavailable), store.writing() as writer:  # noqa: PT012
        writer.append(policy, chain(6, 6))
        writer.append(policy, [Row(5, None, b"other", b"hash")])
    with store.reading() as reader:
        assert reader.events(policy) == chain(1, 5)


def test_readers_see_only_what_is_committed(store: Store) -> None:
    policy = add(store, "news", 1)
    with store.writing() as writer:
        writer.append(policy, chain(2, 2))
        assert len(writer.events(policy)) == 2
        with store.reading() as reader:
            assert len(reader.events(policy)) == 1
    with store.reading() as reader:
        assert len(reader.events(policy)) == 2


def test_a_reader_sees_one_moment(store: Store) -> None:
    policy = add(store, "news", 1)
    with store.reading() as reader:
        assert len(reader.events(policy)) == 1
        with store.writing() as writer:
            writer.append(policy, chain(2, 2))
        assert len(reader.events(policy)) == 1
        assert reader.rounds(policy, 1, 9) == []
    with store.reading() as reader:
        assert len(reader.events(policy)) == 2


def test_readers_in_many_threads(store: Store) -> None:
    policy = add(store, "news", 50)
    found: list[int] = []

    def read() -> None:
        for _ in range(20):
            with store.reading() as reader:
                found.append(len(reader.events(policy)))

    threads = [threading.Thread(target=read) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [50] * 200


def test_a_reader_that_fails_harms_nobody(store: Store) -> None:
    policy = add(store, "news", 3)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError), store.reading() as reader:
            reader.find(str(1 / 0))
    with store.reading() as reader:
        assert len(reader.events(policy)) == 3


def test_idempotency_keys(store: Store) -> None:
    policy, other = add(store, "news", 5), add(store, "sport", 5)
    rows = chain(1, 5)
    strange = "a\0b 日 '; DROP TABLE" + "x" * 180
    with store.writing() as writer:
        writer.remember(policy, "k", 2, at=100)
        writer.remember(policy, strange, 3, at=200)
        writer.remember(other, "k", 4, at=300)
        assert writer.keyed(policy, "k") == rows[1]
    with store.reading() as reader:
        assert reader.keyed(policy, "k") == rows[1]
        assert reader.keyed(policy, strange) == rows[2]
        assert reader.keyed(other, "k") == rows[3]
        assert reader.keyed(other, strange) is None
    with store.writing() as writer:
        writer.remember(policy, "k", 5, at=250)  # gives way
        writer.forget(before=250)
    with store.reading() as reader:
        assert reader.keyed(policy, "k") == rows[4]
        assert reader.keyed(policy, strange) is None
        assert reader.keyed(other, "k") == rows[3]


def test_a_key_used_twice_in_one_transaction_means_the_last(store: Store) -> None:
    policy = add(store, "news", 5)
    with store.writing() as writer:
        writer.remember(policy, "k", 2, at=1)
        writer.remember(policy, "k", 3, at=2)
    with store.reading() as reader:
        assert reader.keyed(policy, "k") == chain(1, 5)[2]


def test_snapshots_are_kept_and_pruned(store: Store) -> None:
    policy, other = add(store, "news", 30), add(store, "sport", 30)
    rows = chain(1, 30)
    shots = [SnapshotRow(seq, rows[seq - 1].hash, b"state" * 5_000 * seq) for seq in (10, 20, 30)]
    with store.writing() as writer:
        writer.put_snapshot(other, shots[0], keep=2)
    for shot in shots:
        with store.writing() as writer:
            writer.put_snapshot(policy, shot, keep=2)
    with store.reading() as reader:
        assert reader.snapshots(policy) == [shots[2], shots[1]]
        assert reader.snapshots(other) == [shots[0]]
    again = shots[2]._replace(body=b"newer")
    with store.writing() as writer:
        writer.put_snapshot(policy, again, keep=1)
    with store.reading() as reader:
        assert reader.snapshots(policy) == [again]


def test_snapshots_of_events_that_are_not_there_are_not_kept(store: Store) -> None:
    """After a restore; the one that is there stays."""
    policy, other = add(store, "news", 20), add(store, "sport", 30)
    rows = chain(1, 30)
    good = SnapshotRow(20, rows[19].hash, b"state")
    with store.writing() as writer:
        writer.put_snapshot(policy, good, keep=2)
        writer.put_snapshot(other, good, keep=2)
    for seq, hash in ((30, rows[29].hash), (20, bytes(32)), (10, rows[10].hash)):
        with store.writing() as writer:
            writer.put_snapshot(policy, SnapshotRow(seq, hash, b"gone"), keep=1)
    with store.reading() as reader:
        assert reader.snapshots(policy) == reader.snapshots(other) == [good]


def test_api_keys(store: Store) -> None:
    rows = [
        KeyRow("a1", "admin", None, b"\0" * 32, 1_700_000_000_000_000, None),
        KeyRow("b2", "decide", "news", b"\1" * 32, 1_700_000_000_000_001, None, "shop", 9, None),
    ]
    with store.writing() as writer:
        for row in reversed(rows):
            writer.add_key(row)
    with store.reading() as reader:
        assert reader.keys() == rows
    with store.writing() as writer:
        assert writer.revoke_key("b2", 5)
        assert not writer.revoke_key("b2", 6)
        assert not writer.revoke_key("c3", 7)
    with store.reading() as reader:
        assert reader.keys() == [rows[0], rows[1]._replace(revoked_at=5)]
    for used, latest in (({"a1": 40, "c3": 1}, 40), ({"a1": 30}, 40), ({"a1": 50}, 50)):
        with store.writing() as writer:
            writer.use_keys(used)
        with store.reading() as reader:
            assert reader.keys() == [
                rows[0]._replace(used_at=latest),
                rows[1]._replace(revoked_at=5),
            ]


def test_what_was_written_is_there_when_opened_again(source: str) -> None:
    store = open_store(source, exclusive=True)
    policy = add(store, "news", 7)
    store.close()
    again = open_store(source, create=False)
    with again.reading() as reader:
        assert reader.find("news") == PolicyRow(policy, "news")
        assert reader.events(policy) == chain(1, 7)
    again.close()


def test_a_tool_works_beside_the_server(store: Store, source: str) -> None:
    tool = open_store(source, create=False)
    with tool.writing() as writer:
        writer.add_key(KeyRow("a1", "read", None, b"h", 1, None))
    with store.reading() as reader:
        (key,) = reader.keys()
        assert key.id == "a1"
    policy = add(store, "news", 1)
    with tool.reading() as reader:
        assert reader.head(policy) == chain(1, 1)[0]
    tool.close()


def test_one_that_does_not_exist_is_refused_where_none_is_to_be_made(source: str) -> None:
    for _ in range(2):  # and not made by being refused
        with pytest.raises(InputError) as caught:
            open_store(source, create=False)
        assert caught.value.field == "database"


def test_many_may_open_a_new_one_at_once(source: str) -> None:
    start = threading.Barrier(6)
    names: list[str] = []
    failed: list[BaseException] = []

    def open_and_add(name: str) -> None:
        try:
            start.wait()
            store = open_store(source)
            add(store, name, 2)
            store.close()
            names.append(name)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=open_and_add, args=(f"p{k}",)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    store = open_store(source)
    with store.reading() as reader:
        assert [row.name for row in reader.policies()] == sorted(names)
    store.close()


def test_says_whether_others_may_append(source: str, store: Store) -> None:
    assert store.shared == source.startswith("postgresql")
    assert source.partition("?")[0].rpartition("/")[2] in repr(store)
