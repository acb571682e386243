"""Rows in and out of SQLite, within a transaction that the store began."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from handrail.errors import InputError
from handrail.service.store.migrations import SEQ_BITS
from handrail.service.store.protocol import (
    HeadRow,
    KeyMoved,
    KeyRow,
    LogMoved,
    PolicyRow,
    Row,
    SnapshotRow,
)

__all__ = ["PAGE_BITS", "SqliteReader", "SqliteWriter", "text_of"]

_SEQS: Final = (1 << SEQ_BITS) - 1
_POLICIES: Final = 1 << (63 - SEQ_BITS)
"""More policies than there can be: with a larger number, which is rotten, none has an id."""
# A flipped bit in a row's header makes another type of a value, whatever the table says of types.
# What is no bytes is read as none, and fits no hash; text need not be UTF-8, and is not decoded.
_HASH: Final = "iif(typeof(hash) = 'blob', hash, x'')"
_BODY: Final = "iif(typeof(body) = 'blob', body, x'')"
_ROW: Final = f"seq, iif(typeof(round) = 'integer', round, NULL), {_BODY}, {_HASH}"
_THERE: Final = """
    (SELECT hash FROM events JOIN policies ON number = policy WHERE id = ? AND name = ?) IS ?
"""
# The keeper writes under the number of no policy to see whether it can.
_ROTTEN_KEPT: Final = f"""
    SELECT policy, key FROM idempotency
    WHERE typeof(policy) <> 'integer' OR typeof(key) <> 'text' OR typeof(at) <> 'integer'
        OR typeof(seq) <> 'integer' OR seq NOT BETWEEN (policy <> 0) AND {_SEQS}
        OR at < (policy <> 0) LIMIT ?
"""
_KEY: Final = "key IN (?, CAST(? AS BLOB))"
"""One flipped bit makes bytes of a key's text: it is the same key, and rotten."""
_MOST_VALUES: Final = 4 * 64
"""Of one statement: 64 events, so that few statements are enough and each is prepared once."""
_NAMED: Final = "typeof(name) = 'text'"
"""A policy whose name is none any more is not found by any: its events are of no policy."""
# From the first event of one policy to the first one of the next, not over all events. After the
# last id of a number, not from the first one of the next: that number may be more than ids hold.
# And where an event would be number 0 of a policy, whose first one is number 1.
_OWNERLESS: Final = f"""
    WITH RECURSIVE found(number) AS (
        SELECT min(id) >> {SEQ_BITS} FROM events
        UNION ALL
        SELECT (
            SELECT min(id) >> {SEQ_BITS} FROM events WHERE id > (number << {SEQ_BITS} | {_SEQS})
        ) FROM found WHERE number IS NOT NULL
    )
    SELECT number FROM found
    WHERE number IS NOT NULL AND number NOT IN (SELECT number FROM policies WHERE {_NAMED})
    UNION
    SELECT number FROM policies WHERE EXISTS (SELECT 1 FROM events WHERE id = number << {SEQ_BITS})
    ORDER BY number
"""
PAGE_BITS: Final = 12
_OVERHEAD: Final = 100
"""Bytes of a row besides its body: the hash, its place, the index."""


@lru_cache(256)
def _insertion(events: int, befores: int) -> str:
    """Return the statement that inserts so many events if so many others are there."""
    values = f"VALUES (?, ?, ?, ?){', (?, ?, ?, ?)' * (events - 1)}"
    if befores:
        there = " AND ".join([_THERE] * befores)
        values = f"SELECT * FROM ({values}) WHERE {there}"
    return f"INSERT INTO events (id, round, body, hash) {values}"


def _ids(policy: int, after: int = 0) -> tuple[int, int]:
    """Return the id after which a policy's events are, and the last one that they may have."""
    if not -_POLICIES <= policy < _POLICIES:
        return 0, 0
    first = policy << SEQ_BITS
    return first + min(after, _SEQS), first + _SEQS


