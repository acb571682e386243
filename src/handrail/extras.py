"""Optional packages: asked for where they are used, with the install command when missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from handrail.errors import InputError

__all__ = ["need_extra"]


def need_extra(module: str, extra: str) -> Any:
    """Import an optional package, or say how to get it.

    Parameters
    ----------
    module : str
        The module to import.
    extra : str
        The extra of handrail that brings it.

    Returns
    -------
    module
        The imported module.

    Examples
    --------
    >>> need_extra("math", "none").sqrt(4.0)
    2.0
    >>> need_extra("no_such_module", "figures")
    Traceback (most recent call last):
        ...
    handrail.errors.InputError: no_such_module: is not installed; pip install 'handrail[figures]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise InputError(package, "is not installed", f"pip install 'handrail[{extra}]'") from None
