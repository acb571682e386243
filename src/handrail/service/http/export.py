"""The event log as it is handed out: NDJSON and Parquet, with bounded memory."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import IO, Any, Final

import msgspec

from handrail.service import events
from handrail.service.http.asgi import Disconnected, Header
from handrail.service.http.call import Call
from handrail.service.http.ports import DeskPort
from handrail.service.http.replies import SECURITY, Reply
from handrail.service.logfile import parquet_schema, parquet_table
from handrail.service.problems import Problem
from handrail.service.store.protocol import Row

__all__ = ["NDJSON", "PARQUET", "export", "ndjson_lines"]

NDJSON: Final = "application/x-ndjson"
PARQUET: Final = "application/vnd.apache.parquet"

_MOST: Final = 250
"""Events in a page at most: encoding one holds up the other requests for milliseconds."""
_FIRST: Final = 16
"""Events in the first page, while their size is not known."""
_BYTES: Final = 4 * 2**20
"""Bytes of events in a page, about: an event with all its candidates may have megabytes."""
_GROUP: Final = 10_000
"""Events in a row group of a Parquet file, if they are small: as many are in memory."""
_GROUP_BYTES: Final = 8 * 2**20
_FILES: Final = 2
"""Parquet files at once, from their first page to the last byte that is sent."""
_SPOOL: Final = 8 * 2**20
"""Bytes of a Parquet file that are kept in memory; what is beyond goes to a temporary file."""
_PART: Final = 64 * 2**10

_encode: Final = msgspec.json.Encoder().encode


async def export(call: Call) -> Reply:
    """Return events after one, up to the log's head as it is now."""
    name, after = call.parts[0], call.query["after"]
    head = (await call.desk.show(name)).head.events
    last = head if call.query["limit"] is None else min(head, after + call.query["limit"])
    first = await _page(call.desk, name, after, last, _FIRST)
    headers: list[Header] = [(b"x-next-after", b"%d" % max(last, after))]
    if last < head:
        wanted = f"?format={call.query['format']}&after={last}&limit={call.query['limit']}"
        headers.append((b"link", f'<{wanted}>; rel="next"'.encode()))
    pages = _pages(call.desk, name, first, last)
    if call.query["format"] == "ndjson":
        headers.append((b"content-type", NDJSON.encode()))
        return Reply(200, (*SECURITY, *headers), stream=_ndjson(pages))
    headers.append((b"content-type", PARQUET.encode()))
    return await _file(call, pages, headers)


async def _file(call: Call, pages: AsyncGenerator[list[Row], None], headers: list[Header]) -> Reply:
    """Return a Parquet file, unless too many are under way."""
    shop = call.shop
    if shop.files >= _FILES:
        raise Problem(
            503,
            f"{_FILES} Parquet exports are under way already",
            field="format",
            remedy="try again later, or ask for ndjson",
        )
    shop.files += 1
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115 - sent later

    def close() -> None:
        shop.files -= 1
        file.close()

    gone = asyncio.ensure_future(call.gone())
    try:
        await _write_pages(file, pages, gone)
        headers.append((b"content-length", b"%d" % file.seek(0, 2)))
        file.seek(0)
    except BaseException:
        close()
        raise
    finally:
        gone.cancel()
    return Reply(200, (*SECURITY, *headers), stream=_parts(file), close=close)


async def _page(desk: DeskPort, name: str, after: int, last: int, most: int) -> list[Row]:
    size = min(most, last - after)
    return await desk.events(name, after, size) if size > 0 else []


async def _pages(
    desk: DeskPort, name: str, first: list[Row], last: int
) -> AsyncGenerator[list[Row], None]:
    """Yield the first page, which is there, and those after it."""
    rows = first
    while rows:
        yield rows
        most = min(_MOST, max(1, _BYTES * len(rows) // _size(rows)))
        rows = await _page(desk, name, rows[-1].seq, last, most)


def _size(rows: Sequence[Row]) -> int:
    return sum(len(row.body) for row in rows)


def ndjson_lines(rows: Sequence[Row]) -> bytes:
    """Return events as lines of JSON: the number, the hash and the event of each."""
    return b"".join(
        _encode(
            {
                "seq": row.seq,
                "hash": row.hash.hex(),
                "event": events.to_json(events.decode(row.body)),
            }
        )
        + b"\n"
        for row in rows
    )


async def _ndjson(pages: AsyncGenerator[list[Row], None]) -> AsyncGenerator[bytes, None]:
    async for rows in pages:
        yield ndjson_lines(rows)


async def _write_pages(
    file: IO[bytes], pages: AsyncGenerator[list[Row], None], gone: asyncio.Future[None]
) -> None:
    """Write all pages to a Parquet file, off the event loop, unless the caller is gone."""
    import pyarrow.parquet as pq

    schema = parquet_schema()
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        held: list[Row] = []
        size = 0
        async with aclosing(pages):
            async for rows in pages:
                if gone.done():
                    raise Disconnected
                held += rows
                size += _size(rows)
                if len(held) >= _GROUP or size >= _GROUP_BYTES:
                    await asyncio.to_thread(_write, writer, held, schema)
                    held, size = [], 0
        await asyncio.to_thread(_write, writer, held, schema)


def _write(writer: Any, rows: Sequence[Row], schema: Any) -> None:
    writer.write(parquet_table(rows, schema))


async def _parts(file: IO[bytes]) -> AsyncGenerator[bytes, None]:
    while part := await asyncio.to_thread(file.read, _PART):
        yield part