def _seq(stored: object) -> int | None:
    """Return the number of an event, if that is what is stored."""
    return stored if isinstance(stored, int) and 0 < stored <= _SEQS else None


def text_of(stored: bytes) -> str:
    """Return a text of the database, also where a flipped bit has made it no UTF-8."""
    return stored.decode(errors="replace")


class SqliteReader:
    """A consistent view of what is committed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.text_factory = text_of

    def policies(self, after: str = "", limit: int = 1_000_000) -> list[PolicyRow]:
        """Return policies in the order of their names, those after a name."""
        found = self._connection.execute(
            f"SELECT number, name FROM policies WHERE name > ? AND {_NAMED} ORDER BY name LIMIT ?",
            (after, limit),
        )
        return list(map(PolicyRow._make, found))

    def find(self, name: str) -> PolicyRow | None:
        """Return the policy of this name."""
        found = self._connection.execute(
            "SELECT number, name FROM policies WHERE name = ?", (name,)
        ).fetchone()
        return None if found is None else PolicyRow._make(found)

    def events(self, policy: int, after: int = 0, limit: int = 1_000_000) -> list[Row]:
        """Return a policy's events in order, those after a seq."""
        found = self._connection.execute(
            f"SELECT {_ROW} FROM events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
            (*_ids(policy, after), limit),
        )
        return list(map(Row._make, found))

    def since(self, policy: int, seq: int, limit: int) -> list[Row]:
        """Return a policy's events in order, from the one on that the caller knows as the last.

        Nobody writes to a SQLite file while another transaction does, so a restore leaves no hole.
        """
        return self.events(policy, seq - 1, limit)

    def rounds(self, policy: int, first: int, last: int) -> list[Row]:
        """Return the events of these rounds, both ends included, in the order of seq."""
        found = self._connection.execute(
            f"SELECT {_ROW} FROM events WHERE policy = ? AND round >= ? AND round <= ? ORDER BY id",
            (policy, first, last),
        )
        return list(map(Row._make, found))

    def head(self, policy: int) -> Row | None:
        """Return the last event."""
        return self._row("id > ? AND id <= ? ORDER BY id DESC LIMIT 1", *_ids(policy))

    def snapshots(self, policy: int) -> list[SnapshotRow]:
        """Return what snapshots there are, the newest first."""
        found = self._connection.execute(
            f"SELECT seq, {_HASH}, {_BODY} FROM snapshots WHERE id > ? AND id <= ? "
            "ORDER BY id DESC",
            _ids(policy),
        )
        return list(map(SnapshotRow._make, found))

    def noted(self) -> list[HeadRow]:
        """Return the heads that were noted when a copy was made, if this is or was a copy."""
        if not self._connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'heads'"
        ).fetchone():
            return []
        try:
            found = self._connection.execute(
                "SELECT policy, seq, hash FROM heads ORDER BY policy"
            ).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            raise _no_heads(str(error)) from error  # it has other columns
        heads = list(map(HeadRow._make, found))
        for policy, seq, hash_ in heads:
            if not (isinstance(policy, str) and isinstance(seq, int) and isinstance(hash_, bytes)):
                raise _no_heads("it holds values of another type")
            if not 0 < seq <= _SEQS or len(hash_) != 32:
                raise _no_heads(f"event {seq} of {policy!r} with a hash of {len(hash_)} bytes")
        return heads

    def ownerless(self) -> list[int]:
        """Return the numbers under which there are events and no policy."""
        found = self._connection.execute(_OWNERLESS)
        return [number for (number,) in found]

    def keyed(self, policy: int, key: str) -> Row | None:
        """Return the event that an idempotency key was used for, if it is still kept."""
        found = self._connection.execute(
            f"SELECT seq FROM idempotency WHERE policy = ? AND {_KEY}", (policy, key, key)
        ).fetchone()
        if found is None:
            return None
        (seq,) = found
        row = None if _seq(seq) is None else self._row("id = ?", (policy << SEQ_BITS) + seq)
        if row is None:
            raise KeyMoved(f"there is no event {seq!r}")
        return row

    def kept(self, policy: int, key: str) -> tuple[int | None, int | None]:
        """Return what is kept of an idempotency key: event and time, None where they are none."""
        found = self._connection.execute(
            f"SELECT seq, at FROM idempotency WHERE policy = ? AND {_KEY}", (policy, key, key)
        ).fetchone()
        seq, at = found or (None, None)
        return _seq(seq), at if isinstance(at, int) and at > 0 else None

    def rotten_kept(self, limit: int) -> list[str]:
        """Return what is kept of idempotency keys and was written by nobody: which, in words."""
        found = self._connection.execute(_ROTTEN_KEPT, (limit,))
        return [f"policy {policy!r}, key {key!r}" for policy, key in found]

    def keys(self) -> list[KeyRow]:
        """Return all API keys, revoked ones too."""
        found = self._connection.execute(
            "SELECT id, role, policy, hash, created_at, revoked_at, label, expires_at, used_at "
            "FROM keys ORDER BY id"
        )
        return list(map(KeyRow._make, found))

    def _row(self, where: str, *values: int) -> Row | None:
        found = self._connection.execute(
            f"SELECT {_ROW} FROM events WHERE {where}", values
        ).fetchone()
        return None if found is None else Row._make(found)


