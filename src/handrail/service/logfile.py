"""A policy's log in a file: NDJSON, one event a line, or Parquet, one event a row.

The NDJSON file of a whole log begins with a header line that says how many events follow and the
hash of the last one, so that a file that was cut off is known; in a Parquet file the same is in the
schema's metadata. What the service streams has no header: it may be a part of a log. Lines hold
events as `handrail.service.events.to_json` gives them, which loses nothing; rows hold their bytes,
and beside them what people look for. Either way the hashes of a log can be checked again.
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
    "parquet_schema",
    "parquet_table",
    "place_of",
    "read_header",
    "read_rows",
    "row_of",
    "whole_header",
]

FORMAT: Final = "handrail-log"
VERSION: Final = 2
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
        "handrail-log", and the newest version that an event in it is of.
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


_AGAIN: Final = "export it again"
_LINES: Final = msgspec.json.Decoder(_Line)
_HEADERS: Final = msgspec.json.Decoder(Header)
_BAD: Final = (msgspec.MsgspecError, RecursionError, ValueError, OverflowError, TypeError)
"""What hostile content makes msgspec and `bytes.fromhex` raise."""


def header_of(policy: str, events: int, head: bytes, version: int = VERSION) -> Header:
    """Return the header of the file of a whole log, given its length and its last event's hash."""
    return Header(FORMAT, version, policy, events, head.hex())


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
    """Return where in the file of a whole log an event is: there a header line comes first."""
    return f"row {seq}" if _is_parquet(path) else f"line {seq + 1}"


# -- reading files -------------------------------------------------------------------------------


def read_header(path: Path) -> Header | None:
    """Return the header of a file.

    Parameters
    ----------
    path : pathlib.Path
        An NDJSON or a Parquet file.

    Returns
    -------
    Header or None
        What it says of its log; None if it has no header and begins with an event.

    Raises
    ------
    InputError
        If it cannot be read, or is no such file.
    """
    if _is_parquet(path):
        metadata = _parquet(path).schema_arrow.metadata or {}
        return _checked(path, metadata[_METADATA]) if _METADATA in metadata else None
    with _opened(path) as file:
        first = file.readline(LINE_BYTES + 1)
    return None if _is_event(first) else _checked(path, first)


def whole_header(path: Path) -> Header:
    """Return the header of a file that must have one; InputError if it has none."""
    header = read_header(path)
    if header is None:
        raise InputError(
            str(path),
            "has no header: whether it was cut off cannot be known",
            "pass a file that handrail export made",
        )
    return header


def _is_parquet(path: Path) -> bool:
    with _opened(path) as file:
        return file.read(len(_PARQUET)) == _PARQUET


def _is_event(line: bytes) -> bool:
    try:
        row_of(line)
    except ValueError:
        return False
    return True


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
    if not 1 <= header.version <= VERSION:
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
    yield from _parquet_rows(path) if _is_parquet(path) else _lines(path)


def _lines(path: Path) -> Iterator[Row]:
    with _opened(path) as file:
        number = 0
        if not _is_event(file.readline(LINE_BYTES + 1)):
            number = 1  # a header
        else:
            file.seek(0)
        while line := file.readline(LINE_BYTES + 1):
            number += 1
            if len(line) > LINE_BYTES:
                raise _bad(path, f"line {number}", "it is too long")
            if not line.endswith(b"\n"):
                raise _bad(path, f"line {number}", "it is cut off")
            try:
                row = row_of(line)
            except ValueError as error:
                raise _bad(path, f"line {number}", str(error), _remedy(error)) from error
            yield row


def _bad(path: Path, place: str, reason: str, remedy: str = _AGAIN) -> InputError:
    return InputError(str(path), f"{place}: {reason}", remedy)


def _remedy(error: BaseException) -> str:
    """Say what to do about an event that cannot be read; `row_of` tells its cause."""
    later = any(isinstance(each, events.LaterKind) for each in (error, error.__cause__))
    return events.UPGRADE if later else _AGAIN


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(
            str(path), f"cannot be read: {error.strerror}", "name a file that can"
        ) from error


