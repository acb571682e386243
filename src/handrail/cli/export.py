"""`handrail export`: a policy's log as a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from handrail.cli.database import store_errors
from handrail.errors import InputError

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "export",
        help="write a policy's log to a file",
        description=(
            "Write a policy's log, all events up to now or up to one of them, to a file that "
            "handrail audit checks and handrail import reads. A server may be running."
        ),
    )
    parser.add_argument(
        "source", metavar="SOURCE", help="a database (path or URL) or a file of handrail export"
    )
    parser.add_argument("--policy", required=True, metavar="NAME", help="whose log")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="Parquet if it ends in .parquet, else NDJSON; an older one is replaced",
    )
    parser.add_argument(
        "--until",
        type=int,
        metavar="SEQ",
        help="the last event to write: a log that ends before what is wrong with it is a log",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file and print the log's head."""
    from handrail.extras import need_extra

    need_extra("msgspec", "service")
    from handrail.service.sources import open_source
    from handrail.service.transfer import export_log

    out = Path(arguments.out)
    if not out.parent.is_dir() or out.is_dir():
        raise InputError("--out", f"{out} is no place for a file", "name a file in a folder")
    with store_errors():
        source = open_source(arguments.source)
        try:
            if arguments.policy not in source.policies():
                raise InputError(
                    "policy", f"there is no {arguments.policy!r}", "see handrail audit"
                )
            written = export_log(source, arguments.policy, out, arguments.until)
        finally:
            source.close()
    print(f"{written.events:,} events of {written.policy}, head {written.head}")
    return 0
