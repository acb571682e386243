"""What the client raises where it does not fall back."""

from __future__ import annotations

__all__ = ["NoAnswer", "ServiceError"]


class ServiceError(Exception):
    """The service said no, or said nothing.

    Parameters
    ----------
    status : int or None
        The HTTP status; None where no answer came.
    reason : str
        What is wrong.
    field : str, default=""
        The field it is about.
    remedy : str, default=""
        What to do about it.

    Examples
    --------
    >>> error = ServiceError(422, "0 rows", field="features", remedy="pass one row per action")
    >>> error.status, error.field
    (422, 'features')
    >>> print(error)
    422: features: 0 rows; pass one row per action
    """

    def __init__(
        self, status: int | None, reason: str, *, field: str = "", remedy: str = ""
    ) -> None:
        super().__init__(status, reason, field, remedy)
        self.status = status
        self.reason = reason
        self.field = field
        self.remedy = remedy

    def __str__(self) -> str:
        """Return ``status: field: reason; remedy`` on one line, without what is not known."""
        said = f"{self.reason}; {self.remedy}" if self.remedy else self.reason
        parts = (str(self.status) if self.status else "", self.field, said)
        return ": ".join(part for part in parts if part)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as it was made: worker processes hand errors on."""
        return _again, (type(self), self.status, self.reason, self.field, self.remedy)


class NoAnswer(ServiceError):
    """No answer came, or none that can be read: whether anything was done is not known."""


def _again(
    kind: type[ServiceError], status: int | None, reason: str, field: str, remedy: str
) -> ServiceError:
    return kind(status, reason, field=field, remedy=remedy)
