"""A client's settings, checked when it is made."""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import quote, urlsplit

import httpx

from handrail.errors import InputError
from handrail.service.messages import Action

__all__ = ["Settings", "check_settings", "seconds", "segment"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What `Client` and `AsyncClient` were given; the key is never shown."""

    url: str
    key: str | None = field(repr=False)
    baselines: Mapping[str, Action]
    timeout: float
    patience: float
    strict: bool
    context: ssl.SSLContext
    failures: int
    rest: float
    remember: int


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
) -> Settings:
    """Return the settings, or raise `InputError`."""
    address = _url(url)
    for name, count in (("failures", failures), ("remember", remember)):
        if count < 1:
            raise InputError(name, f"{count!r} is less than 1", "pass a whole number from 1")
    return Settings(
        url=address,
        key=_key(key),
        baselines=MappingProxyType(dict(baselines or {})),
        timeout=seconds("timeout", timeout),
        patience=seconds("patience", patience),
        strict=strict,
        context=_context(verify, address),
        failures=failures,
        rest=seconds("rest", rest),
        remember=remember,
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


def _url(url: str) -> str:
    remedy = "pass the service's address, such as http://127.0.0.1:8642"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InputError("url", "is no address", remedy) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("url", "is no http or https address", remedy)
    if parts.username is not None or parts.password is not None:
        raise InputError("url", "holds a user name or a password", "pass key= instead")
    if parts.query or parts.fragment:
        raise InputError("url", "holds a query or a fragment", remedy)
    return url.rstrip("/")


def _context(verify: bool | ssl.SSLContext, url: str) -> ssl.SSLContext:
    if isinstance(verify, ssl.SSLContext):
        return verify
    # Without TLS nobody looks at the context, and loading certificates takes a while.
    return httpx.create_ssl_context(verify=verify and url.startswith("https:"))


def _key(key: str | None) -> str | None:
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise InputError("key", "holds characters that no key has", "pass it as it was printed")
    return key
