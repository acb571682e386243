"""A client's settings, checked when it is made."""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from handrail.errors import InputError
from handrail.service.messages import Action

__all__ = ["Settings", "check_settings", "seconds", "segment"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What `Client` and `AsyncClient` were given; the key is never shown."""

    url: str
    host: str
    port: int
    netloc: str
    """The host as requests name it."""
    base: str
    """The path before those of the service."""
    key: str | None = field(repr=False)
    baselines: Mapping[str, Action]
    timeout: float
    patience: float
    strict: bool
    context: ssl.SSLContext | None
    """None without TLS."""
    failures: int
    rest: float
    remember: int
    connections: int
    say_played: bool


def check_settings(
    url: str,
    key: str | None,
    *,
    baselines: Mapping[str, Action] | None,
    timeout: float,
    patience: float,
    strict: bool,
    verify: bool | ssl.SSLContext,
    failures: int,
    rest: float,
    remember: int,
    connections: int,
    say_played: bool,
) -> Settings:
    """Return the settings, or raise `InputError`."""
    address = _address(url)
    counts = {"failures": failures, "remember": remember, "connections": connections}
    for name, count in counts.items():
        if count < 1:
            raise InputError(name, f"{count!r} is less than 1", "pass a whole number from 1")
    return Settings(
        url=address.url,
        host=address.host,
        port=address.port,
        netloc=address.netloc,
        base=address.base,
        key=_key(key),
        baselines=MappingProxyType(dict(baselines or {})),
        timeout=seconds("timeout", timeout),
        patience=seconds("patience", patience),
        strict=strict,
        context=_context(verify, address.secure),
        failures=failures,
        rest=seconds("rest", rest),
        remember=remember,
        connections=connections,
        say_played=say_played,
    )


def seconds(name: str, value: float) -> float:
    """Return a positive, finite number of seconds."""
    if not (math.isfinite(value) and value > 0):
        raise InputError(name, f"{value!r} is no time to wait", "pass seconds, such as 0.25")
    return float(value)


def segment(name: str, value: str) -> str:
    """Return a name as one segment of a path."""
    if value in ("", ".", ".."):
        raise InputError(name, f"{value!r} is no name", "pass the name the policy was made with")
    return quote(value, safe="")


class _Address(NamedTuple):
    """A url taken apart."""

    url: str
    host: str
    port: int
    netloc: str
    base: str
    secure: bool


def _address(url: str) -> _Address:
    remedy = "pass the service's address, such as http://127.0.0.1:8642"
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname or ""
        name = host if ":" in host else host.encode("idna").decode()
    except ValueError:
        raise InputError("url", "is no address", remedy) from None
    if parts.scheme not in ("http", "https") or not name:
        raise InputError("url", "is no http or https address", remedy)
    if parts.username is not None or parts.password is not None:
        raise InputError("url", "holds a user name or a password", "pass key= instead")
    if parts.query or parts.fragment:
        raise InputError("url", "holds a query or a fragment", remedy)
    secure = parts.scheme == "https"
    shown = f"[{name}]" if ":" in name else name
    return _Address(
        url=url.rstrip("/"),
        host=name,
        port=port or (443 if secure else 80),
        netloc=shown if port is None else f"{shown}:{port}",
        base=quote(parts.path.rstrip("/"), safe="/%"),
        secure=secure,
    )


def _context(verify: bool | ssl.SSLContext, secure: bool) -> ssl.SSLContext | None:
    if not secure:
        return None
    if isinstance(verify, ssl.SSLContext):
        return verify
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _key(key: str | None) -> str | None:
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise InputError("key", "holds characters that no key has", "pass it as it was printed")
    return key
