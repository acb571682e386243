"""Databases as commands name and open them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handrail.errors import InputError

if TYPE_CHECKING:
    from handrail.service.store.protocol import Store

__all__ = ["DATABASE", "add_database", "database_of", "default_database", "opened", "store_errors"]

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


@contextmanager
def opened(database: str, *, create: bool) -> Iterator[Store]:
    """Open a database beside whatever server uses it, for the length of a block.

    Parameters
    ----------
    database : str
        A SQLite file, or a URL.
    create : bool
        Whether it is made if it is not there.

    Yields
    ------
    Store
        The database.

    Raises
    ------
    InputError
        If it cannot be opened, or goes away.
    """
    from handrail.extras import need_extra

    need_extra("msgspec", "service")
    from handrail.service.store.open import open_store

    with store_errors():
        store = open_store(database, create=create)
        try:
            yield store
        finally:
            store.close()


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn what a database raises into bad input, which ends a command with one line."""
    from handrail.service.store.protocol import StoreBroken, StoreUnavailable

    try:
        yield
    except StoreUnavailable as error:
        raise InputError("database", f"cannot be used now: {error}", "try again") from error
    except StoreBroken as error:
        raise InputError("database", f"is damaged: {error}", "restore a backup") from error