# -- Parquet -------------------------------------------------------------------------------------


def parquet_schema(header: Header | None = None) -> Any:
    """Return the Arrow schema of a log.

    Parameters
    ----------
    header : Header, optional
        Put into the metadata, for the file of a whole log.

    Returns
    -------
    pyarrow.Schema
        The event's bytes as they are stored (`body`) and their hash, and beside them what people
        look for.
    """
    arrow = need_extra("pyarrow", "service")
    return arrow.schema(
        [
            ("seq", arrow.int64()),
            ("at", arrow.timestamp("us", tz="UTC")),
            ("kind", arrow.string()),
            ("round", arrow.int64()),
            ("action", arrow.int64()),
            ("named", arrow.string()),
            ("event", arrow.string()),
            ("margin", arrow.float64()),
            ("upper", arrow.float64()),
            ("lower", arrow.float64()),
            ("reward", arrow.float64()),
            ("body", arrow.binary()),
            ("hash", arrow.binary(32)),
        ],
        metadata=None if header is None else {_METADATA: msgspec.json.encode(header)},
    )


def parquet_table(rows: Iterable[Row], schema: Any) -> Any:
    """Return events as an Arrow table of `parquet_schema`.

    Parameters
    ----------
    rows : iterable of Row
        The events.
    schema : pyarrow.Schema
        The schema.

    Returns
    -------
    pyarrow.Table
        The same events.
    """
    arrow = need_extra("pyarrow", "service")
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for row in rows:
        event = _event(row)
        named = getattr(event, "named", None)
        values = {
            "seq": row.seq,
            "kind": events.kind(event),
            "round": row.round,
            "named": None if named is None else str(named),
            "body": row.body,
            "hash": row.hash,
        }
        for name, column in columns.items():
            column.append(values[name] if name in values else getattr(event, name, None))
    return arrow.table(columns, schema=schema)


def _parquet(path: Path) -> Any:
    arrow, parquet = need_extra("pyarrow", "service"), need_extra("pyarrow.parquet", "service")
    try:
        return parquet.ParquetFile(path)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise InputError(str(path), f"cannot be read: {_said(error)}", _AGAIN) from error


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
        for batch in file.iter_batches(batch_size=1_000):
            rows, wrong = _rows_of(arrow.Table.from_batches([batch]))
            yield from rows
            number += len(rows)
            if wrong is not None:
                raise _bad(path, f"row {number + 1}", *wrong)
    except (arrow.ArrowException, OSError) as error:
        raise _bad(path, f"row {number + 1}", _said(error)) from error


def _rows_of(table: Any) -> tuple[list[Row], tuple[str, str] | None]:
    """Return the events of a table up to the first that is wrong, and what is wrong with that."""
    rows: list[Row] = []
    wrong = None
    for each in table.select(["seq", "body", "hash"]).to_pylist():
        try:
            rows.append(_stored(each["seq"], each["body"], each["hash"]))
        except _BAD as error:
            wrong = _said(error), _remedy(error)
            break
    # People look at the other columns, and only the bodies are hashed.
    if not _agree(table[: len(rows)], rows):
        several = range(len(rows))
        first = next((i for i in several if not _agree(table[i : i + 1], rows[i : i + 1])), 0)
        return rows[:first], ("a column says something else than its body", _AGAIN)
    return rows, wrong


def _agree(table: Any, rows: list[Row]) -> bool:
    """Say whether a table is the one that these events give."""
    arrow = need_extra("pyarrow", "service")
    try:
        return bool(table.equals(parquet_table(rows, parquet_schema())))
    except (*_BAD, InputError, arrow.ArrowException):  # numbers that no column holds
        return False


def _stored(seq: int | None, body: bytes | None, digest: bytes | None) -> Row:
    if seq is None or body is None or digest is None:
        raise ValueError("it is incomplete")
    return Row(seq, events.round_of(events.decode(body)), body, digest)
