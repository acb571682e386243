"""`handrail backup`: copy the service's database while it runs."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "backup",
        help="copy the service's SQLite file while it runs",
        description=(
            "Copy the SQLite file of a service as it is at one moment, also while a server writes "
            "to it, check the copy, and put it in place as a whole. To restore it, stop the "
            "server and put the copy where the database is, without the -wal and -shm files "
            "beside it. For PostgreSQL use pg_dump."
        ),
    )
    parser.add_argument("source", metavar="SOURCE", help="the SQLite file")
    parser.add_argument("--out", metavar="FILE", required=True, help="the copy")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Copy, and say what is in the copy."""
    from handrail.service.store.backup import back_up

    done = back_up(arguments.source, arguments.out)
    print(f"{done.path}: {done.policies} policies, {done.events} events, {done.bytes} bytes")
    return 0
