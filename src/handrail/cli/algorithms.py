"""`handrail algorithms`: the catalogue as a table or as JSON."""

from __future__ import annotations

import argparse
import json
from typing import Any

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "algorithms", help="list the catalogue", description="List the catalogue of algorithms."
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the catalogue."""
    from handrail.policies.catalogue import algorithms

    rows = [dict(row) for row in algorithms()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    columns = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in columns}
    for row in [{name: name for name in columns}, *rows]:
        print("  ".join(row[name].ljust(widths[name]) for name in columns).rstrip())
    return 0
