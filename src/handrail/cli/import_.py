"""`handrail import`: a policy's log from a file into a database."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from handrail.cli.database import add_database, database_of, opened

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "import",
        help="read a policy's log from a file into a database",
        description=(
            "Read a file that handrail export wrote into a database that has no policy of its "
            "name. Its hashes are checked and its events folded before anything is written; then "
            "all of it is, or nothing."
        ),
    )
    parser.add_argument("file", metavar="FILE", help="NDJSON or Parquet")
    add_database(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Import the file and print the log's head."""
    from handrail.extras import need_extra

    need_extra("msgspec", "service")
    from handrail.service.logfile import whole_header
    from handrail.service.transfer import import_log

    path = Path(arguments.file)
    whole_header(path)  # a wrong file makes no database
    with opened(database_of(arguments), create=True) as store:
        written = import_log(path, store, time.time_ns() // 1000)
    print(f"{written.events:,} events of {written.policy}, head {written.head}")
    return 0
