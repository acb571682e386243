"""The application: finds the route, asks who calls, answers; whatever happens, it answers."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from handrail.errors import InputError
from handrail.service.http.asgi import Disconnected, Receive, Scope, Send
from handrail.service.http.call import Call, Shop
from handrail.service.http.gate import Gate, allow
from handrail.service.http.meters import Meters
from handrail.service.http.openapi import document
from handrail.service.http.ports import DeskPort
from handrail.service.http.queries import read_query
from handrail.service.http.replies import Reply, from_problem
from handrail.service.http.routes import Route, Router
from handrail.service.http.table import ROUTES
from handrail.service.limits import Limits
from handrail.service.problems import Problem, from_input, mistake
from handrail.service.store.protocol import KeyRow
from handrail.service.tasks import CALLER

__all__ = ["Application"]

_log = logging.getLogger("handrail.http")
_requests = logging.getLogger("handrail.requests")

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,1000}", re.ASCII)
_NO_QUERY: Final[dict[str, Any]] = {}


class Application:
    """The ASGI application.

    Parameters
    ----------
    desk : DeskPort
        Where the work is done.
    gate : Gate
        Says who a caller is.
    limits : Limits, optional
        What is taken at most.
    log_requests : bool, default=False
        Whether each request is a line in the log.
    """

    def __init__(
        self,
        desk: DeskPort,
        gate: Gate,
        *,
        limits: Limits | None = None,
        log_requests: bool = False,
    ) -> None:
        limits = limits or Limits()
        self.meters = Meters(desk)
        self._gate = gate
        self._log_requests = log_requests
        self._shop = Shop(desk, limits, self.meters, document(ROUTES, limits))
        self._router = Router(ROUTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began = perf_counter()
        method = scope["method"]
        found = self._router.find(scope["raw_path"])
        route = None if found is None else found[0].routes.get(method)
        key: KeyRow | None = None
        try:
            headers = dict(scope["headers"])
            if route is None or route.roles is not None:
                is_open = found is not None and found[0].open
                checked = None if is_open else self._gate.check(headers)
                key = checked if checked is None or isinstance(checked, KeyRow) else await checked
                CALLER.set(None if key is None else key.id)
            if route is not None and found is not None:
                reply = await self._answer(route, found[1], key, scope, headers, receive)
            elif found is not None:
                reply = from_problem(
                    Problem(405, f"{method} is not known here"), [(b"allow", found[0].allow)]
                )
            else:
                reply = from_problem(Problem(404, "there is nothing at this path"))
        except Problem as problem:
            reply = from_problem(problem)
        except InputError as error:
            reply = from_problem(from_input(error))
        except Disconnected:
            return
        except Exception:
            reply = from_problem(mistake(_log, method=method, path=scope["path"]))
        try:
            await reply.send(send, receive, head=method == "HEAD")
        except Disconnected:
            return
        seconds = perf_counter() - began
        path = "other" if route is None else route.path
        self.meters.count(path, method if route is not None else "other", reply.status, seconds)
        if self._log_requests:
            self._log_request(scope, reply, key, seconds)

    async def _answer(
        self,
        route: Route,
        parts: list[str],
        key: KeyRow | None,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
    ) -> Reply:
        if route.roles is not None:
            allow(key, route.roles, parts[0] if parts else None, route.whole)
        if parts and not _NAME.fullmatch(parts[0]):
            raise Problem(404, "there is no policy of this name", field="name")
        asked = scope["query_string"]
        query = read_query(asked, route.query) if asked or route.query else _NO_QUERY
        return await route.handler(Call(self._shop, key, parts, query, headers, receive))

    def _log_request(self, scope: Scope, reply: Reply, key: KeyRow | None, seconds: float) -> None:
        _requests.info(
            "request",
            extra={
                "method": scope["method"],
                "path": scope["path"],
                "status": reply.status,
                "seconds": round(seconds, 6),
                "key": None if key is None else key.id,
            },
        )
