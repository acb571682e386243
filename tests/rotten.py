"""SQLite files changed behind handrail's back, as bytes that rot change them."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

__all__ = ["change", "lenient"]


def change(path: Path, statement: str, *values: object) -> None:
    """Change a file behind handrail's back."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def lenient(path: Path, table: str, statement: str, *values: object) -> None:
    """Change a table as flipped bits do, whatever its declaration says of types."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (sql,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
        change = "UPDATE sqlite_master SET sql = ? WHERE name = ?"
        connection.execute("PRAGMA writable_schema=1")
        connection.execute(change, (sql.replace(" NOT NULL", "").replace(" STRICT", ""), table))
        connection.execute("PRAGMA writable_schema=RESET")
        connection.execute(statement, values)
        connection.execute("PRAGMA writable_schema=1")
        connection.execute(change, (sql, table))
