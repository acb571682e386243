"""Where a run is computed: ``local``, or the address of a cluster's scheduler."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from handrail.errors import InputError

__all__ = ["LOCAL", "scheduler_address"]

LOCAL: Final = "local"
_SCHEMES: Final = ("tcp", "tls")


def scheduler_address(on: str) -> str | None:
    """Return the address of the scheduler, or None for this machine.

    Parameters
    ----------
    on : str
        What the user wrote.

    Returns
    -------
    str or None
        Such as ``tcp://host:8786``.

    Raises
    ------
    InputError
        It is neither.

    Examples
    --------
    >>> scheduler_address("local"), scheduler_address("tcp://10.0.0.1:8786")
    (None, 'tcp://10.0.0.1:8786')
    >>> scheduler_address("host:8786")
    Traceback (most recent call last):
        ...
    handrail.errors.InputError: on: 'host:8786' is not an address; did you mean tcp://host:8786?
    """
    if on == LOCAL:
        return None
    remedy = "pass local, or a scheduler's address such as tcp://host:8786"
    if not isinstance(on, str):
        raise InputError("on", f"{on!r} is not text", remedy)
    if "://" not in on:
        if _reached(f"tcp://{on}"):
            remedy = f"did you mean tcp://{on}?"
        raise InputError("on", f"{on!r} is not an address", remedy)
    scheme = on.partition("://")[0]
    if scheme not in _SCHEMES:
        raise InputError("on", f"{scheme!r} is not tcp or tls", remedy)
    if not _reached(on):
        raise InputError("on", f"{on!r} does not name a host and a port", remedy)
    return on


def _reached(address: str) -> bool:
    """Return whether this names a host and a port, and nothing else."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    rest = parts.path or parts.query or parts.fragment or parts.username
    return bool(parts.hostname and port and not rest) and " " not in address
