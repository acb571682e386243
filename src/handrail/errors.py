"""What goes wrong, said so that the reader can mend it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

__all__ = ["InputError", "NoGuaranteeWarning", "nearest", "shown"]

_LONGEST: Final = 100
"""Characters of the user's text that are repeated."""


class InputError(ValueError):
    """Bad input: names the field, the reason and the remedy; nothing was changed.

    Parameters
    ----------
    field : str
        The argument, parameter or file that is wrong.
    reason : str
        What is wrong with it.
    remedy : str, optional
        What to do about it.

    Examples
    --------
    >>> error = InputError("alpha", "1.5 is outside (0, 1)", "pass a share such as 0.05")
    >>> error.field, error.reason
    ('alpha', '1.5 is outside (0, 1)')
    >>> print(error)
    alpha: 1.5 is outside (0, 1); pass a share such as 0.05
    """

    def __init__(self, field: str, reason: str, remedy: str = "") -> None:
        super().__init__(field, reason, remedy)
        self.field = field
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        """Return ``field: reason; remedy`` on one line."""
        tail = f"; {self.remedy}" if self.remedy else ""
        return f"{self.field}: {self.reason}{tail}"


class NoGuaranteeWarning(UserWarning):
    """The promise is void, or rests on something handrail cannot check; the text says which."""


def shown(value: object) -> str:
    """Return a value as it is repeated to the user, who may have written it in JSON.

    Parameters
    ----------
    value : object
        What the user passed.

    Returns
    -------
    str
        Its representation; a tuple's is that of a list, a long text's ends after its beginning.

    Examples
    --------
    >>> shown((0.5, 1.0)), shown("0.5")
    ('[0.5, 1.0]', "'0.5'")
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]!r}..."
    return repr(list(value) if isinstance(value, tuple) else value)


def nearest(name: object, known: Iterable[str]) -> str:
    """Say which of the known names was probably meant.

    Parameters
    ----------
    name : object
        What the user wrote.
    known : iterable of str
        The names that exist.

    Returns
    -------
    str
        A remedy, ready to be put behind a reason.

    Examples
    --------
    >>> nearest("linubc", ["CUCB-Or", "LinUCB", "CLUCB2"])
    'did you mean LinUCB?'
    """
    names = list(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    # Who writes more than any name has meant none, and comparing takes time.
    if not names:
        return "there are none here"
    close = get_close_matches(str(name)[:_LONGEST].casefold(), folded, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(folded[match] for match in close) + "?"
    return "the known names are " + ", ".join(names)
