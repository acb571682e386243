"""The tables in a PostgreSQL database, made and brought up to date."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Final

import psycopg

from handrail.errors import InputError
from handrail.service.store.address import Address
from handrail.service.store.migrations import POSTGRES, Migration, missing, newest
from handrail.service.store.postgres import Patience, PostgresStore, connect, judge

__all__ = ["migrate", "open_postgres"]

_LOCK: Final = int.from_bytes(b"handrail", "big") >> 1
"""The advisory lock of those who change the tables."""

_PATIENCE: Final = Patience(idle=60.0, lock=60.0, statement=600.0)
"""A change of the tables may take its time, and so may the server that is at it."""


def open_postgres(url: str, create: bool) -> PostgresStore:
    """Open a PostgreSQL database, and bring its tables up to date."""
    address = Address(url)
    try:
        with contextlib.closing(connect(address, _PATIENCE)) as connection:
            migrate(connection, POSTGRES, create)
    except psycopg.Error as error:
        raise InputError(
            "database",
            f"PostgreSQL at {address} does not take us: {judge(error)}",
            "see that it runs, and that the user may connect and make tables",
        ) from error
    return PostgresStore(address)


def migrate(
    connection: psycopg.Connection[Any], migrations: Sequence[Migration], create: bool
) -> None:
    """Take the steps that are missing, all or none, one server at a time.

    Servers of the version before may be running: a step adds to the tables, and takes nothing
    away that they use.
    """
    if not create and _version(connection) == 0:
        raise InputError("database", "has no tables of handrail's", "name one that has")
    if not missing(migrations, _version(connection)):
        return
    # Not within the transaction: what PostgreSQL knows of tables by name is brought up to date
    # when one begins, and not while it waits for this lock. It goes with the connection.
    connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    with connection.transaction():
        found = _version(connection)  # of servers that start together, another may have done it
        if found == 0:
            connection.execute("CREATE TABLE handrail_meta (version integer NOT NULL)")
            connection.execute("INSERT INTO handrail_meta VALUES (0)")
        for migration in missing(migrations, found):
            for statement in migration.statements:
                connection.execute(statement)
        connection.execute("UPDATE handrail_meta SET version = %s", (newest(migrations),))
    connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def _version(connection: psycopg.Connection[Any]) -> int:
    if connection.execute("SELECT to_regclass('handrail_meta')").fetchone() == (None,):
        return 0
    found = connection.execute("SELECT version FROM handrail_meta").fetchone()
    return 0 if found is None else int(found[0])
