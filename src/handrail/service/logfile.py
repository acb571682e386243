"""A policy's log in a file: NDJSON, one event a line, or Parquet, one event a row.

An NDJSON file begins with a header line that says how many events follow and the hash of the last
one, so that a file that was cut off is known; in a Parquet file the same is in the schema's
metadata. Events are written as `handrail.service.events.to_json` gives them: as JSON loses nothing,
reading gives the bytes of the log again, and their hashes can be checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.service import events
from handrail.service.store.protocol import Row

__all__ = [
    "Header",
    "header_line",
    "header_of",
    "line_of",
    "parquet_batch",
    "parquet_schema",
    "place_of",
    "read_header",
    "read_rows",
    "row_of",
]

FORMAT: Final = "handrail-log"
VERSION: Final = 1
LINE_BYTES: Final = 32 * 2**20
"""More than any event has: a request is at most 4 MiB."""
_GROUP_BYTES: Final = 2**30
_PARQUET: Final = b"PAR1"
_METADATA: Final = b"handrail"


class Header(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a file says of the log in it.

    Attributes
    ----------
    format, version : str and int
        "handrail-log" and 1.
    policy : str
        The policy's name.
    events : int
        How many events there are.
    head : str
        The hash of the last one, in hexadecimal digits.
    """

    format: str
    version: int
    policy: str
    events: int
    head: str


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    seq: int
    hash: str
    event: dict[str, Any]


_LINES: Final = msgspec.json.Decoder(_Line)
_HEADERS: Final = msgspec.json.Decoder(Header)
_EVENTS: Final = msgspec.json.Decoder(dict[str, Any])
_BAD: Final = (msgspec.MsgspecError, RecursionError, ValueError, OverflowError, TypeError)
"""What hostile content makes msgspec and `bytes.fromhex` raise."""


def header_of(policy: str, events: int, head: bytes) -> Header:
    """Return the header of the file of a whole log, given its length and its last event's hash."""
    return Header(FORMAT, VERSION, policy, events, head.hex())


def header_line(header: Header) -> bytes:
    """Return the first line of an NDJSON file."""
    return msgspec.json.encode(header) + b"\n"


def line_of(row: Row) -> bytes:
    """Return an event as a line of NDJSON, line feed included.

    Parameters
    ----------
    row : Row
        The event as it is stored.

    Returns
    -------
    bytes
        ``{"seq": n, "hash": "...", "event": {...}}``, without spaces.

    Raises
    ------
    InputError
        If the event cannot be read, or JSON cannot hold it without loss.
    """
    line = msgspec.json.encode(
        {"seq": row.seq, "hash": row.hash.hex(), "event": events.to_json(_event(row))}
    )
    if row_of(line).body != row.body:
        raise InputError(
            "log", f"event {row.seq} cannot be written as JSON without loss", "run handrail audit"
        )
    return line + b"\n"


def _event(row: Row) -> events.Event:
    try:
        return events.decode(row.body)
    except _BAD as error:
        raise InputError(
            "log", f"event {row.seq} cannot be read: {error}", "run handrail audit"
        ) from error


def row_of(line: bytes) -> Row:
    """Return the event that a line of NDJSON holds; `ValueError` says what is wrong with it.

    The hash is the one in the line: whether it is right, the chain must say.
    """
    try:
        content = _LINES.decode(line)
        return _row(content.seq, content.hash, content.event)
    except _BAD as error:
        raise ValueError(_said(error)) from error


def _row(seq: int, digest: str, document: dict[str, Any]) -> Row:
    event = events.from_json(document)
    found = bytes.fromhex(digest)
    if len(found) != 32 or found.hex() != digest:
        raise ValueError("hash is not 64 hexadecimal digits in lower case")
    return Row(seq, events.round_of(event), events.encode(event), found)


def _said(error: BaseException) -> str:
    """Return what is wrong on one line, without the content it is about."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return " ".join(str(error).split())[:200] or type(error).__name__


def place_of(path: Path, seq: int) -> str:
    """Return where in a file an event is: a header line comes first, or none."""
    with _opened(path) as file:
        parquet = file.read(len(_PARQUET)) == _PARQUET
    return f"row {seq}" if parquet else f"line {seq + 1}"


# -- reading files -------------------------------------------------------------------------------


def read_header(path: Path) -> Header:
    """Return the header of a file.

    Parameters
    ----------
    path : pathlib.Path
        An NDJSON or a Parquet file.

    Returns
    -------
    Header
        What it says of its log.

    Raises
    ------
    InputError
        If it cannot be read, or is no such file.
    """
    with _opened(path) as file:
        if file.read(len(_PARQUET)) == _PARQUET:
            metadata = _parquet(path).schema_arrow.metadata or {}
            first = metadata.get(_METADATA, b"")
        else:
            file.seek(0)
            first = file.readline(LINE_BYTES + 1)
    return _checked(path, first)


def _checked(path: Path, first: bytes) -> Header:
    try:
        header = _HEADERS.decode(first)
        if header.format != FORMAT:
            raise ValueError(f"its format is {header.format[:40]!r}")
        if header.events < 1 or len(bytes.fromhex(header.head)) != 32:
            raise ValueError("it names no last event")
    except _BAD as error:
        raise InputError(
            str(path), f"is no log: line 1: {_said(error)}", "pass a file that handrail export made"
        ) from error
    if header.version != VERSION:
        raise InputError(
            str(path),
            f"is of version {header.version}, this handrail knows {VERSION}",
            "upgrade handrail",
        )
    return header


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the events of a file in its order; nothing is said of their hashes.

    Parameters
    ----------
    path : pathlib.Path
        An NDJSON or a Parquet file.

    Yields
    ------
    Row
        An event.

    Raises
    ------
    InputError
        With the number of the line, or row, that is bad.
    """
    with _opened(path) as file:
        parquet = file.read(len(_PARQUET)) == _PARQUET
    yield from _parquet_rows(path) if parquet else _lines(path)


