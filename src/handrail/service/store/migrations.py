"""The tables, as the steps that made them: a step that was released is never changed.

A database notes the number of the last step it went through. Opening it takes the steps that are
missing; a database that went further than this handrail knows is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.errors import InputError

__all__ = ["POSTGRES", "SEQ_BITS", "SQLITE", "Migration", "missing", "newest"]

SEQ_BITS: Final = 40
"""In SQLite a row's id is the policy's number and, in so many lower bits, the event's seq."""


class Migration(NamedTuple):
    """A step: the version that a database has after it, and what to do."""

    version: int
    statements: tuple[str, ...]


# An event's place is packed into the rowid. Rows then lie in the order of the log without a second
# tree to find them by, and a body of a few kilobytes still fits into its page: in a table WITHOUT
# ROWID whatever exceeds a quarter of a page gets a page of its own.
_PLACE: Final = f"""
    policy INTEGER AS (id >> {SEQ_BITS}) VIRTUAL,
    seq INTEGER AS (id & {(1 << SEQ_BITS) - 1}) VIRTUAL
"""

SQLITE: Final[Sequence[Migration]] = (
    Migration(
        1,
        (
            """CREATE TABLE policies (
                number INTEGER PRIMARY KEY,
                name TEXT NOT NULL UNIQUE
            ) STRICT""",
            f"""CREATE TABLE events (
                id INTEGER PRIMARY KEY,
                round INTEGER,
                body BLOB NOT NULL,
                hash BLOB NOT NULL,
                {_PLACE}
            ) STRICT""",
            "CREATE INDEX events_by_round ON events (policy, round) WHERE round IS NOT NULL",
            """CREATE TABLE idempotency (
                policy INTEGER NOT NULL,
                key TEXT NOT NULL,
                seq INTEGER NOT NULL,
                at INTEGER NOT NULL,
                PRIMARY KEY (policy, key)
            ) STRICT, WITHOUT ROWID""",
            "CREATE INDEX idempotency_by_time ON idempotency (at)",
            f"""CREATE TABLE snapshots (
                id INTEGER PRIMARY KEY,
                hash BLOB NOT NULL,
                body BLOB NOT NULL,
                {_PLACE}
            ) STRICT""",
            """CREATE TABLE keys (
                id TEXT PRIMARY KEY,
                role TEXT NOT NULL,
                policy TEXT,
                hash BLOB NOT NULL,
                created_at INTEGER NOT NULL,
                revoked_at INTEGER
            ) STRICT, WITHOUT ROWID""",
        ),
    ),
    Migration(
        2,
        (
            "ALTER TABLE keys ADD COLUMN label TEXT",
            "ALTER TABLE keys ADD COLUMN expires_at INTEGER",
            "ALTER TABLE keys ADD COLUMN used_at INTEGER",
        ),
    ),
)

# Names have a prefix, because the database may belong to more than handrail. COLLATE "C" is
# SQLite's order of names. An idempotency key is whatever text a caller thought of: PostgreSQL's
# text takes no NUL, bytea does.
POSTGRES: Final[Sequence[Migration]] = (
    Migration(
        1,
        (
            """CREATE TABLE handrail_policies (
                number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                name text COLLATE "C" NOT NULL UNIQUE
            )""",
            """CREATE TABLE handrail_events (
                policy bigint NOT NULL,
                seq bigint NOT NULL,
                round bigint,
                body bytea NOT NULL,
                hash bytea NOT NULL,
                PRIMARY KEY (policy, seq)
            )""",
            """CREATE INDEX handrail_events_by_round ON handrail_events (policy, round)
                WHERE round IS NOT NULL""",
            """CREATE TABLE handrail_idempotency (
                policy bigint NOT NULL,
                key bytea NOT NULL,
                seq bigint NOT NULL,
                at bigint NOT NULL,
                PRIMARY KEY (policy, key)
            )""",
            "CREATE INDEX handrail_idempotency_by_time ON handrail_idempotency (at)",
            """CREATE TABLE handrail_snapshots (
                policy bigint NOT NULL,
                seq bigint NOT NULL,
                hash bytea NOT NULL,
                body bytea NOT NULL,
                PRIMARY KEY (policy, seq)
            )""",
            """CREATE TABLE handrail_keys (
                id text COLLATE "C" PRIMARY KEY,
                role text NOT NULL,
                policy text,
                hash bytea NOT NULL,
                created_at bigint NOT NULL,
                revoked_at bigint
            )""",
        ),
    ),
    Migration(
        2,
        (
            "ALTER TABLE handrail_keys ADD COLUMN label text",
            "ALTER TABLE handrail_keys ADD COLUMN expires_at bigint",
            "ALTER TABLE handrail_keys ADD COLUMN used_at bigint",
        ),
    ),
)


def newest(migrations: Sequence[Migration]) -> int:
    """Return the version that a database has after all of these steps."""
    return migrations[-1].version


def missing(migrations: Sequence[Migration], found: int) -> Sequence[Migration]:
    """Return the steps that a database of this version has to take; refuse a newer one."""
    known = newest(migrations)
    if found > known:
        raise InputError(
            "database",
            f"is of version {found}, this handrail knows up to {known}",
            "upgrade handrail",
        )
    return [each for each in migrations if each.version > found]