def _no_heads(reason: str) -> InputError:
    return InputError(
        "heads", f"the table of noted heads is malformed: {reason}", "restore a backup"
    )


class SqliteWriter(SqliteReader):
    """A transaction: everything in it is committed at its end, or nothing is.

    It begins with the first statement that needs one. Most have nothing to write but events: these
    wait for the end, and go into one statement, which commits by itself. Every statement lets go of
    the interpreter's lock and has to get it back from threads that are busy.

    Attributes
    ----------
    pages : int
        About how many pages were written since the last checkpoint.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.pages = 0
        self._values: list[object] = []
        """The events that wait, value by value."""
        self._befores: list[tuple[int, int, str, bytes]] = []
        """The events that they follow: for which value, the id, the policy's name and the hash."""

    def begin(self) -> None:
        """Begin the transaction, with the events that wait."""
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        self._insert()

    def _insert(self) -> None:
        """Insert the events that wait, if the events that they follow are there.

        The same statement looks and inserts, so that nobody can write in between.
        """
        values, self._values = self._values, []
        befores, self._befores = self._befores, []
        for start in range(0, len(values), _MOST_VALUES):
            part = values[start : start + _MOST_VALUES]
            count = len(part) // 4
            known = [each[1:] for each in befores if 0 <= each[0] - start < len(part)]
            for each in known:
                part += each
            done = self._connection.execute(_insertion(count, len(known)), part)
            if done.rowcount != count:
                raise LogMoved("the events that new ones follow are not in their logs any more")

    def commit(self) -> None:
        """End the transaction: what was written is on disk."""
        if len(self._values) > _MOST_VALUES:
            self.begin()
        if not self._connection.in_transaction:
            self._insert()
            return
        self._insert()
        self._connection.execute("COMMIT")

    def undo(self) -> None:
        """Leave the transaction; SQLite may have left it by itself."""
        self._values, self._befores = [], []
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def events(self, policy: int, after: int = 0, limit: int = 1_000_000) -> list[Row]:
        """Return a policy's events in order, those after a seq."""
        if self._values:
            self.begin()
        return super().events(policy, after, limit)

    def rounds(self, policy: int, first: int, last: int) -> list[Row]:
        """Return the events of these rounds, both ends included, in the order of seq."""
        if self._values:
            self.begin()
        return super().rounds(policy, first, last)

    def _row(self, where: str, *values: int) -> Row | None:
        if self._values:
            self.begin()
        return super()._row(where, *values)

    def lock(self, policies: Sequence[PolicyRow]) -> None:
        """Do nothing: who writes has the whole file to himself, and looks when he appends."""

    def add_policy(self, name: str) -> PolicyRow | None:
        """Add a policy; None if there is one of this name."""
        self.begin()
        found = self._connection.execute(
            # Not after a rotten number, for whose next one there are no ids; nor one under which
            # there are events, of a policy whose own number is rotten.
            "INSERT INTO policies (number, name) SELECT 1 + max("
            "coalesce((SELECT max(number) FROM policies WHERE number BETWEEN 0 AND ?), 0), "
            f"coalesce((SELECT max(id) >> {SEQ_BITS} FROM events WHERE id BETWEEN 0 AND ?), 0)), "
            "? WHERE true ON CONFLICT DO NOTHING RETURNING number, name",
            (_POLICIES - 2, _ids(_POLICIES - 2)[1], name),
        ).fetchall()
        self.pages += 3
        return PolicyRow._make(found[0]) if found else None

    def append(self, policy: int, rows: Sequence[Row], before: HeadRow | None = None) -> None:
        """Append events to a policy's log; `before` is the one that they follow."""
        first = policy << SEQ_BITS
        if before is not None:
            place = len(self._values)
            self._befores.append((place, first + before.seq, before.policy, before.hash))
        values = self._values
        for seq, round_, body, hash_ in rows:
            values += (first + seq, round_, body, hash_)
        # A page of the table, one of its index, one more now and then, and those that fill up.
        written = sum([len(row[2]) for row in rows]) + _OVERHEAD * len(rows)
        self.pages += 3 + (written >> PAGE_BITS)

    def remember(self, policy: int, key: str, seq: int, at: int) -> None:
        """Keep an idempotency key; one that was kept before gives way."""
        self.begin()
        self._connection.execute(
            "INSERT OR REPLACE INTO idempotency (policy, key, seq, at) VALUES (?, ?, ?, ?)",
            (policy, key, seq, at),
        )
        self.pages += 2

    def forget(self, before: int) -> None:
        """Drop idempotency keys from before this time (microseconds since 1970)."""
        self.begin()
        done = self._connection.execute(
            # What is no time, or from before 1970, is rotten, and may be of now.
            "DELETE FROM idempotency WHERE at < ? AND at > 0 AND typeof(at) = 'integer'",
            (before,),
        )
        self.pages += 2 + max(done.rowcount, 0)  # each may lie on a page of its own

    def put_snapshot(self, policy: int, snapshot: SnapshotRow, keep: int) -> None:
        """Add a snapshot, if the log has its event; keep only so many of the newest, none later."""
        self.begin()
        first = policy << SEQ_BITS
        added = self._connection.execute(
            "INSERT OR REPLACE INTO snapshots (id, hash, body) "
            "SELECT id, hash, ? FROM events WHERE id = ? AND hash = ?",
            (snapshot.body, first + snapshot.seq, snapshot.hash),
        )
        if not added.rowcount:
            return
        self._connection.execute(
            "DELETE FROM snapshots WHERE id > ? AND id <= (SELECT id FROM snapshots "
            "WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1 OFFSET ?) OR id > ? AND id <= ?",
            (first, first, first + snapshot.seq, keep, first + snapshot.seq, first + _SEQS),
        )
        self.pages += 2 + (len(snapshot.body) >> PAGE_BITS)

    def add_key(self, key: KeyRow) -> None:
        """Add an API key."""
        self.begin()
        self._connection.execute(
            "INSERT INTO keys (id, role, policy, hash, created_at, revoked_at, label, expires_at, "
            "used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            key,
        )

    def use_keys(self, used: Mapping[str, int]) -> None:
        """Note when API keys were last used: the latest time stays."""
        self.begin()
        self._connection.executemany(
            "UPDATE keys SET used_at = max(coalesce(used_at, 0), ?) WHERE id = ?",
            [(at, id) for id, at in used.items()],
        )

    def revoke_key(self, id: str, at: int) -> bool:
        """Revoke an API key; False if there is none of this id, or it was revoked before."""
        self.begin()
        done = self._connection.execute(
            "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, id)
        )
        return done.rowcount == 1
