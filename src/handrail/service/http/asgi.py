"""The types of ASGI, as far as they are used here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

__all__ = ["Disconnected", "Header", "Receive", "Scope", "Send", "until_gone"]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]


class Disconnected(Exception):
    """The caller went away before its request was whole: nobody waits for an answer."""


async def until_gone(receive: Receive) -> None:
    """Wait until the caller goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
