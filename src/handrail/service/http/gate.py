"""Who may come in: keys, roles and scopes, settled before anything is looked up."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol
from urllib.parse import urlsplit

from handrail.service.keys import Keyring
from handrail.service.problems import Problem
from handrail.service.store.protocol import KeyRow

__all__ = ["Gate", "KeyGate", "OpenGate", "allow", "is_loopback"]

_log = logging.getLogger("handrail.keys")

_BEARER: Final = b"bearer "
_EVERY: Final = 1.0
"""Seconds between two looks at the stored keys: how long a revoked key may still open."""
_NOTED: Final = 60
"""Looks at the stored keys between two notes of which ones were used."""


def _no_key() -> Problem:
    return Problem(
        401, "no key that is known here", remedy="send the header Authorization: Bearer KEY"
    )


def _forbidden() -> Problem:
    return Problem(403, "the key's role or its scope does not cover this")


def allow(key: KeyRow | None, roles: frozenset[str], policy: str | None, whole: bool) -> None:
    """Refuse what a key is not good for.

    Parameters
    ----------
    key : KeyRow or None
        The caller's; None where no keys are asked for.
    roles : frozenset of str
        Those that may, besides admin.
    policy : str or None
        The policy that the path names.
    whole : bool
        Whether it is about the whole service, so that no key limited to a policy will do.
    """
    if key is None:
        return
    if key.role != "admin" and key.role not in roles:
        raise _forbidden()
    if key.policy is not None and (whole or policy not in (None, key.policy)):
        raise _forbidden()


class Gate(Protocol):
    """Says who a caller is."""

    def check(self, headers: Mapping[bytes, bytes]) -> KeyRow | Awaitable[KeyRow] | None:
        """Return the caller's key, at once or after another look; a `Problem` if there is none."""


class OpenGate:
    """Lets in everybody on this machine, as admin.

    A page in a browser is on this machine too, so requests that come from pages of elsewhere are
    refused: those that name another host (a name that was made to point here) and those that
    another page caused.
    """

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Return no key."""
        host = headers.get(b"host", b"localhost").decode("latin-1")
        origin = headers.get(b"origin")
        if not is_loopback(_without_port(host)):
            raise _elsewhere()
        if origin is not None and origin.decode("latin-1") not in (
            f"http://{host}",
            f"https://{host}",
        ):
            raise _elsewhere()


def _without_port(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _elsewhere() -> Problem:
    return Problem(
        403,
        "the request comes from another place than this machine",
        remedy="start without --no-auth and use keys",
    )


class KeyGate:
    """Lets in who has a key.

    Parameters
    ----------
    fetch : callable
        Returns the stored keys.
    rows : list of KeyRow, default=[]
        The stored keys as they are now.
    clock : callable, default=time.monotonic
        Seconds.
    note : callable, optional
        Stores when keys were last used, by id, in microseconds since 1970.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[list[KeyRow]]],
        rows: list[KeyRow] | None = None,
        clock: Callable[[], float] = time.monotonic,
        note: Callable[[dict[str, int]], Awaitable[None]] | None = None,
    ) -> None:
        self._fetch = fetch
        self._note = note
        self._used: dict[str, int] = {}
        self._clock = clock
        self._rows = list(rows or ())
        self._ring = Keyring(self._rows)
        self._asked = -_EVERY
        self._lock = asyncio.Lock()

    def check(self, headers: Mapping[bytes, bytes]) -> KeyRow | Awaitable[KeyRow]:
        """Return the caller's key; where it is not known, after a look at what is stored now."""
        given = headers.get(b"authorization")
        if given is None or given[:7].lower() != _BEARER:
            raise _no_key()
        token = given[7:].strip().decode("latin-1")
        now = time.time_ns() // 1000
        key = self._ring.check(token, now)
        if key is None:
            return self._look_again(token)
        self._used[key.id] = now
        return key

    async def _look_again(self, token: str) -> KeyRow:
        """Look at the stored keys: at most once a second, however many wrong keys are tried."""
        async with self._lock:
            key = self._ring.check(token)
            if key is None and self._clock() - self._asked >= _EVERY:
                self._asked = self._clock()
                await self.refresh()
                key = self._ring.check(token)
        if key is None:
            raise _no_key()
        self._used[key.id] = time.time_ns() // 1000
        return key

    async def refresh(self) -> None:
        """Look at the stored keys; while they cannot be had, those known before stay."""
        try:
            rows = await self._fetch()
        except Problem as problem:
            _log.warning("the keys cannot be read", extra={"reason": problem.reason})
            return
        if rows != self._rows:
            self._rows = rows
            self._ring = Keyring(rows)

    async def keep_fresh(self) -> None:
        """Look at the stored keys every second, until cancelled; note now and then who came."""
        looks = 0
        while True:
            await asyncio.sleep(_EVERY)
            await self.refresh()
            looks += 1
            if looks % _NOTED == 0:
                await self.note_used()

    async def note_used(self) -> None:
        """Store which keys were used since the last time, and when."""
        used, self._used = self._used, {}
        if not used or self._note is None:
            return
        try:
            await self._note(used)
        except Problem as problem:
            self._used = {**used, **self._used}
            _log.warning("the use of keys cannot be noted", extra={"reason": problem.reason})


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("::")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
