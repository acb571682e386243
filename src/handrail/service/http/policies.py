"""Policies: made, listed, shown, changed, archived; their arms."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from handrail.service.http.call import Call
from handrail.service.http.decoding import One
from handrail.service.http.replies import Reply, json_reply
from handrail.service.messages import ArmRequest, CreateRequest, ModeRequest

__all__ = ["add_arm", "archive", "change_mode", "create", "list_policies", "retire_arm", "show"]

_CREATE: Final = One(CreateRequest)
_MODE: Final = One(ModeRequest)
_ARM: Final = One(ArmRequest)


async def create(call: Call) -> Reply:
    """Make a policy."""
    made = await call.desk.create(await call.body(_CREATE))
    place = f"/v1/policies/{quote(made.name, safe='')}"
    return json_reply(made, 201, [(b"location", place.encode())])


async def list_policies(call: Call) -> Reply:
    """List policies: all of them, or the one that the key is limited to."""
    only = None if call.key is None else call.key.policy
    return json_reply(await call.desk.policies(call.query["after"], call.query["limit"], only))


async def show(call: Call) -> Reply:
    """Show a policy."""
    return json_reply(await call.desk.show(call.parts[0]))


async def change_mode(call: Call) -> Reply:
    """Change a policy's mode."""
    return json_reply(await call.desk.change_mode(call.parts[0], await call.body(_MODE)))


async def archive(call: Call) -> Reply:
    """Archive a policy."""
    return json_reply(await call.desk.archive(call.parts[0]))


async def add_arm(call: Call) -> Reply:
    """Add an arm."""
    return json_reply(await call.desk.add_arm(call.parts[0], await call.body(_ARM)), 201)


async def retire_arm(call: Call) -> Reply:
    """Retire an arm."""
    return json_reply(await call.desk.retire_arm(call.parts[0], call.parts[1]))
