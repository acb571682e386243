"""Names for decisions that no other policy, process or copy will use.

A decision's id is ``policy-copy-round-kind``: the policy's own random name, kept for life; a random
name of this copy of it in memory, new after loading, copying or forking; the round; and whether a
reward is awaited (`r`) or not (`b`, a baseline round). So a copy restored from a backup never
repeats an id that the original gave out after the backup was made. Where strangers may report
rewards, the copy's name is followed by a random tag of the decision: who has seen one id can guess
no other.
"""

from __future__ import annotations

import os
import re
import secrets
from typing import Final, NamedTuple

from handrail.errors import InputError, shown

__all__ = ["COPY_NAME", "POLICY_NAME", "Identity", "decision_id", "new_name", "parse_id", "process"]

POLICY_NAME: Final = re.compile(r"[0-9a-f]{16}")
COPY_NAME: Final = re.compile(r"[0-9a-f]{8}(?:[0-9a-f]{16})?")
_PATTERN: Final = re.compile(
    rf"({POLICY_NAME.pattern})-({COPY_NAME.pattern})-([1-9][0-9]{{0,18}})-([rb])"
)


class _Process:
    """Compared by identity: another object means another process."""

    current = object()


def process() -> object:
    """Return an object that is replaced when the process forks."""
    return _Process.current


def _forked() -> None:
    _Process.current = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Identity(NamedTuple):
    """What an id says."""

    policy: str
    copy: str
    round: int
    awaits_reward: bool


def new_name(length: int) -> str:
    """Return a random name of so many hexadecimal digits."""
    return secrets.token_hex(length // 2)


def decision_id(identity: Identity) -> str:
    """Return the id as text."""
    kind = "r" if identity.awaits_reward else "b"
    return f"{identity.policy}-{identity.copy}-{identity.round}-{kind}"


def parse_id(text: str) -> Identity:
    """Read an id."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise InputError(
            "decision", f"{shown(text)} is not a decision id", "pass the id of a decision"
        )
    policy, copy, number, kind = match.groups()
    return Identity(policy, copy, int(number), kind == "r")
