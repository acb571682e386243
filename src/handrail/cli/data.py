"""`handrail data`: the ratings that figures need and that handrail may not ship."""

from __future__ import annotations

import argparse
import sys
from typing import Any

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "data",
        help="get the Jester ratings",
        description=(
            "Download the Jester joke ratings from the project's site, or from the address in "
            "HANDRAIL_JESTER_URL; check their content and keep it in the cache (HANDRAIL_CACHE, or "
            "the user's cache folder)."
        ),
    )
    parser.add_argument("name", choices=["jester"], help="which data")
    parser.add_argument(
        "--file", metavar="PATH", help="take a copy that is already there: .zip, .csv or .xls"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Put the ratings into the cache, unless they are there."""
    from handrail.environments import jester
    from handrail.environments.jester_check import JOKES, SHA256, USERS

    if arguments.file is not None:
        path = jester.take_jester(arguments.file)
    elif jester.is_kept():
        path = jester.jester_file()
        print("already in the cache, nothing was downloaded")
    else:
        path = jester.fetch_jester(say=lambda line: print(line, file=sys.stderr, flush=True))
    print(path)
    print(
        f"checked: {USERS:,} users x {JOKES} jokes, every rating in range, content sha256 {SHA256}"
    )
    print(f"free for research when acknowledged: {jester.ACKNOWLEDGEMENT}")
    return 0
