"""API keys: who may do what. Only a hash of a key's secret is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterable
from typing import Final

from handrail.errors import InputError, nearest
from handrail.service.store.protocol import KeyRow

__all__ = ["ROLES", "Keyring", "new_key", "rotten_keys"]

ROLES: Final = ("decide", "reward", "read", "admin")
"""An admin may do everything, any other role only what it is named after."""

_LABEL: Final = 100
_KEY: Final = re.compile(r"hr_([0-9a-f]{8})_([0-9a-f]{48})", re.ASCII)
_ID: Final = re.compile(r"[0-9a-f]{8}", re.ASCII)
_NOBODY: Final = bytes(32)
"""Compared with where there is no such key; no secret has this hash that anybody could find."""


def new_key(
    role: str,
    policy: str | None = None,
    now: int | None = None,
    *,
    label: str | None = None,
    expires_at: int | None = None,
) -> tuple[str, KeyRow]:
    """Make a key.

    Parameters
    ----------
    role : {"decide", "reward", "read", "admin"}
        What it may do.
    policy : str, optional
        The only policy it may do it to.
    now : int, optional
        Microseconds since 1970; by default the clock's.
    label : str, optional
        Who has it, or what for; up to 100 characters.
    expires_at : int, optional
        When it stops to open anything.

    Returns
    -------
    str
        The key: to be shown once, and kept by nobody but its user.
    KeyRow
        What is stored of it.

    Notes
    -----
    The secret has 192 random bits, so a plain SHA-256 of it is as good as a slow hash: there is
    no list of likely secrets to try.

    Examples
    --------
    >>> key, row = new_key("decide", policy="front-page")
    >>> key == f"hr_{row.id}_{key[-48:]}", row.role, row.policy
    (True, 'decide', 'front-page')
    >>> Keyring([row]).check(key) == row
    True
    """
    if role not in ROLES:
        raise InputError("role", f"{role!r} is not known", nearest(role, ROLES))
    if policy == "":
        raise InputError("policy", "is empty", "name a policy, or leave it out for all of them")
    if label is not None and not (0 < len(label) <= _LABEL and label.isprintable()):
        raise InputError("label", "is no short text", f"use 1 to {_LABEL} printable characters")
    secret = secrets.token_hex(24)
    made = time.time_ns() // 1000 if now is None else now
    if expires_at is not None and expires_at <= made:
        raise InputError("expires", "lies in the past", "name a time to come")
    row = KeyRow(
        secrets.token_hex(4), role, policy, _hash(secret), made, None, label, expires_at, None
    )
    return f"hr_{row.id}_{secret}", row


class Keyring:
    """Keys by id.

    Parameters
    ----------
    rows : iterable of KeyRow
        What is stored; revoked and expired keys open nothing, nor do rows that nobody wrote.
    """

    def __init__(self, rows: Iterable[KeyRow] = ()) -> None:
        self._rows = {row.id: row for row in rows if _wrong(row) is None}

    def __len__(self) -> int:
        """Return how many keys open something now."""
        now = time.time_ns() // 1000
        return sum(row.opens(now) for row in self._rows.values())

    @property
    def rows(self) -> list[KeyRow]:
        """What is stored of the keys, without rows that nobody wrote."""
        return list(self._rows.values())

    def check(self, token: str, now: int | None = None) -> KeyRow | None:
        """Return what is stored of a key; None if it is wrong, unknown, revoked or expired.

        Parameters
        ----------
        token : str
            The whole key, as it came.
        now : int, optional
            Microseconds since 1970; by default the clock's.

        Returns
        -------
        KeyRow or None
            The key's row.

        Notes
        -----
        Hashes are compared in a time that does not depend on where they differ, also where the
        key is unknown, revoked or expired.
        """
        found = _KEY.fullmatch(token)
        if found is None:
            return None
        row = self._rows.get(found[1])
        known = row is not None and row.opens(time.time_ns() // 1000 if now is None else now)
        wanted = row.hash if row is not None and known else _NOBODY
        same = hmac.compare_digest(_hash(found[2]), wanted)
        return row if same and known else None


def rotten_keys(rows: Iterable[KeyRow]) -> list[str]:
    """Return which rows were written by nobody, and what is wrong with them, in words."""
    return [f"key {row.id!r}: {wrong}" for row in rows if (wrong := _wrong(row)) is not None]


def _wrong(row: KeyRow) -> str | None:
    """Return what is wrong with a row: a flipped bit makes another value, or another type, of one.

    Where it makes a value that could be one, such as another time, nothing tells.
    """
    if not isinstance(row.id, str) or _ID.fullmatch(row.id) is None:
        return "its id is none"
    if row.role not in ROLES:
        return "its role is none"
    if not isinstance(row.hash, bytes) or len(row.hash) != len(_NOBODY):
        return "its hash is none"
    for name in ("policy", "label"):
        text = getattr(row, name)
        if not (text is None or isinstance(text, str)):
            return f"its {name} is no text"
    if row.created_at is None:
        return "it was never made"
    for name in ("created_at", "revoked_at", "expires_at", "used_at"):
        at = getattr(row, name)
        if not (at is None or (isinstance(at, int) and at >= 0)):
            return f"its {name} is no time"
    return None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()
