"""What the service asks of a database: an append-only log per policy, and little else.

Snapshots, the index of idempotency keys and the index by round follow from the log; API keys are
the only thing kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

__all__ = [
    "HeadRow",
    "KeyMoved",
    "KeyRow",
    "LogMoved",
    "PolicyRow",
    "Reader",
    "Row",
    "SnapshotRow",
    "Store",
    "StoreBroken",
    "StoreUnavailable",
    "View",
    "Writer",
]


class StoreUnavailable(Exception):
    """Nothing was written, or it is not known whether it was; it may work later."""


class StoreBroken(Exception):
    """What was written may not be on disk (a failed fsync, a corrupt file): stop, do not lie."""


class LogMoved(Exception):
    """A log no longer has the event it had: the database was restored, or failed over."""


class KeyMoved(Exception):
    """What is kept of an idempotency key leads to no event: it is rotten, or the event is gone."""


class PolicyRow(NamedTuple):
    """A policy: the number that its rows carry, and its name."""

    number: int
    name: str


class Row(NamedTuple):
    """An event as it is stored; `seq` counts from 1 without a gap."""

    seq: int
    round: int | None
    body: bytes
    hash: bytes


class SnapshotRow(NamedTuple):
    """A policy's state after an event, and that event's hash."""

    seq: int
    hash: bytes
    body: bytes


class HeadRow(NamedTuple):
    """Where a policy's log was when somebody noted it: an event and its hash."""

    policy: str
    seq: int
    hash: bytes


class KeyRow(NamedTuple):
    """An API key: never the key itself, only a hash of its secret."""

    id: str
    role: str
    policy: str | None
    """The policy it is limited to."""
    hash: bytes
    created_at: int
    """Microseconds since 1970."""
    revoked_at: int | None
    label: str | None = None
    """Who has it, or what for."""
    expires_at: int | None = None
    used_at: int | None = None
    """When it was last used, to the minute."""

    def opens(self, now: int) -> bool:
        """Say whether it is good for anything at this time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Reader(Protocol):
    """A consistent view of what is committed."""

    def policies(self, after: str = "", limit: int = 1_000_000) -> list[PolicyRow]:
        """Return policies in the order of their names, those after a name."""

    def find(self, name: str) -> PolicyRow | None:
        """Return the policy of this name."""

    def events(self, policy: int, after: int = 0, limit: int = 1_000_000) -> list[Row]:
        """Return a policy's events in order, those after a seq."""

    def since(self, policy: int, seq: int, limit: int) -> list[Row]:
        """Return a policy's events in order, from the one on that the caller knows as the last.

        Raises `LogMoved` if events before that one are seen to be missing.
        """

    def rounds(self, policy: int, first: int, last: int) -> list[Row]:
        """Return the events of these rounds, both ends included, in the order of seq."""

    def head(self, policy: int) -> Row | None:
        """Return the last event."""

    def snapshots(self, policy: int) -> list[SnapshotRow]:
        """Return what snapshots there are, the newest first."""

    def noted(self) -> list[HeadRow]:
        """Return the heads that were noted when a copy was made, if this is or was a copy."""

    def ownerless(self) -> list[int]:
        """Return the numbers under which there are events and no policy."""

    def keyed(self, policy: int, key: str) -> Row | None:
        """Return the event that an idempotency key was used for, if it is still kept.

        Raises `KeyMoved` if there is no such event. Another one than the key's may be in its place.
        """

    def kept(self, policy: int, key: str) -> tuple[int | None, int | None]:
        """Return what is kept of an idempotency key: event and time, None where they are none."""

    def rotten_kept(self, limit: int) -> list[str]:
        """Return what is kept of idempotency keys and was written by nobody: which, in words."""

    def keys(self) -> list[KeyRow]:
        """Return all API keys, revoked ones too, as they are stored: values may be of any type."""


class Writer(Reader, Protocol):
    """A transaction: everything in it is committed at its end, or nothing is."""

    def lock(self, policies: Sequence[PolicyRow]) -> None:
        """Wait until nobody else writes to these policies; in the order of their numbers.

        Where several servers append, `LogMoved` if one of them has another name, or is gone.
        """

    def add_policy(self, name: str) -> PolicyRow | None:
        """Add a policy; None if there is one of this name."""

    def append(self, policy: int, rows: Sequence[Row], before: HeadRow | None = None) -> None:
        """Append events to a policy's log.

        `before` is the event that they follow. A database with one server (SQLite) raises
        `LogMoved`, at the latest when the transaction ends, if the log does not have that event or
        the policy has another name. Where several append, whoever locked the policy knows its name
        and has just read its last event.
        """

    def remember(self, policy: int, key: str, seq: int, at: int) -> None:
        """Keep an idempotency key; one that was kept before gives way."""

    def forget(self, before: int) -> None:
        """Drop idempotency keys from before this time (microseconds since 1970)."""

    def put_snapshot(self, policy: int, snapshot: SnapshotRow, keep: int) -> None:
        """Add a snapshot, if the log has its event; keep only so many of the newest, none later."""

    def add_key(self, key: KeyRow) -> None:
        """Add an API key."""

    def use_keys(self, used: Mapping[str, int]) -> None:
        """Note when API keys were last used: the latest time stays."""

    def revoke_key(self, id: str, at: int) -> bool:
        """Revoke an API key; False if there is none of this id, or it was revoked before."""


class View(Protocol):
    """A database that is open to be read."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Begin to read, from any thread."""

    def close(self) -> None:
        """Let go of the database."""


class Store(View, Protocol):
    """A database that is open, and of the right version."""

    shared: bool
    """Whether other processes may append to the same logs (PostgreSQL)."""

    def writing(self) -> AbstractContextManager[Writer]:
        """Begin a transaction: on disk when the block ends, undone if it raises.

        Raises `StoreUnavailable` or `StoreBroken`. For one thread at a time.
        """

    def check(self) -> None:
        """Raise `StoreBroken` if the database is not the one that was opened (SQLite)."""
