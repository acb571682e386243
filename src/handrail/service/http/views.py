"""What was decided, what was earned and what is known, page by page."""

from __future__ import annotations

from handrail.service.http.call import Call
from handrail.service.http.replies import Reply, json_reply

__all__ = ["budget", "decisions", "estimates"]


async def decisions(call: Call) -> Reply:
    """List decisions in the order of their rounds."""
    query = call.query
    return json_reply(await call.desk.decisions(call.parts[0], query["after"], query["limit"]))


async def budget(call: Call) -> Reply:
    """Show what was earned, what had to be and what is certified."""
    query = call.query
    return json_reply(await call.desk.budget(call.parts[0], query["after"], query["points"]))


async def estimates(call: Call) -> Reply:
    """Show what is known of the actions."""
    query = call.query
    return json_reply(await call.desk.estimates(call.parts[0], query["after"], query["points"]))
