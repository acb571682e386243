"""Logs as a forger would write them: events changed at will, with hashes that fit."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.service import events
from handrail.service.audit import Audit
from handrail.service.chain import START, link
from handrail.service.events import Decided, Event
from handrail.service.store.protocol import Row


def audit(rows: Iterable[Row], heads: frozenset[bytes] = frozenset()) -> Audit:
    return Audit("p", heads).run(rows)


def chained(said: Iterable[Event]) -> list[Row]:
    """Return a log of these events as a forger would write it: with hashes that are right."""
    rows, head = [], START
    for position, event in enumerate(said):
        body = events.encode(event)
        head = link(head, body)
        rows.append(Row(position + 1, events.round_of(event), body, head))
    return rows


def rebuilt(bodies: Iterable[bytes]) -> list[Row]:
    """Return a log of these bytes, whatever they say."""
    rows, head = [], START
    for position, body in enumerate(bodies):
        head = link(head, body)
        rows.append(Row(position + 1, events.round_of(events.decode(body)), body, head))
    return rows


def decoded(rows: Iterable[Row]) -> list[Event]:
    return [events.decode(row.body) for row in rows]


def changed(original: Event, **fields: object) -> Event:
    return events.from_json(events.to_json(original) | fields)


def forged(log: list[Row], index: int, event: Event | None) -> Audit:
    """Audit the log with one event replaced, or left out, and hashes that fit."""
    said = decoded(log)
    said[index : index + 1] = [] if event is None else [event]
    return audit(chained(said))


def places(log: list[Row], kind: type[Event], explored: bool = False) -> list[int]:
    said = decoded(log)
    return [
        i
        for i, each in enumerate(said)
        if isinstance(each, kind)
        and not (explored and isinstance(each, Decided) and each.event == "baseline")
    ]
