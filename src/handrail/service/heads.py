"""Heads that were noted down: where a log was at some moment, kept apart from the log.

A log that lost its tail is a log: nothing in it says that there was more. What says so is the hash
of a later event, kept elsewhere. The service writes the heads of its logs to its own log, lines of
JSON on stderr, and `handrail backup` into its copies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handrail.errors import InputError
from handrail.service.sources import open_source
from handrail.service.store.protocol import HeadRow

__all__ = ["MESSAGE", "Noted", "by_policy", "read_heads"]

MESSAGE: Final = "head"
"""The message of a line of the service's log that notes a head."""

_MEANT: Final = re.compile(rf'"message"\s*:\s*"{MESSAGE}"')
_HASH: Final = re.compile(r"[0-9a-fA-F]{64}")

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
            for number, line in enumerate(file, 1):
                if f'"{MESSAGE}"' in line and (head := _head(line, f"line {number} of {path}")):
                    yield head
    except OSError as error:
        raise InputError(
            "--heads", f"{path} cannot be read: {error.strerror}", "name a file that can"
        ) from error


def _head(line: str, place: str) -> HeadRow | None:
    """Return the head that a line notes; None for any other line.

    One that is meant to note a head and does not is refused: whoever compares with what is left
    would believe that it was compared with all.
    """
    try:
        said = json.loads(line[line.find("{") :])
    except (ValueError, RecursionError):
        if _MEANT.search(line):
            raise _bad(place, "is no JSON") from None
        return None
    if not isinstance(said, dict) or said.get("message") != MESSAGE:
        return None
    policy, seq, hash_ = (said.get(name) for name in ("policy", "seq", "hash"))
    if not isinstance(policy, str):
        raise _bad(place, "names no policy")
    if type(seq) is not int or seq < 1:
        raise _bad(place, f"has the seq {seq!r}")
    if not isinstance(hash_, str) or _HASH.fullmatch(hash_) is None:
        raise _bad(place, "has no hash of 64 hexadecimal digits")
    return HeadRow(policy, seq, bytes.fromhex(hash_))


def _bad(place: str, reason: str) -> InputError:
    return InputError(
        "--heads",
        f"{place} is to note a head and {reason}",
        "pass the lines as the service wrote them; one that was cut off may be left out",
    )
