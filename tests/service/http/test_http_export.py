"""The event log, exported and read back."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import httpx
import pyarrow.parquet as pq
import pytest

from edge import Edge, at_the_edge, wait_until_alone
from fake_desk import NOW, FakeDesk, a_log
from handrail.service import chain, events
from handrail.service.http import export
from handrail.service.http.call import Call, Shop
from handrail.service.http.meters import Meters
from handrail.service.http.replies import Reply
from handrail.service.limits import Limits
from handrail.service.problems import Problem
from handrail.service.store.protocol import Row

SIZE = 2_345
"""More than two pages."""


@pytest.fixture
def edge() -> Iterator[Edge]:
    desk = FakeDesk()
    desk.logs["a"] = a_log(SIZE)
    with at_the_edge(desk, auth=False) as edge:
        yield edge


def get(edge: Edge, query: str) -> httpx.Response:
    with edge.client(None) as client:
        answer = client.get(f"/v1/policies/a/events?{query}")
    assert answer.status_code == 200
    return answer


def test_ndjson_is_the_log(edge: Edge) -> None:
    answer = get(edge, "")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["x-next-after"] == str(SIZE)
    assert "link" not in answer.headers
    before = chain.START
    lines = answer.text.splitlines()
    for number, (line, row) in enumerate(zip(lines, edge.desk.logs["a"], strict=True), 1):
        said = json.loads(line)
        assert list(said) == ["seq", "hash", "event"]
        assert said["seq"] == number
        body = events.encode(events.from_json(said["event"]))
        assert body == row.body  # the same bytes again
        before = chain.link(before, body)
        assert said["hash"] == before.hex()


def pages(edge: Edge) -> list[int]:
    return [asked[3] for asked in edge.desk.asked if asked[0] == "events"]


def test_pages_are_small(edge: Edge) -> None:
    get(edge, "")
    assert pages(edge) == [16, *[250] * 9, 79]


def test_pages_of_large_events_are_smaller(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(len(row.body) for row in edge.desk.logs["a"]) / SIZE
    monkeypatch.setattr(export, "_BYTES", int(20 * size))
    get(edge, "")
    assert max(pages(edge)) <= 30
    edge.desk.asked.clear()
    monkeypatch.setattr(export, "_BYTES", 1)
    get(edge, "limit=20")
    assert pages(edge) == [16, 1, 1, 1, 1]


def test_page_by_page(edge: Edge) -> None:
    after, seen = 0, []
    while True:
        answer = get(edge, f"after={after}&limit=1100")
        seen += [json.loads(line)["seq"] for line in answer.text.splitlines()]
        after = int(answer.headers["x-next-after"])
        if "link" not in answer.headers:
            break
        assert answer.links["next"]["url"] == f"?format=ndjson&after={after}&limit=1100"
    assert seen == list(range(1, SIZE + 1))
    nothing = get(edge, f"after={SIZE}")
    assert (nothing.content, nothing.headers["x-next-after"]) == (b"", str(SIZE))
    beyond = get(edge, f"after={SIZE + 10}")
    assert (beyond.content, beyond.headers["x-next-after"]) == (b"", str(SIZE + 10))


def test_parquet_holds_the_same(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_GROUP", 1_500)
    answer = get(edge, "format=parquet&after=1")
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert int(answer.headers["content-length"]) == len(answer.content)
    file = pq.ParquetFile(io.BytesIO(answer.content))
    assert file.num_row_groups == 2  # of 1,516 and the rest
    rows = file.read().to_pylist()
    assert len(rows) == SIZE - 1
    for row, stored in zip(rows, edge.desk.logs["a"][1:], strict=True):
        event = events.decode(stored.body)
        assert (row["seq"], row["round"], row["body"], row["hash"]) == stored
        assert row["kind"] == events.kind(event)
        for name in ("action", "event", "margin", "upper", "lower", "reward"):
            assert row[name] == getattr(event, name, None)
    assert rows[0]["at"] == datetime.fromtimestamp(NOW / 1e6, UTC).replace(microsecond=2)
    assert [row["named"] for row in rows[:6:2]] == ["arm-1", "2", "arm-0"]


def test_parquet_of_nothing(edge: Edge) -> None:
    answer = get(edge, f"format=parquet&after={SIZE}")
    assert pq.read_table(io.BytesIO(answer.content)).num_rows == 0


def test_a_log_that_grows_meanwhile_ends_where_it_was(edge: Edge) -> None:
    grown = a_log(SIZE + 100)
    edge.desk.logs["a"] = grown[:SIZE]
    with edge.client(None) as client, client.stream("GET", "/v1/policies/a/events") as answer:
        edge.desk.logs["a"] = grown
        lines = list(answer.iter_lines())
    assert len(lines) == SIZE


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_no_such_policy(edge: Edge, form: str) -> None:
    with edge.client(None) as client:
        answer = client.get(f"/v1/policies/nothing/events?format={form}")
    assert answer.status_code == 404


def test_what_fails_half_way_is_not_taken_for_whole(edge: Edge) -> None:
    whole = edge.desk.events

    async def fail_later(name: str, after: int, limit: int) -> object:
        if after:
            raise Problem(503, "away")
        return await whole(name, after, limit)

    edge.desk.events = fail_later  # type: ignore[method-assign, assignment]
    with edge.client(None) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.get("/v1/policies/a/events")
        assert client.get("/v1/policies/a/events?format=parquet").status_code == 503


def test_only_the_head_of_a_parquet_file(edge: Edge) -> None:
    with edge.client(None) as client:
        head = client.head("/v1/policies/a/events?format=parquet")
        whole = client.get("/v1/policies/a/events?format=parquet")
    assert head.content == b""
    assert head.headers["content-length"] == str(len(whole.content))


def test_what_is_held_is_measured_once(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again with every page: the loop has other requests to answer."""
    measured = 0
    size = export._size

    def measure(rows: Sequence[Row]) -> int:
        nonlocal measured
        measured += len(rows)
        return size(rows)

    monkeypatch.setattr(export, "_size", measure)
    get(edge, "format=parquet")
    assert measured <= 2 * SIZE  # once for the size of the next page, once for the group's


