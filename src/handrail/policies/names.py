"""Actions as the user of a guard names them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from handrail.errors import InputError

__all__ = ["Action", "action_name"]

Action: TypeAlias = int | str


def action_name(field: str, value: object) -> Action:
    """Return an action's name: any text but the empty one, or any whole number."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value:
        return value
    raise InputError(field, f"{value!r} is no action", "pass its name (text) or its number")
