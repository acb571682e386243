"""One file from the web: over http or https, of bounded size, whole or not at all."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Final, NoReturn

from handrail._version import __version__
from handrail.errors import InputError

__all__ = ["download"]

_CHUNK: Final = 1 << 16

_HANDLERS: Final = (
    *(urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler),
    *(urllib.request.HTTPErrorProcessor, urllib.request.HTTPDefaultErrorHandler),
    *(urllib.request.HTTPRedirectHandler, urllib.request.UnknownHandler),
)
"""Without the file, ftp and data handlers that urllib adds by itself, so that neither the address
nor a redirect leads anywhere but to a web server."""


def download(
    field: str,
    url: str,
    *,
    limit: int,
    timeout: float,
    remedy: str,
    say: Callable[[str], None],
) -> bytes:
    """Return what the address holds; it is kept in memory, so a failure leaves nothing behind.

    Parameters
    ----------
    field : str
        The field of the error, if it comes to one.
    url : str
        The address.
    limit : int
        The most bytes taken.
    timeout : float
        Seconds to wait for the server each time nothing comes.
    remedy : str
        The remedy of the error.
    say : callable
        Told, in one line, what is downloaded from where, and its size.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    InputError
        If it cannot be had whole.
    """

    def fail(reason: str, cause: Exception | None = None) -> NoReturn:
        raise InputError(field, f"{url} {reason}", remedy) from cause

    opener = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        opener.add_handler(handler())
    try:
        request = urllib.request.Request(url, headers={"User-Agent": f"handrail/{__version__}"})
        with opener.open(request, timeout=timeout) as response:
            expected: int | None = response.length
            size = "size not given" if expected is None else f"{expected / 1e6:.1f} MB"
            if expected is not None and expected > limit:
                fail(f"holds {size}, more than the {limit / 1e6:.0f} MB that are taken")
            say(f"downloading {url} ({size})")
            content = _read(response, limit)
    except InputError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        phrase = http.client.responses.get(error.code, "")
        if 300 <= error.code < 400:
            phrase += ", a redirect that cannot be followed"
        fail(f"was answered with {error.code} {phrase}".rstrip(), error)
    except (OSError, http.client.HTTPException, ValueError) as error:
        fail(_why(error, timeout), error)
    if len(content) > limit:
        fail(f"holds more than the {limit / 1e6:.0f} MB that are taken")
    if expected is not None and len(content) != expected:
        fail(f"broke off after {len(content):,} of {expected:,} bytes")
    if content[:512].lstrip().startswith(b"<"):
        fail("was answered with a web page in place of the file")
    return content


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    """Return the body, or a little more than the limit of it."""
    chunks, size = [], 0
    while size <= limit and (chunk := response.read(_CHUNK)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _why(error: Exception, timeout: float) -> str:
    """Return what went wrong between here and the server."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"gave no answer for {timeout:g} s"
    if isinstance(cause, http.client.IncompleteRead):
        return f"broke off after {len(cause.partial):,} bytes of its last part"
    told = (isinstance(cause, OSError) and cause.strerror) or str(cause)
    text = " ".join(told.split()) or type(cause).__name__
    return f"cannot be downloaded ({text})"
