"""Parameters on the command line: K=V pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from handrail.errors import InputError

__all__ = ["read_parameters"]


def read_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Read K=V pairs: numbers, true, false and lists as in JSON, anything else as text.

    Parameters
    ----------
    given : sequence of str
        The pairs.

    Returns
    -------
    dict
        Values by name.

    Examples
    --------
    >>> read_parameters(["arms=5", "width=mixture"])
    {'arms': 5, 'width': 'mixture'}
    """
    read: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals or not name:
            raise InputError(
                "--param", f"{each!r} is not of the form K=V", "write --param alpha=0.1"
            )
        try:
            read[name] = json.loads(text)
        except json.JSONDecodeError:
            read[name] = text
    return read
