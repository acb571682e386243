"""Query parameters: said in one table for the code and for the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from handrail.service.problems import Problem

__all__ = ["Choice", "Name", "Parameter", "Whole", "read_query"]

LARGEST: Final = 2**53 - 1
"""What every program reads as the same number, and a database can count on from."""
_DIGITS: Final = re.compile(r"0|[1-9][0-9]{0,15}")


@dataclass(frozen=True)
class Parameter:
    """A query parameter: its name, what it is without being given, and what it means."""

    name: str
    default: Any
    about: str

    def read(self, text: str) -> Any:
        """Return its value, or raise a `Problem`."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        raise NotImplementedError


@dataclass(frozen=True)
class Whole(Parameter):
    """A whole number between two others, both included."""

    low: int = 0
    high: int = LARGEST

    def read(self, text: str) -> int:
        """Return its value, or raise a `Problem`."""
        if not _DIGITS.fullmatch(text) or not self.low <= int(text) <= self.high:
            raise Problem(
                422, f"is not a whole number from {self.low} to {self.high}", field=self.name
            )
        return int(text)

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        schema = {"type": "integer", "minimum": self.low, "maximum": self.high}
        return schema if self.default is None else {**schema, "default": self.default}


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a few words."""

    words: tuple[str, ...] = ()

    def read(self, text: str) -> str:
        """Return its value, or raise a `Problem`."""
        if text not in self.words:
            raise Problem(422, f"is none of {', '.join(self.words)}", field=self.name)
        return text

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        return {"type": "string", "enum": list(self.words), "default": self.default}


@dataclass(frozen=True)
class Name(Parameter):
    """A text of bounded length."""

    longest: int = 100

    def read(self, text: str) -> str:
        """Return its value, or raise a `Problem`."""
        if len(text) > self.longest or "\0" in text:
            raise Problem(422, f"is no name of up to {self.longest} characters", field=self.name)
        return text

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        return {"type": "string", "maxLength": self.longest, "default": self.default}


def read_query(query: bytes, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Read a query string.

    Parameters
    ----------
    query : bytes
        What follows the question mark.
    parameters : sequence of Parameter
        Those there are; others are refused.

    Returns
    -------
    dict
        All of them by name, those not given with their default.

    Examples
    --------
    >>> read_query(b"limit=5", [Whole("limit", 100, "how many"), Whole("after", 0, "from where")])
    {'limit': 5, 'after': 0}
    """
    values = {each.name: each.default for each in parameters}
    if not query:
        return values
    try:
        given = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=len(parameters) + 1,
        )
    except ValueError:
        raise Problem(422, "cannot be read", field="query") from None
    known = {each.name: each for each in parameters}
    seen: set[str] = set()
    for name, text in given:
        if name not in known:
            raise Problem(422, "is not a known parameter", field=name[:100])
        if name in seen:
            raise Problem(422, "is given twice", field=name)
        seen.add(name)
        values[name] = known[name].read(text)
    return values
