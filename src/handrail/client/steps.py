"""What is said to the network and what comes back, without doing it.

Every call of the client is a generator (`Talk`): it yields requests, is sent what became of them,
and returns its result. `Client` and `AsyncClient` differ only in how they carry a request.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

__all__ = ["Cause", "Failure", "Outcome", "Reply", "Request", "Talk"]

Cause: TypeAlias = Literal[
    "unreachable", "timeout", "broken", "refused", "failed", "unreadable", "resting", "input"
]
"""Why there is no answer: nobody listens, no answer in time, a connection that broke, an answer
that says no (3xx, 4xx), one that says the service is ill (5xx), one that cannot be read, no request
after several failures, and input that cannot be sent."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes
    ----------
    method, path, body
        What is sent.
    deadline : float
        When its answer must be whole.
    delay : float
        Seconds to wait before it is sent.
    again : bool
        Whether it may be sent twice: then it can use a connection that may be closed just now.
    """

    method: str
    path: str
    body: bytes | None
    deadline: float
    delay: float = 0.0
    again: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, whatever it says."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer; `sent` unless it is certain that the service never saw the request."""

    cause: Cause
    detail: str
    sent: bool


Outcome: TypeAlias = Reply | Failure
Talk: TypeAlias = Generator[Request, Outcome, T]
