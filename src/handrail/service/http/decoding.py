"""JSON to typed requests; what does not fit is said with the field and the reason."""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar

import msgspec

from handrail.service.problems import Problem

__all__ = ["Either", "One", "refused"]

T = TypeVar("T")
Many = TypeVar("Many")

_PLACE: Final = re.compile(r"^(?P<what>.*?)(?: - at `(?P<key>key in )?\$(?P<path>.*)`)?$", re.S)
_EXPECTED: Final = re.compile(r"^Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`$")
_MISSING: Final = re.compile(r"^Object missing required field `(?P<name>.*)`$", re.S)
_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.S)
_BOUND: Final = re.compile(r"^Expected `int` [<>]= -?\d+$")
_LENGTH: Final = re.compile(r"^Expected `array` of length (?P<length>\d+)$")
_WORDS: Final = {
    "array": "an array",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "null",
    "object": "an object",
    "str": "a string",
}
_SHOWN: Final = 100
"""Characters of a name that is repeated to the caller."""


def refused(error: Exception) -> Problem:
    """Return the problem that a body is which cannot be decoded.

    Parameters
    ----------
    error : Exception
        What msgspec raised.

    Returns
    -------
    Problem
        400 for what is no JSON, 422 for what is JSON and does not fit.

    Examples
    --------
    >>> try:
    ...     msgspec.json.decode(b'[[1, 2], ["x"]]', type=list[list[int]])
    ... except msgspec.ValidationError as error:
    ...     print(refused(error).document()["detail"])
    [1][0]: is a string, not a whole number
    """
    if isinstance(error, RecursionError):
        return Problem(400, "is nested too deeply", field="body")
    if isinstance(error, UnicodeDecodeError):
        return Problem(400, "is not UTF-8", field="body")
    if not isinstance(error, msgspec.ValidationError):
        said = str(error).removeprefix("JSON is malformed: ")
        return Problem(400, f"is not JSON: {said[:1].lower()}{said[1:]}", field="body")
    found = _PLACE.match(str(error))
    what = str(error) if found is None else found["what"]
    path = "" if found is None else (found["path"] or "").removeprefix(".")
    for pattern, reason in ((_MISSING, "is missing"), (_UNKNOWN, "is not a known field")):
        named = pattern.match(what)
        if named is not None:
            name = named["name"][:_SHOWN]
            return Problem(422, reason, field=f"{path}.{name}" if path else name)
    return Problem(422, _reason(what), field=path or "body")


def _reason(what: str) -> str:
    expected = _EXPECTED.match(what)
    if expected is not None:
        return f"is {_words(expected['got'])}, not {_words(expected['wanted'])}"
    length = _LENGTH.match(what)
    if length is not None:
        return f"is not an array of {length['length']}"
    if "out of range" in what or _BOUND.match(what) is not None:
        return "is too large a number"
    if what.startswith("Invalid enum value "):
        return f"{what.removeprefix('Invalid enum value ')[:_SHOWN]} is not a known value"
    return what[:1].lower() + what[1:]


def _words(types: str) -> str:
    names = [name for name in types.split(" | ") if name != "null"] or ["null"]
    return " or ".join(_WORDS.get(name, name) for name in names)


class One(Generic[T]):
    """Decodes one type; an empty body is an object without fields.

    Parameters
    ----------
    type : type
        A struct.
    """

    def __init__(self, type: type[T]) -> None:
        self._decode: Any = msgspec.json.Decoder(type).decode

    def decode(self, body: bytes) -> T:
        """Return what the body says, or raise a `Problem`."""
        try:
            decoded: T = self._decode(body or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise refused(error) from None
        return decoded


class Either(Generic[T, Many]):
    """Decodes one request, or a batch where the body has the batch's field.

    The single request is tried first: it is what most callers send, and it is given up as soon as
    the batch's field is met.

    Parameters
    ----------
    one, many : type
        The structs.
    field : str
        The field that only a batch has.
    """

    def __init__(self, one: type[T], many: type[Many], field: str) -> None:
        self._decode: Any = msgspec.json.Decoder(one).decode
        self._batch = One(many)
        self._sign = f"Object contains unknown field `{field}`"

    def decode(self, body: bytes) -> T | Many:
        """Return what the body says, or raise a `Problem`."""
        try:
            decoded: T = self._decode(body or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if str(error) == self._sign:
                return self._batch.decode(body)
            raise refused(error) from None
        return decoded