def test_few_parquet_files_at_once() -> None:
    """Neither made nor sent: each is held in memory, or on the disk, until it was sent."""
    desk = FakeDesk()
    desk.logs["a"] = a_log(40)
    whole = desk.events
    shop = Shop(desk, Limits(), Meters(desk), b"")

    async def wait() -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError

    async def fail_later(name: str, after: int, limit: int) -> list[Row]:
        if after:
            raise Problem(503, "away")
        return await whole(name, after, limit)

    def asked(name: str, form: str = "parquet") -> Call:
        query = {"format": form, "after": 0, "limit": None}
        return Call(shop, None, [name], query, {}, wait)

    async def run() -> None:
        replies = [await export.export(asked("a")) for _ in range(2)]
        for _ in range(2):
            with pytest.raises(Problem, match="Parquet exports are under way already") as caught:
                await export.export(asked("a"))
            assert caught.value.status == 503
            await export.export(asked("a", "ndjson"))
            with pytest.raises(Problem, match="no policy"):
                await export.export(asked("nothing"))
            let_go(replies.pop())
            desk.events = fail_later  # type: ignore[method-assign]
            with pytest.raises(Problem, match="away"):  # which gives back what it took
                await export.export(asked("a"))
            desk.events = whole  # type: ignore[method-assign]
            replies.append(await export.export(asked("a")))
        for reply in replies:
            let_go(reply)

    asyncio.run(run())


def let_go(reply: Reply) -> None:
    assert reply.close is not None
    reply.close()


def test_no_parquet_file_for_a_client_that_left(edge: Edge) -> None:
    waits, left = threading.Event(), threading.Event()
    whole = edge.desk.events

    async def wait(name: str, after: int, limit: int) -> list[Row]:
        rows = await whole(name, after, limit)
        if after:
            waits.set()
            while not left.is_set():
                await asyncio.sleep(0.001)
        return rows

    edge.desk.events = wait  # type: ignore[method-assign]
    with socket.create_connection(("127.0.0.1", edge.port)) as connection:
        paths = (b"/v1/policies/a/events?format=parquet", b"/healthz")
        # In one piece: behind a request that came later, nobody reads that the client left.
        connection.sendall(
            b"".join(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in paths)
        )
        assert waits.wait(30)
    with edge.client(None) as client:
        wait_until_alone(client)
        left.set()
        assert len(get(edge, "format=parquet").content) > 0
    # Those of the second export, and two of the first: the one at which the client was there.
    assert pages(edge) == [16, 250, 16, *[250] * 9, 79]
