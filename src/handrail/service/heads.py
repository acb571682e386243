"""Heads that were noted down: where a log was at some moment, kept apart from the log.

A log that lost its tail is a log: nothing in it says that there was more. What says so is the hash
of a later event, kept elsewhere. The service writes the heads of its logs to its own log, lines of
JSON on stderr, and `handrail backup` into its copies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handrail.errors import InputError
from handrail.service.sources import open_source
from handrail.service.store.protocol import HeadRow

__all__ = ["MESSAGE", "Noted", "by_policy", "read_heads"]

MESSAGE: Final = "head"
"""The message of a line of the service's log that notes a head."""

Noted = dict[str, dict[int, set[bytes]]]
"""By policy and event, the hashes that were noted."""


def by_policy(heads: Iterator[HeadRow] | list[HeadRow]) -> Noted:
    """Return heads by policy and event: the same one may be noted often, or two at one event."""
    found: Noted = {}
    for head in heads:
        found.setdefault(head.policy, {}).setdefault(head.seq, set()).add(head.hash)
    return found


def read_heads(path: Path) -> list[HeadRow]:
    """Return the heads in a file; InputError if there are none.

    Parameters
    ----------
    path : Path
        The service's log, or lines picked from it; a copy that `handrail backup` made; or a log
        that `handrail export` wrote, of which every event is a head.

    Returns
    -------
    list of HeadRow
        The heads.
    """
    found = list(_logged(path))
    if not found:
        source = open_source(str(path))
        try:
            found = source.noted()
        finally:
            source.close()
    if not found:
        raise InputError("--heads", f"{path} holds no heads", "pass the service's log or a backup")
    return found


def _logged(path: Path) -> Iterator[HeadRow]:
    """Yield the heads in lines of JSON, whatever a collector of logs has put in front of them."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if f'"{MESSAGE}"' in line and (head := _head(line[line.find("{") :])):
                    yield head
    except OSError as error:
        raise InputError(
            "--heads", f"{path} cannot be read: {error.strerror}", "name a file that can"
        ) from error


def _head(line: str) -> HeadRow | None:
    """Return the head that a line notes; None for any other line."""
    try:
        said = json.loads(line)
        if said["message"] != MESSAGE:
            return None
        head = HeadRow(str(said["policy"]), int(said["seq"]), bytes.fromhex(said["hash"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return head if len(head.hash) == 32 else None
