"""Plain data that nobody can change: what a policy shows is what was checked and is saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["freeze"]


class _ReadOnly(dict[str, Any]):
    """To `json` and `dataclasses.asdict`, which know no other mapping, a dictionary."""

    def _refuse(self, *args: object, **named: object) -> NoReturn:
        raise TypeError("these parameters are read-only")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made whole: nothing can be put in one by one."""
        return _ReadOnly, (dict(self),)


def freeze(value: Any) -> Any:
    """Return lists as tuples and mappings as read-only ones, all the way down."""
    if isinstance(value, Mapping):
        return _ReadOnly({key: freeze(each) for key, each in value.items()})
    if isinstance(value, tuple | list):
        return tuple(freeze(each) for each in value)
    return value
