"""What the service says when it cannot do what it was asked: problem details (RFC 9457)."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from handrail.errors import InputError

__all__ = ["Problem", "from_input", "mistake"]

_TITLES = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "This key may not do that",
    404: "There is no such thing",
    405: "This cannot be done here",
    408: "The request took too long to arrive",
    409: "This contradicts what is known",
    413: "The request is too large",
    415: "The request is of another type",
    422: "The input is wrong",
    431: "The request's head is too large",
    500: "The service made a mistake",
    503: "The service cannot answer now",
}


class Problem(Exception):
    """An answer that says no, and why.

    Parameters
    ----------
    status : int
        The HTTP status.
    reason : str
        What is wrong.
    field : str, default=""
        The field it is about.
    remedy : str, default=""
        What to do about it.
    """

    def __init__(self, status: int, reason: str, *, field: str = "", remedy: str = "") -> None:
        super().__init__(status, reason, field, remedy)
        self.status = status
        self.reason = reason
        self.field = field
        self.remedy = remedy

    def within(self, place: str) -> Problem:
        """Return the same problem of a field inside another one."""
        field = f"{place}.{self.field}" if self.field else place
        return Problem(self.status, self.reason, field=field, remedy=self.remedy)

    def document(self) -> dict[str, Any]:
        """Return the body of the answer."""
        said = self.reason if not self.remedy else f"{self.reason}; {self.remedy}"
        document = {
            "type": "about:blank",
            "title": _TITLES[self.status],
            "status": self.status,
            "detail": f"{self.field}: {said}" if self.field else said,
            "reason": self.reason,
        }
        if self.field:
            document["field"] = self.field
        if self.remedy:
            document["remedy"] = self.remedy
        return document


def from_input(error: InputError) -> Problem:
    """Return the problem that bad input is."""
    return Problem(422, error.reason, field=error.field, remedy=error.remedy)


def mistake(log: logging.Logger, **fields: object) -> Problem:
    """Log the error that is being handled, which nobody foresaw; return what a caller may know.

    Parameters
    ----------
    log : Logger
        Where it is written, with an incident's number.
    **fields
        What else the log shall hold.

    Returns
    -------
    Problem
        The incident's number and nothing else.
    """
    incident = secrets.token_hex(8)
    log.exception("a request failed", extra={"incident": incident, **fields})
    return Problem(
        500,
        f"an unexpected error, incident {incident}",
        remedy="look for the incident in the service's log",
    )
