"""`handrail keys`: who may ask the service for what."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.database import add_database, database_of, opened
from handrail.errors import InputError

if TYPE_CHECKING:
    from handrail.service.store.protocol import KeyRow

__all__ = ["register", "run_create", "run_list", "run_revoke"]

_ROLES: Final = ("decide", "reward", "read", "admin")
"""As in `handrail.service.keys`, which is not imported before it is needed."""
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SOON: Final = "a server that runs notices within seconds"


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "keys",
        help="create, list and revoke API keys of the service",
        description=(
            "Create, list and revoke API keys of the service. To change a key without a gap, "
            "create the new one, hand it out, and then revoke the old one."
        ),
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = actions.add_parser(
        "create",
        help="make a key and print it, once",
        description="Make a key and print it. It is not kept anywhere and cannot be shown again.",
    )
    create.add_argument(
        "--role",
        required=True,
        choices=_ROLES,
        help="what it may do; an admin may do everything",
    )
    create.add_argument("--policy", metavar="NAME", help="the only policy it may do it to")
    create.add_argument("--label", metavar="TEXT", help="who has it, or what for")
    create.add_argument(
        "--expires",
        metavar="WHEN",
        help="when it stops to work: 90d, 12h, or a date such as 2027-01-31",
    )
    add_database(create)
    create.add_argument("--json", action="store_true", help="print JSON in place of text")
    create.set_defaults(run=run_create)
    listing = actions.add_parser(
        "list",
        help="list keys, never their secrets",
        description="List all keys, revoked ones too. Of a secret only a hash is kept.",
    )
    add_database(listing)
    listing.add_argument("--json", action="store_true", help="print JSON in place of a table")
    listing.set_defaults(run=run_list)
    revoke = actions.add_parser(
        "revoke", help="revoke a key for good", description=f"Revoke a key for good; {_SOON}."
    )
    revoke.add_argument("id", metavar="ID", help="the key's id, as `handrail keys list` shows it")
    add_database(revoke)
    revoke.set_defaults(run=run_revoke)


def run_create(arguments: argparse.Namespace) -> int:
    """Make a key and print it."""
    from handrail.service.keys import new_key

    make = partial(
        new_key,
        arguments.role,
        arguments.policy,
        label=arguments.label,
        expires_at=None if arguments.expires is None else _moment(arguments.expires),
    )
    with opened(database_of(arguments), create=True) as store, store.writing() as writer:
        rows = writer.keys()
        taken = {row.id for row in rows}
        key, row = make()
        while row.id in taken:
            key, row = make()
        writer.add_key(row)
        missing = arguments.policy is not None and writer.find(arguments.policy) is None
    if missing:
        print(f"note: there is no policy {arguments.policy!r} yet", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"key": key, **_shown(row)}, indent=2))
    else:
        print(key)
        print(f"Keep it: it is not shown again. Its id is {row.id}; {_SOON}.", file=sys.stderr)
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    """Print all keys, the oldest first."""
    from handrail.service.keys import Keyring, rotten_keys

    with opened(database_of(arguments), create=False) as store, store.reading() as reader:
        stored = reader.keys()
    for rotten in rotten_keys(stored):
        print(f"damaged, and left out: {rotten}", file=sys.stderr)
    rows = sorted(Keyring(stored).rows, key=lambda row: (row.created_at, row.id))
    shown = [_shown(row) for row in rows]
    if arguments.json:
        print(json.dumps(shown, indent=2))
        return 0
    columns = ("id", "role", "policy", "label", "created_at", "used_at", "expires_at", "revoked_at")
    table = [columns, *(tuple(row[name] or "-" for name in columns) for row in shown)]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    return 0


def run_revoke(arguments: argparse.Namespace) -> int:
    """Revoke a key."""
    from handrail.service.keys import Keyring

    with opened(database_of(arguments), create=False) as store, store.writing() as writer:
        if not writer.revoke_key(arguments.id, time.time_ns() // 1000):
            known = {row.id: row for row in Keyring(writer.keys()).rows}.get(arguments.id)
            if known is None:
                raise InputError(
                    "id", f"there is no key {arguments.id!r}", "see `handrail keys list`"
                )
            raise InputError(
                "id",
                f"{arguments.id} was revoked {_time(known.revoked_at)}",
                "there is nothing to do",
            )
    print(f"{arguments.id} is revoked; {_SOON}")
    return 0


def _shown(row: KeyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "role": row.role,
        "policy": row.policy,
        "label": row.label,
        "created_at": _time(row.created_at),
        "used_at": _time(row.used_at),
        "expires_at": _time(row.expires_at),
        "revoked_at": _time(row.revoked_at),
    }


def _moment(text: str) -> int:
    """Return a time to come in microseconds since 1970."""
    now = datetime.now(UTC)
    try:
        if found := re.fullmatch(r"([0-9]{1,5})([dh])", text):
            hours = int(found[1]) * (24 if found[2] == "d" else 1)
            when = now + timedelta(hours=hours)
        else:
            when = datetime.fromisoformat(text)
            # In UTC it may be in a year that has no name.
            when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        return (when - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        raise InputError(
            "expires", f"{text!r} is no time", "pass 90d, 12h, or a date such as 2027-01-31"
        ) from None


def _time(at: int | None) -> str | None:
    if at is None:
        return None
    # A release before this one took times beyond the last that has a name.
    at = min(at, (_LAST - _EPOCH) // _MICROSECOND)
    return (_EPOCH + at * _MICROSECOND).isoformat(timespec="seconds")
