"""Logs that fork: what an audit calls them, and the log that ends before the fork."""

from __future__ import annotations

import contextlib
import copy
import sqlite3
from pathlib import Path

import pytest

from handrail.cli import main
from handrail.errors import InputError
from handrail.service.audit import Audit
from handrail.service.heads import read_heads
from handrail.service.review import Review, Reviewed
from handrail.service.sources import DatabaseSource, FileSource, open_source
from handrail.service.store.backup import back_up
from handrail.service.store.open import open_store
from handrail.service.store.protocol import HeadRow, Row
from handrail.service.transfer import export_log, import_log
from memory_store import MemoryStore
from service_logs import START, Writer, request, rows


def written(name: str, seed: int, rounds: int, store: MemoryStore | None = None) -> Writer:
    created = request(name, "CUCB2", "arms", alpha=0.6, baseline_mean=0.3)
    return Writer(store or MemoryStore(), created, seed).play(rounds)


@pytest.fixture(scope="module")
def forked() -> tuple[list[Row], list[Row], int]:
    """Two logs, and how many events they share."""
    writer = written("p", 5, 12)
    shared = len(writer.rows())
    kept = copy.deepcopy(writer.store)
    one = writer.play(9).rows()
    other = copy.copy(writer)
    other.store, other.shelf = kept, type(writer.shelf)(10)
    two = other.play(9).rows()
    assert one[:shared] == two[:shared]
    assert one[shared].hash != two[shared].hash
    return one, two, shared


def audited(log: list[Row], noted: list[HeadRow] = [], **others: list[Row]) -> list[str]:  # noqa: B006
    """Return what is wrong with the log of p, in a database with others."""
    store = MemoryStore()
    for number, (name, each) in enumerate({"p": log, **others}.items(), 1):
        store.content.names[name] = number
        store.content.logs[number] = each
    review = Review(DatabaseSource(store), noted=noted)
    found: dict[str, Reviewed] = {each.audit.policy: each for each in review}
    assert review.holds == all(each.holds for each in found.values())
    return [f"{each.seq}: {each.reason}" for each in found["p"].audit.findings]


def heads(log: list[Row], *seqs: int) -> list[HeadRow]:
    return [HeadRow("p", seq, log[seq - 1].hash) for seq in seqs or range(1, len(log) + 1)]


def test_a_gap_after_a_restore(forked: tuple[list[Row], list[Row], int]) -> None:
    one, _, shared = forked
    (said,) = audited([*one[:shared], *one[shared + 4 :]])
    assert said.startswith(f"{shared + 5}: events {shared + 1} to {shared + 4} are missing")
    assert f"restored to event {shared}" in said
    assert "fork" in said
    # What was noted meanwhile tells that it is one.
    _, proof = audited([*one[:shared], *one[shared + 4 :]], heads(one, shared + 4))
    assert f"it follows event {shared + 4} as it was noted: a fork" in proof


def test_a_log_that_another_went_on_in(forked: tuple[list[Row], list[Row], int]) -> None:
    one, two, shared = forked
    mixed = [*two[: shared + 3], *one[shared + 3 :]]
    (said,) = audited(mixed)
    assert said.startswith(f"{shared + 4}: it was altered")
    assert f"forks here, and it was written after another event {shared + 3}" in said
    _, proof = audited(mixed, heads(one, 3, shared + 3))[-2:]
    assert "as it was noted: a fork" in proof


def test_events_of_another_policy(forked: tuple[list[Row], list[Row], int]) -> None:
    one, _, shared = forked
    other = written("q", 6, 20).rows()
    mixed = [*one[:shared], *other[shared:]]
    _, said = audited(mixed, q=other)
    assert said == f"{shared + 1}: it follows event {shared} of 'q', whose event it is"


def test_two_logs_that_share_their_beginning(
    forked: tuple[list[Row], list[Row], int],
) -> None:
    one, two, shared = forked
    assert audited(one) == audited(two) == []
    (said,) = audited(two[: len(one)], heads(one)[: len(two)])
    assert said.startswith(f"{shared + 1}: it is another event than was noted")
    assert f"events 1 to {shared} are as they were noted" in said
    assert said.endswith(f"forks from what was noted at event {shared + 1}")
    # Noted now and then, it is known less exactly.
    (said,) = audited(two, heads(one, 2, shared + 3))
    assert said.endswith(f"forks from what was noted at event {shared + 3} or before")
    assert "events 1 to 2 are as they were noted" in said
    # A log that goes on is no fork, and one that ends earlier has lost its tail.
    assert audited(one, heads(one[:shared])) == []
    (said,) = audited(one[:shared], heads(one))
    assert said == (
        f"None: it ends with event {shared}, and event {len(one)} was noted: its tail is lost"
    )


