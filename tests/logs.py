"""Rows of a log, for tests of what keeps them."""

from __future__ import annotations

from handrail.service.chain import START, link
from handrail.service.store.protocol import Row, Store

__all__ = ["add", "chain"]


def chain(first: int, last: int) -> list[Row]:
    """Rows of the one log that all tests write, two to a round, the first without one."""
    rows = []
    before = START
    for seq in range(1, last + 1):
        body = f"event {seq}".encode() + bytes(range(256))
        before = link(before, body)
        rows.append(Row(seq, None if seq == 1 else seq // 2, body, before))
    return rows[first - 1 :]


def add(store: Store, name: str = "news", events: int = 0) -> int:
    """Add a policy and the first events of its log; return its number."""
    with store.writing() as writer:
        added = writer.add_policy(name)
        assert added is not None
        writer.append(added.number, chain(1, events))
    return added.number
