"""For those who run the service: is it alive, is it ready, what does it count, what can it do."""

from __future__ import annotations

import msgspec

from handrail.service.http.call import Call
from handrail.service.http.meters import METRICS
from handrail.service.http.replies import JSON, SECURITY, Reply, json_reply
from handrail.service.problems import Problem

__all__ = ["Health", "health", "metrics", "openapi", "readiness"]


class Health(msgspec.Struct):
    """That it is well."""

    status: str


_ALIVE = json_reply(Health("alive"))
_READY = json_reply(Health("ready"))


async def health(call: Call) -> Reply:
    """Say that the process answers."""
    return _ALIVE


async def readiness(call: Call) -> Reply:
    """Say whether decisions are made."""
    if call.desk.broken is not None:
        raise Problem(503, "the database cannot be relied on, the server stops")
    if not call.desk.ready:
        raise Problem(503, "the service is starting or stopping")
    return _READY


async def metrics(call: Call) -> Reply:
    """Return the metrics."""
    content = (b"content-type", METRICS.encode())
    return Reply(200, (content, *SECURITY), call.shop.meters.text())


async def openapi(call: Call) -> Reply:
    """Return the OpenAPI document."""
    return Reply(200, ((b"content-type", JSON.encode()), *SECURITY), call.shop.document)
