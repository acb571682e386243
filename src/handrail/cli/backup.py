"""`handrail backup` and `handrail restore`: copies of the service's database, and back."""

from __future__ import annotations

import argparse
from typing import Any

from handrail.cli.database import add_database, database_of

__all__ = ["register", "run", "run_restore"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "backup",
        help="copy the service's SQLite file while it runs",
        description=(
            "Copy the SQLite file of a service as it is at one moment, also while a server writes "
            "to it, check the copy, and put it in place as a whole. handrail restore puts it back. "
            "For PostgreSQL use pg_dump."
        ),
    )
    parser.add_argument("source", metavar="SOURCE", help="the SQLite file")
    parser.add_argument("--out", metavar="FILE", required=True, help="the copy")
    parser.set_defaults(run=run)
    back = commands.add_parser(
        "restore",
        help="put a copy back where the service's SQLite file is",
        description=(
            "Check a copy that handrail backup made and put it where the database is, as a whole "
            "or not at all. What was there is replaced. Refuses while a server has the database. "
            "For PostgreSQL use pg_restore."
        ),
    )
    back.add_argument("backup", metavar="BACKUP", help="the copy")
    add_database(back)
    back.set_defaults(run=run_restore)


def run(arguments: argparse.Namespace) -> int:
    """Copy, and say what is in the copy."""
    from handrail.service.store.backup import back_up

    done = back_up(arguments.source, arguments.out)
    print(f"{done.path}: {done.policies} policies, {done.events} events, {done.bytes} bytes")
    return 0


def run_restore(arguments: argparse.Namespace) -> int:
    """Put a copy back, and say what is in the database now."""
    from handrail.service.store.backup import restore

    done = restore(arguments.backup, database_of(arguments))
    print(f"{done.path}: {done.policies} policies, {done.events} events, {done.bytes} bytes")
    return 0
