"""What an answer says: a typed value, or an error."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from handrail.client.errors import NoAnswer, ServiceError
from handrail.client.steps import Cause, Failure, Outcome, Reply

__all__ = ["LogLine", "cause_of", "error_of", "plain", "read", "read_lines", "write"]

T = TypeVar("T")


class LogLine(msgspec.Struct, kw_only=True, gc=False):
    """One event of a policy's log: its number, the hash up to it, and the event as JSON."""

    seq: int
    hash: str
    event: dict[str, Any]


class _Problem(msgspec.Struct):
    """Problem details, as far as they are there."""

    reason: str = ""
    detail: str = ""
    field: str = ""
    remedy: str = ""


def plain(value: Any) -> Any:
    """Return arrays and their numbers as lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=plain)


def write(document: dict[str, Any]) -> bytes:
    """Return a request's body; what is None is left out."""
    return _ENCODER.encode({name: value for name, value in document.items() if value is not None})


def read(outcome: Outcome, answer: type[T]) -> T:
    """Return an answer's value; raise what it says instead."""
    if not isinstance(outcome, Reply) or not 200 <= outcome.status < 300:
        raise error_of(outcome)
    try:
        return msgspec.json.decode(outcome.body, type=answer)
    except Exception as error:  # bytes of any kind may come: bad UTF-8, deep nesting
        raise _unreadable(outcome, error) from None


def read_lines(outcome: Outcome) -> list[LogLine]:
    """Return the lines of a log."""
    if not isinstance(outcome, Reply) or not 200 <= outcome.status < 300:
        raise error_of(outcome)
    try:
        return msgspec.json.Decoder(LogLine).decode_lines(outcome.body)
    except Exception as error:
        raise _unreadable(outcome, error) from None


def error_of(outcome: Outcome) -> ServiceError:
    """Return what went wrong."""
    if isinstance(outcome, Failure):
        return NoAnswer(None, outcome.detail)
    try:
        problem = msgspec.json.decode(outcome.body, type=_Problem)
    except Exception:  # whoever answered, it was not the service
        problem = _Problem()
    said = problem.reason or problem.detail or "the answer does not say why"
    return ServiceError(outcome.status, said, field=problem.field, remedy=problem.remedy)


def cause_of(outcome: Outcome) -> Cause:
    """Return why an outcome is no answer; one with a good status cannot be read."""
    if isinstance(outcome, Failure):
        return outcome.cause
    if outcome.status >= 500:
        return "failed"
    return "unreadable" if 200 <= outcome.status < 300 else "refused"


def _unreadable(reply: Reply, error: Exception) -> NoAnswer:
    return NoAnswer(reply.status, f"the answer cannot be read: {error}", remedy="check the url")