def test_a_policy_that_is_gone() -> None:
    store = written("p", 1, 2).store
    assert isinstance(store, MemoryStore)
    noted = [HeadRow("q", 3, bytes(32))]
    for policy, gone in ((None, ["q"]), ("p", [])):  # asked for one, others are not looked for
        review = Review(DatabaseSource(store), policy, noted=noted)
        list(review)
        assert review.gone == gone
        assert review.holds == (not gone)


@pytest.mark.parametrize("events", ["", "DELETE FROM events WHERE policy = 1"])
def test_a_policy_that_is_gone_from_a_copy(
    events: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The copy itself noted its heads; events that are left are of no policy."""
    kept = tmp_path / "copy.db"
    store = open_store(str(tmp_path / "log.db"))
    for name in ("p", "q"):
        Writer(store, request(name, "CUCB2", "arms", alpha=0.6, baseline_mean=0.3), 1).play(3)
    store.close()
    back_up(str(tmp_path / "log.db"), kept)
    assert main(["audit", str(kept)]) == 0
    with contextlib.closing(sqlite3.connect(kept, isolation_level=None)) as connection:
        connection.execute("DELETE FROM policies WHERE number = 1")
        connection.execute(events)
    capfd.readouterr()
    assert main(["audit", str(kept)]) == 1
    said = capfd.readouterr().out
    assert "WRONG: heads of 'p' were noted, and there is no such policy" in said
    left = "WRONG: there are events of policy number 1, and there is no such policy"
    assert (left in said) == (not events)
    assert main(["audit", str(kept), "--policy", "q"]) == 0  # others are not looked for
    with contextlib.closing(sqlite3.connect(kept, isolation_level=None)) as connection:
        connection.execute("DROP TABLE heads")
    assert main(["audit", str(kept)]) == (0 if events else 1)


# -- the log before the fork -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
def test_the_log_that_ends_before_it(
    forked: tuple[list[Row], list[Row], int], tmp_path: Path, suffix: str
) -> None:
    one, two, shared = forked
    store = MemoryStore()
    store.content.names["p"] = 1
    store.content.logs[1] = [*two[: shared + 2], *one[shared + 5 :]]
    out, again = tmp_path / f"p.{suffix}", tmp_path / f"again.{suffix}"
    with pytest.raises(InputError, match=f"event {shared + 3}: "):
        export_log(DatabaseSource(store), "p", out)
    done = export_log(DatabaseSource(store), "p", out, until=shared + 2)
    assert (done.events, done.head) == (shared + 2, two[shared + 1].hash.hex())
    mended = MemoryStore()
    import_log(out, mended, START)
    assert rows(mended, "p") == two[: shared + 2]
    assert Audit("p").run(rows(mended, "p")).findings == []
    # Of a file too; and a part of a log that was streamed is whole up to an event of it.
    export_log(FileSource(out), "p", again, until=shared)
    assert open_source(str(again)).head("p") == (shared, one[shared - 1].hash)


@pytest.mark.parametrize("until", [0, -1, 10**6])
def test_an_event_that_is_not_there(tmp_path: Path, until: int) -> None:
    store = written("p", 1, 3).store
    with pytest.raises(InputError, match=f"--until: there is no event {until}"):
        export_log(DatabaseSource(store), "p", tmp_path / "p.ndjson", until)
    assert list(tmp_path.iterdir()) == []


def test_the_commands(
    forked: tuple[list[Row], list[Row], int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one, two, shared = forked
    database, kept = tmp_path / "log.db", tmp_path / "kept.ndjson"
    store = open_store(str(database))
    with store.writing() as writer:
        added = writer.add_policy("p")
        assert added is not None
        writer.append(added.number, two)
    store.close()
    memory = MemoryStore()
    memory.content.names["p"], memory.content.logs[1] = 1, one
    export_log(DatabaseSource(memory), "p", kept)
    assert len(read_heads(kept)) == len(one)
    assert main(["audit", str(database), "--heads", str(kept)]) == 1
    said = capfd.readouterr().out
    assert f"WRONG: event {shared + 1}: it is another event than was noted" in said
    out, other = str(tmp_path / "p.ndjson"), str(tmp_path / "other.db")
    until = ["--until", str(shared)]
    assert main(["export", str(database), "--policy", "p", "--out", out, *until]) == 0
    assert main(["import", out, "--database", other]) == 0
    assert capfd.readouterr().out.count(f"{shared} events of p, head {one[shared - 1].hash.hex()}")
    assert main(["audit", other]) == 0
    assert main(["audit", other, "--heads", str(kept)]) == 1
    assert "its tail is lost" in capfd.readouterr().out
    assert main(["audit", other, "--heads", str(tmp_path / "nothing")]) == 2
