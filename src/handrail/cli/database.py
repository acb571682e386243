"""The option that names a database, the same for every command that has one."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

__all__ = ["DATABASE", "add_database", "database_of", "default_database"]

DATABASE: Final = "handrail.db"
"""The SQLite file of those who name none, in the user's data folder."""


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add `--database`."""
    parser.add_argument(
        "--database",
        metavar="PATH|URL",
        help=(
            "a SQLite file or postgresql://...; by default $HANDRAIL_DATABASE, which keeps a "
            f"password out of the list of processes, or {DATABASE} in your data folder"
        ),
    )


def default_database() -> Path:
    """Return the database of those who name none: the same from whatever folder they call."""
    from platformdirs import user_data_path

    return user_data_path("handrail", appauthor=False) / DATABASE


def database_of(arguments: argparse.Namespace) -> str:
    """Return the database that was named, or the default."""
    named: str | None = arguments.database
    return named or os.environ.get("HANDRAIL_DATABASE") or str(default_database())