def _lines(path: Path) -> Iterator[Row]:
    with _opened(path) as file:
        file.readline(LINE_BYTES + 1)
        number = 1
        while line := file.readline(LINE_BYTES + 1):
            number += 1
            if len(line) > LINE_BYTES:
                raise _bad(path, f"line {number}", "it is too long")
            if not line.endswith(b"\n"):
                raise _bad(path, f"line {number}", "it is cut off")
            try:
                row = row_of(line)
            except ValueError as error:
                raise _bad(path, f"line {number}", str(error)) from error
            yield row


def _bad(path: Path, place: str, reason: str) -> InputError:
    return InputError(str(path), f"{place}: {reason}", "export it again")


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(
            str(path), f"cannot be read: {error.strerror}", "name a file that can"
        ) from error


# -- Parquet -------------------------------------------------------------------------------------


def parquet_schema(header: Header | None = None) -> Any:
    """Return the Arrow schema of a log: seq, at, round, kind, hash and the event as JSON.

    Parameters
    ----------
    header : Header, optional
        Put into the metadata, for the file of a whole log.

    Returns
    -------
    pyarrow.Schema
        The schema.
    """
    arrow = need_extra("pyarrow", "service")
    return arrow.schema(
        [
            arrow.field("seq", arrow.int64(), nullable=False),
            arrow.field("at", arrow.timestamp("us", "UTC"), nullable=False),
            arrow.field("round", arrow.int64()),
            arrow.field("kind", arrow.string(), nullable=False),
            arrow.field("hash", arrow.string(), nullable=False),
            arrow.field("event", arrow.large_string(), nullable=False),
        ],
        metadata=None if header is None else {_METADATA: msgspec.json.encode(header)},
    )


def parquet_batch(rows: Iterable[Row], schema: Any) -> Any:
    """Return events as an Arrow record batch of `parquet_schema`.

    Parameters
    ----------
    rows : iterable of Row
        The events.
    schema : pyarrow.Schema
        The schema.

    Returns
    -------
    pyarrow.RecordBatch
        The same events.
    """
    arrow = need_extra("pyarrow", "service")
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for row in rows:
        line_of(row)  # which sees that JSON can hold it
        event = _event(row)
        columns["seq"].append(row.seq)
        columns["at"].append(event.at)
        columns["round"].append(row.round)
        columns["kind"].append(events.kind(event))
        columns["hash"].append(row.hash.hex())
        columns["event"].append(msgspec.json.encode(events.to_json(event)).decode())
    return arrow.RecordBatch.from_pydict(columns, schema=schema)


def _parquet(path: Path) -> Any:
    arrow, parquet = need_extra("pyarrow", "service"), need_extra("pyarrow.parquet", "service")
    try:
        return parquet.ParquetFile(path)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise InputError(str(path), f"cannot be read: {_said(error)}", "export it again") from error


def _parquet_rows(path: Path) -> Iterator[Row]:
    arrow = need_extra("pyarrow", "service")
    number = 0
    try:
        file = _parquet(path)
        groups = file.metadata.num_row_groups
        if any(file.metadata.row_group(i).total_byte_size > _GROUP_BYTES for i in range(groups)):
            raise _bad(path, "row 1", "it is part of too large a group")
        if not file.schema_arrow.equals(parquet_schema(), check_metadata=False):
            raise _bad(path, "row 1", "it has other columns")
        for batch in file.iter_batches(batch_size=1_000, columns=["seq", "hash", "event"]):
            for each in batch.to_pylist():
                number += 1
                try:
                    row = _row(each["seq"], each["hash"], _EVENTS.decode(each["event"]))
                except _BAD as error:
                    raise _bad(path, f"row {number}", _said(error)) from error
                yield row
    except (arrow.ArrowException, OSError) as error:
        raise _bad(path, f"row {number + 1}", _said(error)) from error
