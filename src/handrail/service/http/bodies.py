"""Bodies: of the right type, of a bounded size, whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handrail.service.http.asgi import Disconnected, Receive
from handrail.service.problems import Problem

__all__ = ["check_type", "read_body"]

_JSON: Final = b"application/json"
_UTF8: Final = (b"utf-8", b"utf8", b"us-ascii")


def check_type(headers: Mapping[bytes, bytes]) -> None:
    """Refuse what says that it is not JSON."""
    kind = headers.get(b"content-type")
    if kind is not None and kind != _JSON and not _is_json(kind):
        raise Problem(
            415,
            "is not a type that is read here",
            field="Content-Type",
            remedy="send application/json in UTF-8",
        )
    packed = headers.get(b"content-encoding")
    if packed is not None and packed.strip().lower() not in (b"", b"identity"):
        raise Problem(
            415, "is not read here", field="Content-Encoding", remedy="send the body as it is"
        )


def _is_json(kind: bytes) -> bool:
    media, *parameters = (part.strip().lower() for part in kind.split(b";"))
    if media != _JSON and not (media.startswith(b"application/") and media.endswith(b"+json")):
        return False
    sets = [part[8:].strip(b'"') for part in parameters if part.startswith(b"charset=")]
    return all(charset in _UTF8 for charset in sets)


def _too_large(limit: int) -> Problem:
    return Problem(
        413, f"is larger than {limit} bytes", field="body", remedy="send smaller batches"
    )


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """Read a request's body, and no more of it than is allowed.

    Parameters
    ----------
    receive : callable
        ASGI's.
    headers : mapping
        The request's headers.
    limit : int
        How many bytes are read at most.

    Returns
    -------
    bytes
        The whole body.

    Notes
    -----
    The server watches how long a body takes, and ends the connection: `Disconnected`.
    """
    length = headers.get(b"content-length")
    # Longer digits are not read as a number: that takes time quadratic in their length.
    if length is not None and (len(length) > 18 or int(length) > limit):
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    body: bytes = message.get("body", b"")
    if len(body) > limit:
        raise _too_large(limit)
    if not message.get("more_body", False):
        return body
    parts, size = [body], len(body)
    while message.get("more_body", False):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)
