"""Where a PostgreSQL is, with a name that may be shown: never its password."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from handrail.errors import InputError

__all__ = ["Address"]

# What the address does not say itself. A server that vanished without a word is noticed.
_DEFAULTS: Final[dict[str, Any]] = {
    "application_name": "handrail",
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "client_encoding": "utf8",
}


class Address:
    """The address of a PostgreSQL database.

    Parameters
    ----------
    url : str
        ``postgresql://USER:PASSWORD@HOST:PORT/NAME?...``, as libpq reads it.

    Attributes
    ----------
    parameters : dict
        What to connect with; holds the password.

    Examples
    --------
    >>> Address("postgresql://ann:secret@db.example.com/logs")
    Address('db.example.com:5432/logs')
    """

    def __init__(self, url: str) -> None:
        parameters = _read(url)
        host, port = str(parameters.get("host", "")), str(parameters.get("port", "5432"))
        name = str(parameters.get("dbname", ""))
        # A password with @ or / in it is read as part of the host, the port or the name, and libpq
        # would quote it when it finds no such thing.
        if "@" in host + name or not port.replace(",", "0").isdigit():
            raise _unreadable()
        self.parameters = _DEFAULTS | parameters
        self._name = f"{host}:{port}/{name}"

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"Address({self._name!r})"


def _read(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.Error:
        pass
    raise _unreadable()  # without libpq's own error, which quotes what it cannot read


def _unreadable() -> InputError:
    return InputError(
        "database",
        "is an address of PostgreSQL that cannot be read",
        "write postgresql://USER:PASSWORD@HOST:PORT/NAME, in the password %40 for @, %2F for /, "
        "%20 for a space and %25 for %",
    )
