"""Logs out of one database and into another: the same bytes, the same state, all or nothing."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
import pytest
from pyarrow import parquet

from handrail import InputError
from handrail.service.audit import Audit
from handrail.service.limits import Limits
from handrail.service.logfile import (
    line_of,
    parquet_schema,
    parquet_table,
    read_header,
    read_rows,
)
from handrail.service.review import review
from handrail.service.session import Session
from handrail.service.shelf import Shelf, load
from handrail.service.sources import DatabaseSource, FileSource, open_source
from handrail.service.store.open import open_store
from handrail.service.store.protocol import Row, Store
from handrail.service.transfer import export_log, import_log
from memory_store import MemoryStore
from service_logs import START, Writer, request, rows

DAY = 86_400_000_000


def written(store: Store, name: str = "CLUCB2", setting: str = "dim", **changes: object) -> Writer:
    created = request("p", name, setting, **{"keep_candidates": True, **changes})
    return Writer(store, created, seed=21).play(40, keys=True)


@pytest.fixture(scope="module")
def origin() -> MemoryStore:
    store = MemoryStore()
    written(store)
    return store


def exported(store: Store, path: Path) -> Path:
    export_log(DatabaseSource(store), "p", path)
    return path


def state(store: Store) -> bytes:
    with store.reading() as reader:
        found = reader.find("p")
        assert found is not None
        return load(reader, found.number).policy.to_bytes()


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
def test_there_and_back(origin: MemoryStore, tmp_path: Path, suffix: str) -> None:
    first = exported(origin, tmp_path / f"first.{suffix}")
    other = open_store(str(tmp_path / "other.db"))
    done = import_log(first, other, START + DAY)
    log = rows(origin, "p")
    assert (done.policy, done.events, done.head) == ("p", len(log), log[-1].hash.hex())
    assert rows(other, "p") == log
    assert state(other) == state(origin)
    second = exported(other, tmp_path / f"second.{suffix}")
    assert second.read_bytes() == first.read_bytes()
    assert Audit("p").run(rows(other, "p")).findings == []
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    other.close()


def test_lines_and_tables_hold_the_same(origin: MemoryStore, tmp_path: Path) -> None:
    lines = exported(origin, tmp_path / "log.ndjson")
    table = exported(origin, tmp_path / "log.parquet")
    assert read_header(lines) == read_header(table)
    assert list(read_rows(lines)) == list(read_rows(table)) == rows(origin, "p")
    again = tmp_path / "again.ndjson"
    export_log(FileSource(table), "p", again)
    assert again.read_bytes() == lines.read_bytes()


def test_a_table_is_for_people_too(origin: MemoryStore, tmp_path: Path) -> None:
    table = parquet.read_table(exported(origin, tmp_path / "log.parquet"))
    assert table["kind"][0].as_py() == "created"
    assert table["at"][0].as_py().year == 2023
    assert table["round"].null_count == 1
    decided = table.filter(pyarrow.compute.equal(table["kind"], "decided"))
    assert decided["round"].to_pylist() == list(range(1, 41))
    assert set(decided["event"].to_pylist()) <= {"baseline", "optimistic", "safe"}


def test_what_the_service_streamed_can_be_audited_but_not_imported(
    origin: MemoryStore, tmp_path: Path
) -> None:
    """It has no header: a part of it could be missing."""
    log = rows(origin, "p")
    lines, table = tmp_path / "streamed.ndjson", tmp_path / "streamed.parquet"
    lines.write_bytes(b"".join(line_of(row) for row in log))
    parquet.write_table(parquet_table(log, parquet_schema()), table)
    for path in (lines, table):
        source = open_source(str(path))
        assert source.policies() == ["p"]
        found, logs = review(source, heads=[log[-1].hash.hex()])
        assert found.holds
        assert logs[0].audit.events == len(log)
        assert "has no header" in refused(path).reason
        with pytest.raises(InputError, match="may be a part"):
            export_log(source, "p", tmp_path / "again.ndjson")
    lines.write_bytes(b"".join(line_of(row) for row in log[3:]))
    with pytest.raises(InputError, match="is no log from its first event on"):
        open_source(str(lines))


def test_a_policy_goes_on_where_it_was(origin: MemoryStore, tmp_path: Path) -> None:
    """Rewards of decisions from before the move are taken, and ids stay what they were."""
    from handrail.service import outcomes
    from handrail.service.messages import RewardRequest

    store = MemoryStore()
    waiting = written(store).play(20, rewards=False).waiting[-1]
    moved = MemoryStore()
    import_log(exported(store, tmp_path / "log.ndjson"), moved, START + DAY)
    with moved.writing() as log:
        session = Session(log, Shelf(10), Limits(), START + DAY, shared=False)
        given = [RewardRequest(decision=waiting, reward=0.5)]
        assert outcomes.reward_all(session, session.book("p"), given, False)[0].status == "learned"
        session.flush()
    assert Audit("p").run(rows(moved, "p")).findings == []


@pytest.mark.parametrize(("age", "kept"), [(0.5, 40), (2.0, 0)])
def test_idempotency_keys_are_remembered_while_they_are_young(
    origin: MemoryStore, tmp_path: Path, age: float, kept: int
) -> None:
    other = MemoryStore()
    path = exported(origin, tmp_path / "log.ndjson")
    import_log(path, other, START + int(age * DAY))
    with other.reading() as reader, origin.reading() as before:
        found = [reader.keyed(1, f"key-{number}") for number in range(40)]
        assert sum(each is not None for each in found) == kept
        if kept:
            assert found == [before.keyed(1, f"key-{number}") for number in range(40)]


def test_a_start_after_an_import_needs_no_fold(origin: MemoryStore, tmp_path: Path) -> None:
    other = MemoryStore()
    import_log(exported(origin, tmp_path / "log.ndjson"), other, START)
    with other.reading() as reader:
        assert [each.seq for each in reader.snapshots(1)] == [len(rows(origin, "p"))]
    snapshots = DatabaseSource(other).snapshots("p")
    assert Audit("p", snapshots=snapshots).run(rows(other, "p")).findings == []


# -- what is refused -------------------------------------------------------------------------------


def refused(path: Path, store: MemoryStore | None = None) -> InputError:
    """Import a file that is wrong: nothing may change."""
    store = store or MemoryStore()
    before = store.content
    with pytest.raises(InputError) as caught:
        import_log(path, store, START)
    assert store.content is before
    return caught.value


def test_a_name_that_is_taken(origin: MemoryStore, tmp_path: Path) -> None:
    error = refused(exported(origin, tmp_path / "log.ndjson"), origin)
    assert (error.field, error.reason) == ("policy", "there is one called 'p'")


def lines_of(origin: MemoryStore, path: Path) -> list[bytes]:
    return exported(origin, path).read_bytes().splitlines(keepends=True)


def test_lines_that_are_wrong_are_named(origin: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    lines = lines_of(origin, path)
    event = json.loads(lines[7])

    def line(**fields: object) -> bytes:
        return json.dumps(event | fields).encode() + b"\n"

    for wrong in (
        b"\n",
        b"nonsense\n",
        b"\xff\xfe\n",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b"[" * 10_000 + b"\n",
        b'{"a":' * 10_000 + b"\n",
        line(seq=9),
        line(seq=7.0),
        line(seq=2**70),
        line(hash="00" * 32),
        line(hash="zz" * 32),
        line(hash=event["hash"].upper()),
        line(hash=event["hash"] + "00"),
        line(more=1),
        line(event=None),
        line(event={}),
        line(event={"kind": "made up"}),
        line(event={"kind": ["decided"]}),
        line(event=event["event"] | {"round": "4"}),
        line(event=event["event"] | {"round": 1e300}),
        line(event=event["event"] | {"action": 99}),
        line(event=event["event"] | {"more": 1}),
        line(event={k: v for k, v in event["event"].items() if k != "at"}),
        lines[8],
        lines[7][:-10] + b"\n",
        lines[7].rstrip(b"\n"),
        lines[7].replace(b'"seq"', b'"seq":1,"seq"').replace(b"7", b"8", 1),
    ):
        path.write_bytes(b"".join([*lines[:7], wrong, *lines[8:]]))
        error = refused(path)
        assert error.field == str(path)
        assert error.reason.startswith("line 8: "), (wrong[:50], error.reason)
        assert len(str(error)) < 500 + len(str(path))


def test_lines_that_are_too_long(
    origin: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.service.logfile.LINE_BYTES", 5_000)
    path = tmp_path / "log.ndjson"
    lines = lines_of(origin, path)
    path.write_bytes(b"".join([*lines[:3], b" " * 6_000 + lines[3], *lines[4:]]))
    assert refused(path).reason == "line 4: it is too long"


def test_files_that_are_cut_off_or_go_on(origin: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    lines = lines_of(origin, path)
    for kept in range(1, len(lines)):
        path.write_bytes(b"".join(lines[:kept]))
        assert "the log ends after" in refused(path).reason
    path.write_bytes(b"".join([*lines, lines[-1]]))
    assert f"line {len(lines) + 1}: " in refused(path).reason
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:-1])
    assert refused(path).reason == f"line {len(lines)}: it is cut off"


@pytest.mark.parametrize(
    "fields",
    [
        {"head": "00" * 32},
        {"head": "0"},
        {"events": 3},
        {"events": -1},
        {"events": "many"},
        {"policy": "q"},
        {"policy": "../etc"},
        {"policy": ""},
        {"policy": "p" * 500},
        {"format": "another-log"},
        {"version": 3},
        {"more": 1},
    ],
)
def test_headers_that_are_wrong(
    origin: MemoryStore, tmp_path: Path, fields: dict[str, object]
) -> None:
    path = tmp_path / "log.ndjson"
    lines = lines_of(origin, path)
    header = json.dumps(json.loads(lines[0]) | fields).encode() + b"\n"
    path.write_bytes(b"".join([header, *lines[1:]]))
    assert refused(path).field == str(path)


def column(table: Any, name: str, values: list[Any]) -> Any:
    """Return a table with other values in a column."""
    place = table.schema.get_field_index(name)
    field = table.schema.field(name)
    return table.set_column(place, field, pyarrow.array(values, field.type))


def test_tables_that_are_wrong(origin: MemoryStore, tmp_path: Path) -> None:
    path = exported(origin, tmp_path / "log.parquet")
    table = parquet.read_table(path)
    content = path.read_bytes()
    metadata = table.schema.metadata
    for wrong in (
        table.slice(0, 20),
        table.drop_columns(["hash"]),
        table.replace_schema_metadata({}),
        table.set_column(0, "seq", table["seq"].cast("string")),
        column(table, "body", [b"nonsense"] * len(table)),
        column(table, "body", [None] * len(table)),
        column(table, "hash", [None] * len(table)),
        column(table, "hash", [bytes(32)] * len(table)),
        column(table, "seq", list(range(len(table)))),
        column(table, "seq", [None] * len(table)),
    ):
        parquet.write_table(wrong, path)
        assert refused(path).field == str(path)
    for name in ("at", "kind", "round", "action", "event", "margin", "upper", "lower", "reward"):
        values = table[name].to_pylist()
        index = next(i for i, each in enumerate(values) if each is not None and i > 5)
        values[index] = None
        parquet.write_table(column(table, name, values), path)
        assert f"row {index + 1}: a column says something else" in refused(path).reason, name
    assert metadata is not None
    for cut in (5, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        assert refused(path).field == str(path)


def test_a_file_that_changes_while_it_is_read(
    origin: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.ndjson"
    lines = lines_of(origin, path)
    store = MemoryStore()
    original = store.writing

    def writing() -> object:
        path.write_bytes(b"".join(lines[:-2]))
        return original()

    monkeypatch.setattr(store, "writing", writing)
    assert refused(path, store).reason == "was changed while it was read"


def test_an_export_that_cannot_be_written_leaves_the_old_file(
    origin: MemoryStore, tmp_path: Path
) -> None:
    path = exported(origin, tmp_path / "log.ndjson")
    before = path.read_bytes()
    damaged = MemoryStore()
    damaged.content.names["p"] = 1
    log = rows(origin, "p")
    damaged.content.logs[1] = [*log[:5], log[5]._replace(body=log[4].body), *log[6:]]
    with pytest.raises(InputError, match=r"event 6: .*altered"):
        export_log(DatabaseSource(damaged), "p", path)
    damaged.content.logs[1] = [*log[:5], *log[6:]]
    with pytest.raises(InputError, match="event 6: "):
        export_log(DatabaseSource(damaged), "p", path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="cannot be written"):
        export_log(DatabaseSource(origin), "p", tmp_path / "nowhere" / "log.ndjson")


def test_events_that_come_during_an_export_are_left_out(tmp_path: Path) -> None:
    store = MemoryStore()
    writer = written(store)
    length = len(writer.rows())

    class Busy(DatabaseSource):
        def head(self, policy: str) -> tuple[int, bytes]:
            found = super().head(policy)
            writer.play(5)
            return found

    done = export_log(Busy(store), "p", tmp_path / "log.ndjson")
    assert done.events == length < len(writer.rows())
    assert len(list(read_rows(tmp_path / "log.ndjson"))) == length


def test_pages_meet(origin: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    log = rows(origin, "p")
    for page in (1, 7, len(log), 1000):
        monkeypatch.setattr("handrail.service.sources._PAGE", page)
        found: list[Row] = list(DatabaseSource(origin).rows("p", len(log)))
        assert found == log


def test_sources_are_told_apart(origin: MemoryStore, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "log.db"))
    written(store).play(3)
    store.close()
    for name in ("log.db", "sqlite"):
        address = f"sqlite:///{tmp_path / 'log.db'}" if name == "sqlite" else tmp_path / name
        opened = open_source(str(address))
        assert isinstance(opened, DatabaseSource)
        assert opened.policies() == ["p"]
        opened.close()
    assert isinstance(open_source(str(exported(origin, tmp_path / "x"))), FileSource)


def test_into_another_kind_of_database(
    origin: MemoryStore, tmp_path: Path, postgres_url: str
) -> None:
    first = exported(origin, tmp_path / "first.ndjson")
    store = open_store(postgres_url)
    import_log(first, store, START)
    assert state(store) == state(origin)
    store.close()
    opened = open_source(postgres_url)
    export_log(opened, "p", tmp_path / "second.ndjson")
    assert Audit("p").run(opened.rows("p", 10**6), opened.head("p")).findings == []
    opened.close()
    assert (tmp_path / "second.ndjson").read_bytes() == first.read_bytes()
