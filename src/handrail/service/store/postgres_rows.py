"""Rows in and out of PostgreSQL, within a transaction that the store began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

import psycopg

from handrail.service.store.protocol import (
    HeadRow,
    KeyMoved,
    KeyRow,
    LogMoved,
    PolicyRow,
    Row,
    SnapshotRow,
)

__all__ = ["PostgresReader", "PostgresWriter"]

_EVENTS: Final = "SELECT seq, round, body, hash FROM handrail_events"

_AT_ONCE: Final = 5000
"""Events that are sent at once, so that an import of many stays small in memory."""


class PostgresReader:
    """A consistent view of what is committed."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def policies(self, after: str = "", limit: int = 1_000_000) -> list[PolicyRow]:
        """Return policies in the order of their names, those after a name."""
        found = self._all(
            "SELECT number, name FROM handrail_policies WHERE name > %s ORDER BY name LIMIT %s",
            after,
            limit,
        )
        return list(map(PolicyRow._make, found))

    def find(self, name: str) -> PolicyRow | None:
        """Return the policy of this name."""
        found = self._all("SELECT number, name FROM handrail_policies WHERE name = %s", name)
        return PolicyRow._make(found[0]) if found else None

    def events(self, policy: int, after: int = 0, limit: int = 1_000_000) -> list[Row]:
        """Return a policy's events in order, those after a seq."""
        found = self._all(
            f"{_EVENTS} WHERE policy = %s AND seq > %s ORDER BY seq LIMIT %s", policy, after, limit
        )
        return list(map(Row._make, found))

    def since(self, policy: int, seq: int, limit: int) -> list[Row]:
        """Return a policy's events in order, from the one on that the caller knows as the last.

        Notes
        -----
        A restore that deletes rows and takes no lock does not see what is appended before it is
        committed, and leaves it there: events are missing in front of it, and the last one is
        where it was. So the same statement looks whether the events 1, 2, 4, 8, ... places before
        the last one are there, too. Of a hole with at most as many events behind it as are missing
        one of them is among those.
        """
        before = [seq - (1 << k) for k in range((seq - 1).bit_length())]
        found = self._all(
            "SELECT seq, round, body, hash, "
            "(SELECT count(*) FROM handrail_events WHERE policy = %s AND seq = ANY(%s::bigint[])) "
            "FROM handrail_events WHERE policy = %s AND seq >= %s ORDER BY seq LIMIT %s",
            policy,
            f"{{{','.join(map(str, before))}}}",  # a list of numbers takes psycopg much longer
            policy,
            seq,
            limit,
        )
        if found and found[0][4] != len(before):
            raise LogMoved(f"events before {seq} of policy number {policy} are not there any more")
        return [Row._make(row[:4]) for row in found]

    def rounds(self, policy: int, first: int, last: int) -> list[Row]:
        """Return the events of these rounds, both ends included, in the order of seq."""
        found = self._all(
            f"{_EVENTS} WHERE policy = %s AND round >= %s AND round <= %s ORDER BY seq",
            policy,
            first,
            last,
        )
        return list(map(Row._make, found))

    def head(self, policy: int) -> Row | None:
        """Return the last event."""
        found = self._all(f"{_EVENTS} WHERE policy = %s ORDER BY seq DESC LIMIT 1", policy)
        return Row._make(found[0]) if found else None

    def snapshots(self, policy: int) -> list[SnapshotRow]:
        """Return what snapshots there are, the newest first."""
        found = self._all(
            "SELECT seq, hash, body FROM handrail_snapshots WHERE policy = %s ORDER BY seq DESC",
            policy,
        )
        return list(map(SnapshotRow._make, found))

    def noted(self) -> list[HeadRow]:
        """Return nothing: copies of PostgreSQL are made by its own tools."""
        return []

    def ownerless(self) -> list[int]:
        """Return the numbers under which there are events and no policy."""
        # From the first event of one policy to the first one of the next, not over all events.
        found = self._all(
            "WITH RECURSIVE found(number) AS (SELECT min(policy) FROM handrail_events UNION ALL "
            "SELECT (SELECT min(policy) FROM handrail_events WHERE policy > number) "
            "FROM found WHERE number IS NOT NULL) "
            "SELECT number FROM found WHERE number IS NOT NULL "
            "AND number NOT IN (SELECT number FROM handrail_policies) ORDER BY number"
        )
        return [number for (number,) in found]

    def keyed(self, policy: int, key: str) -> Row | None:
        """Return the event that an idempotency key was used for, if it is still kept."""
        found = self._connection.execute(
            "SELECT event.seq, event.round, event.body, event.hash FROM handrail_idempotency kept "
            "LEFT JOIN handrail_events event ON event.policy = kept.policy "
            "AND event.seq = kept.seq WHERE kept.policy = %s AND kept.key = %s",
            (policy, key.encode()),
            binary=True,
        ).fetchall()
        if not found:
            return None
        if found[0][0] is None:
            raise KeyMoved("there is no such event")
        return Row._make(found[0])

    def kept(self, policy: int, key: str) -> tuple[int | None, int | None]:
        """Return what is kept of an idempotency key: event and time, None where they are none."""
        found = self._all(
            "SELECT seq, at FROM handrail_idempotency WHERE policy = %s AND key = %s",
            policy,
            key.encode(),
        )
        seq, at = found[0] if found else (None, None)
        return seq if seq is None or seq > 0 else None, at

    def rotten_kept(self, limit: int) -> list[str]:
        """Return what is kept of idempotency keys and was written by nobody: which, in words."""
        # The keeper writes under the number of no policy to see whether it can.
        found = self._all(
            "SELECT policy, key FROM handrail_idempotency WHERE seq < 1 AND policy <> 0 LIMIT %s",
            limit,
        )
        return [f"policy {policy}, key {key.decode(errors='replace')!r}" for policy, key in found]

    def keys(self) -> list[KeyRow]:
        """Return all API keys, revoked ones too."""
        found = self._all(
            "SELECT id, role, policy, hash, created_at, revoked_at, label, expires_at, used_at "
            "FROM handrail_keys ORDER BY id"
        )
        return list(map(KeyRow._make, found))

    def _all(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        return self._run(query, *values).fetchall()

    def _run(self, query: LiteralString, *values: object) -> psycopg.Cursor[Any]:
        return self._connection.execute(query, values, binary=True)


class PostgresWriter(PostgresReader):
    """A transaction: everything in it is committed at its end, or nothing is.

    Events and idempotency keys are collected, and sent before the next statement or at the end:
    what counts is how often we wait for an answer. They are not left to a pipeline, because
    PostgreSQL takes no session for idle that is in the middle of one, and a server that is paused
    there would keep its locks.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        super().__init__(connection)
        self._events: list[tuple[int, int, int | None, bytes, bytes]] = []
        self._keys: dict[tuple[int, bytes], tuple[int, int]] = {}

    def lock(self, policies: Sequence[PolicyRow]) -> None:
        """Wait until nobody else writes to these policies; `LogMoved` if they are others by now.

        Notes
        -----
        Whoever locks several takes them in the order of their numbers, so that no two wait for
        each other.
        """
        found = self._all(
            "SELECT number, name FROM handrail_policies WHERE number = ANY(%s) "
            "ORDER BY number FOR UPDATE",
            [policy.number for policy in policies],
        )
        moved = {*policies}.difference(map(PolicyRow._make, found))
        if moved:
            names = ", ".join(sorted(policy.name for policy in moved))
            raise LogMoved(f"{names}: not the policies of their numbers any more")

    def keyed(self, policy: int, key: str) -> Row | None:
        """Return the event that an idempotency key was used for, if it is still kept."""
        if (policy, key.encode()) in self._keys:  # another key's event is in the tables, or nowhere
            self.flush()
        return super().keyed(policy, key)

    def add_policy(self, name: str) -> PolicyRow | None:
        """Add a policy; None if there is one of this name."""
        found = self._all(
            "INSERT INTO handrail_policies (name) VALUES (%s) ON CONFLICT DO NOTHING "
            "RETURNING number, name",
            name,
        )
        return PolicyRow._make(found[0]) if found else None

    def append(self, policy: int, rows: Sequence[Row], before: HeadRow | None = None) -> None:
        """Append events to a policy's log."""
        self._events += [(policy, *row) for row in rows]
        if len(self._events) >= _AT_ONCE:
            self.flush()

    def remember(self, policy: int, key: str, seq: int, at: int) -> None:
        """Keep an idempotency key; one that was kept before gives way."""
        self._keys[policy, key.encode()] = seq, at

    def forget(self, before: int) -> None:
        """Drop idempotency keys from before this time (microseconds since 1970)."""
        self._run("DELETE FROM handrail_idempotency WHERE at < %s", before)

    def put_snapshot(self, policy: int, snapshot: SnapshotRow, keep: int) -> None:
        """Add a snapshot, if the log has its event; keep only so many of the newest, none later."""
        added = self._run(
            "INSERT INTO handrail_snapshots (policy, seq, hash, body) SELECT policy, seq, hash, %b "
            "FROM handrail_events WHERE policy = %s AND seq = %s AND hash = %s "
            "ON CONFLICT (policy, seq) DO UPDATE SET hash = excluded.hash, body = excluded.body",
            snapshot.body,
            policy,
            snapshot.seq,
            snapshot.hash,
        )
        if not added.rowcount:
            return
        self._run(
            "DELETE FROM handrail_snapshots WHERE policy = %s AND (seq > %s OR seq <= "
            "(SELECT seq FROM handrail_snapshots WHERE policy = %s AND seq <= %s "
            "ORDER BY seq DESC LIMIT 1 OFFSET %s))",
            policy,
            snapshot.seq,
            policy,
            snapshot.seq,
            keep,
        )

    def add_key(self, key: KeyRow) -> None:
        """Add an API key."""
        self._run(
            "INSERT INTO handrail_keys (id, role, policy, hash, created_at, revoked_at, label, "
            "expires_at, used_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            *key,
        )

    def use_keys(self, used: Mapping[str, int]) -> None:
        """Note when API keys were last used: the latest time stays."""
        for id, at in sorted(used.items()):  # in one order, so that no two replicas lock each other
            self._run(
                "UPDATE handrail_keys SET used_at = greatest(coalesce(used_at, 0), %s) "
                "WHERE id = %s",
                at,
                id,
            )

    def revoke_key(self, id: str, at: int) -> bool:
        """Revoke an API key; False if there is none of this id, or it was revoked before."""
        done = self._run(
            "UPDATE handrail_keys SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL", at, id
        )
        return done.rowcount == 1

    def flush(self) -> None:
        """Send what was collected."""
        while self._events:
            some, self._events = self._events[:_AT_ONCE], self._events[_AT_ONCE:]
            columns = [list(column) for column in zip(*some, strict=True)]
            # As fast as COPY, and two to three times as fast as a row at a time.
            self._connection.execute(
                "INSERT INTO handrail_events (policy, seq, round, body, hash) SELECT * FROM "
                "unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::bytea[], %b::bytea[])",
                columns,
            )
        if self._keys:
            keys = [(*where, *what) for where, what in self._keys.items()]
            self._keys = {}
            self._connection.execute(
                "INSERT INTO handrail_idempotency (policy, key, seq, at) SELECT * FROM "
                "unnest(%b::bigint[], %b::bytea[], %b::bigint[], %b::bigint[]) "
                "ON CONFLICT (policy, key) DO UPDATE SET seq = excluded.seq, at = excluded.at",
                [list(column) for column in zip(*keys, strict=True)],
            )

    def _run(self, query: LiteralString, *values: object) -> psycopg.Cursor[Any]:
        self.flush()
        return super()._run(query, *values)
