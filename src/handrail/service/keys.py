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

__all__ = ["ROLES", "Keyring", "new_key"]

ROLES: Final = ("decide", "reward", "read", "admin")
"""An admin may do everything, any other role only what it is named after."""

_KEY: Final = re.compile(r"hr_([0-9a-f]{8})_([0-9a-f]{48})", re.ASCII)
_NOBODY: Final = bytes(32)
"""Compared with where there is no such key; no secret has this hash that anybody could find."""


def new_key(role: str, policy: str | None = None, now: int | None = None) -> tuple[str, KeyRow]:
    """Make a key.

    Parameters
    ----------
    role : {"decide", "reward", "read", "admin"}
        What it may do.
    policy : str, optional
        The only policy it may do it to.
    now : int, optional
        Microseconds since 1970; by default the clock's.

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
    secret = secrets.token_hex(24)
    made = time.time_ns() // 1000 if now is None else now
    row = KeyRow(secrets.token_hex(4), role, policy, _hash(secret), made, None)
    return f"hr_{row.id}_{secret}", row


class Keyring:
    """Keys by id.

    Parameters
    ----------
    rows : iterable of KeyRow
        What is stored; revoked keys open nothing.
    """

    def __init__(self, rows: Iterable[KeyRow] = ()) -> None:
        self._rows = {row.id: row for row in rows}

    def __len__(self) -> int:
        """Return how many keys open something."""
        return sum(row.revoked_at is None for row in self._rows.values())

    def check(self, token: str) -> KeyRow | None:
        """Return what is stored of a key; None if it is wrong, unknown or revoked.

        Parameters
        ----------
        token : str
            The whole key, as it came.

        Returns
        -------
        KeyRow or None
            The key's row.

        Notes
        -----
        Hashes are compared in a time that does not depend on where they differ, also where the
        key is unknown or revoked.
        """
        found = _KEY.fullmatch(token)
        if found is None:
            return None
        row = self._rows.get(found[1])
        known = row is not None and row.revoked_at is None
        wanted = row.hash if row is not None and known else _NOBODY
        same = hmac.compare_digest(_hash(found[2]), wanted)
        return row if same and known else None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()
