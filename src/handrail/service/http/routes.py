"""Routes: what there is at which path, for whom; and how a path is found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from handrail.service.http.call import Call
from handrail.service.http.queries import Parameter
from handrail.service.http.replies import Reply

__all__ = ["Place", "Route", "Router"]


@dataclass(frozen=True)
class Route:
    """What is done at a path with a method; the OpenAPI document is written from it.

    Parameters
    ----------
    method, path : str
        Where; braces in the path stand for any text without a slash.
    handler : callable
        What is done.
    about : str
        The same in a few words.
    roles : frozenset of str or None
        Who may, besides admin; None for everybody, without a key.
    whole : bool, default=False
        Whether keys that are limited to a policy may not.
    takes : tuple of type, default=()
        The structs that a body may be.
    gives : tuple of type, default=()
        The structs that an answer in JSON may be.
    media : mapping, default={}
        Other types of answers, with their schemas.
    status : int, default=200
        Of the answer if all is well.
    problems : tuple of int, default=()
        The statuses of what may go wrong, besides those that any request may meet.
    query : tuple of Parameter, default=()
        The query parameters.
    """

    method: str
    path: str
    handler: Callable[[Call], Awaitable[Reply]]
    about: str
    roles: frozenset[str] | None
    whole: bool = False
    takes: tuple[Any, ...] = ()
    gives: tuple[Any, ...] = ()
    media: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    status: int = 200
    problems: tuple[int, ...] = ()
    query: tuple[Parameter, ...] = ()


class Place:
    """What there is at a path: a route for each method, and places further down."""

    __slots__ = ("allow", "below", "open", "routes", "wild")

    def __init__(self) -> None:
        self.below: dict[str, Place] = {}
        self.wild: Place | None = None
        self.routes: dict[str, Route] = {}
        self.open = False
        self.allow = b""

    def add(self, route: Route) -> None:
        """Put a route here; GET brings HEAD with it."""
        self.routes[route.method] = route
        if route.method == "GET":
            self.routes["HEAD"] = route
        self.open = self.open or route.roles is None
        self.allow = ", ".join(sorted(self.routes)).encode()


class Router:
    """Finds routes.

    Parameters
    ----------
    routes : iterable of Route
        All there are.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = Place()
        for route in routes:
            place = self._root
            for part in route.path.split("/")[1:]:
                if part.startswith("{"):
                    place.wild = place.wild or Place()
                    place = place.wild
                else:
                    place = place.below.setdefault(part, Place())
            place.add(route)

    def find(self, raw_path: bytes) -> tuple[Place, list[str]] | None:
        """Return the place at a path and what stands for its braces; None if there is none.

        The path is split before it is decoded: a slash that was encoded belongs to a name.
        """
        place = self._root
        parts = []
        for part in raw_path.decode("latin-1").split("/")[1:]:
            below = place.below.get(part)
            if below is None:
                below = place.wild
                if below is None or not part:
                    return None
                parts.append(_decoded(part) if "%" in part else part)
            place = below
        return (place, parts) if place.routes else None


def _decoded(part: str) -> str:
    return unquote_to_bytes(part).decode("utf-8", "replace")
