"""A request that was let in, as handlers see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from handrail.service.http.asgi import Receive, until_gone
from handrail.service.http.bodies import check_type, read_body
from handrail.service.http.meters import Meters
from handrail.service.http.ports import DeskPort
from handrail.service.limits import Limits
from handrail.service.problems import Problem
from handrail.service.store.protocol import KeyRow

__all__ = ["Call", "Decodes", "Shop"]

T_co = TypeVar("T_co", covariant=True)


class Decodes(Protocol, Generic[T_co]):
    """Makes something of a body, or raises a `Problem`."""

    def decode(self, body: bytes) -> T_co:
        """Return what the body says."""


class Shop:
    """What all requests share.

    Parameters
    ----------
    desk : DeskPort
        Where the work is done.
    limits : Limits
        What is taken at most.
    meters : Meters
        What is counted.
    document : bytes
        The OpenAPI document.

    Attributes
    ----------
    files : int
        How many Parquet files are made or sent.
    """

    __slots__ = ("desk", "document", "files", "limits", "meters")

    def __init__(self, desk: DeskPort, limits: Limits, meters: Meters, document: bytes) -> None:
        self.desk = desk
        self.limits = limits
        self.meters = meters
        self.document = document
        self.files = 0


class Call:
    """A request.

    Parameters
    ----------
    shop : Shop
        What all requests share.
    key : KeyRow or None
        The caller's key; None where none is asked for.
    parts : list of str
        What the path has in place of its braces.
    query : dict
        The query parameters.
    headers : mapping
        The headers.
    receive : callable
        ASGI's.
    """

    __slots__ = ("_headers", "_receive", "desk", "key", "parts", "query", "shop")

    def __init__(
        self,
        shop: Shop,
        key: KeyRow | None,
        parts: list[str],
        query: dict[str, Any],
        headers: Mapping[bytes, bytes],
        receive: Receive,
    ) -> None:
        self.shop = shop
        self.desk = shop.desk
        self.key = key
        self.parts = parts
        self.query = query
        self._headers = headers
        self._receive = receive

    async def body(self, decoder: Decodes[T_co]) -> T_co:
        """Return the body, decoded."""
        check_type(self._headers)
        body = await read_body(self._receive, self._headers, self.shop.limits.body_bytes)
        return decoder.decode(body)

    async def gone(self) -> None:
        """Wait until the caller goes away; the body, if there is one, is read no more."""
        await until_gone(self._receive)

    def check_batch(self, size: int, field: str) -> None:
        """Refuse a batch that is empty or too long."""
        most = self.shop.limits.batch
        if not 1 <= size <= most:
            raise Problem(422, f"has {size} entries, not 1 to {most}", field=field)
