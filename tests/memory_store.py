"""A database in memory: for tests that ask nothing of a disk, and for thousands of small ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from handrail.service.store.protocol import (
    HeadRow,
    KeyRow,
    LogMoved,
    PolicyRow,
    Row,
    SnapshotRow,
)


@dataclass
class Content:
    names: dict[str, int] = field(default_factory=dict)
    logs: dict[int, list[Row]] = field(default_factory=dict)
    kept: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    pictures: dict[int, list[SnapshotRow]] = field(default_factory=dict)
    rows: dict[str, KeyRow] = field(default_factory=dict)


class MemoryTransaction:
    def __init__(self, content: Content) -> None:
        self.content = content

    def policies(self, after: str = "", limit: int = 1_000_000) -> list[PolicyRow]:
        names = sorted(name for name in self.content.names if name > after)[:limit]
        return [PolicyRow(self.content.names[name], name) for name in names]

    def find(self, name: str) -> PolicyRow | None:
        number = self.content.names.get(name)
        return None if number is None else PolicyRow(number, name)

    def events(self, policy: int, after: int = 0, limit: int = 1_000_000) -> list[Row]:
        return [row for row in self.content.logs[policy] if row.seq > after][:limit]

    def since(self, policy: int, seq: int, limit: int) -> list[Row]:
        return self.events(policy, seq - 1, limit)

    def rounds(self, policy: int, first: int, last: int) -> list[Row]:
        rows = self.content.logs[policy]
        return [row for row in rows if row.round is not None and first <= row.round <= last]

    def head(self, policy: int) -> Row | None:
        return self.content.logs[policy][-1] if self.content.logs[policy] else None

    def snapshots(self, policy: int) -> list[SnapshotRow]:
        return list(reversed(self.content.pictures.get(policy, [])))

    def noted(self) -> list[HeadRow]:
        return []

    def ownerless(self) -> list[int]:
        return sorted({*self.content.logs} - {*self.content.names.values()})

    def keyed(self, policy: int, key: str) -> Row | None:
        found = self.content.kept.get((policy, key))
        if found is None:
            return None
        return next(row for row in self.content.logs[policy] if row.seq == found[0])

    def kept(self, policy: int, key: str) -> tuple[int | None, int | None]:
        return self.content.kept.get((policy, key), (None, None))

    def rotten_kept(self, limit: int) -> list[str]:
        return []

    def keys(self) -> list[KeyRow]:
        return list(self.content.rows.values())

    def lock(self, policies: Sequence[PolicyRow]) -> None:
        pass

    def add_policy(self, name: str) -> PolicyRow | None:
        if name in self.content.names:
            return None
        number = len(self.content.names) + 1
        self.content.names[name] = number
        self.content.logs[number] = []
        return PolicyRow(number, name)

    def append(self, policy: int, rows: Sequence[Row], before: HeadRow | None = None) -> None:
        log = self.content.logs[policy]
        if before is not None and (not log or log[-1].hash != before.hash):
            raise LogMoved(f"the log does not end with event {rows[0].seq - 1}")
        self.content.logs[policy].extend(rows)

    def remember(self, policy: int, key: str, seq: int, at: int) -> None:
        self.content.kept[policy, key] = (seq, at)

    def forget(self, before: int) -> None:
        kept = self.content.kept
        self.content.kept = {each: kept[each] for each in kept if kept[each][1] >= before}

    def put_snapshot(self, policy: int, snapshot: SnapshotRow, keep: int) -> None:
        if not any(snapshot[:2] == (row.seq, row.hash) for row in self.content.logs[policy]):
            return
        rows = [*self.content.pictures.get(policy, []), snapshot]
        self.content.pictures[policy] = rows[-keep:]

    def add_key(self, key: KeyRow) -> None:
        self.content.rows[key.id] = key

    def use_keys(self, used: Mapping[str, int]) -> None:
        for id, at in used.items():
            row = self.content.rows.get(id)
            if row is not None:
                self.content.rows[id] = row._replace(used_at=max(at, row.used_at or 0))

    def revoke_key(self, id: str, at: int) -> bool:
        row = self.content.rows.get(id)
        if row is None or row.revoked_at is not None:
            return False
        self.content.rows[id] = row._replace(revoked_at=at)
        return True


class MemoryStore:
    """A `Store` whose transactions are copies of everything."""

    shared = False

    def __init__(self) -> None:
        self.content = Content()

    @contextmanager
    def writing(self) -> Iterator[MemoryTransaction]:
        transaction = MemoryTransaction(copy.deepcopy(self.content))
        yield transaction
        self.content = transaction.content

    @contextmanager
    def reading(self) -> Iterator[MemoryTransaction]:
        yield MemoryTransaction(self.content)

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass
