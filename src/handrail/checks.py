"""Checks of single values: each returns the value in its proper type or names what is wrong."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection

import numpy as np

from handrail.errors import InputError, nearest, shown
from handrail.records import Floats

__all__ = ["array", "finite", "flag", "index", "number", "one_of", "positive", "share", "whole"]


def number(field: str, value: object) -> float:
    """Return a finite float."""
    if type(value) is float and math.isfinite(value):
        return value
    try:
        # What float() would read: text, half a complex number, a time without its unit.
        if isinstance(value, str | bytes) or _kind(value) in "cmM":
            raise TypeError
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(field, f"{shown(value)} is not a number") from None
    if not math.isfinite(result):
        raise InputError(field, f"{result} is not finite", "pass a finite number")
    return result


def _kind(value: object) -> str:
    """Return NumPy's letter for the type of a scalar or an array; "O" of anything else."""
    return str(getattr(getattr(value, "dtype", None), "kind", "O"))


def positive(field: str, value: object) -> float:
    """Return a float > 0, far enough from the ends of floating point to be squared."""
    result = number(field, value)
    if result <= 0.0:
        raise InputError(field, f"{result:g} is not above 0")
    if not 1e-100 <= result <= 1e100:
        raise InputError(field, f"{result:g} is out of range", "pass a number in [1e-100, 1e100]")
    return result


def share(field: str, value: object) -> float:
    """Return a float in (0, 1)."""
    result = number(field, value)
    if not 0.0 < result < 1.0:
        raise InputError(field, f"{result:g} is outside (0, 1)", "pass a share such as 0.05")
    return result


def whole(field: str, value: object, least: int = 1, most: int = 2**62) -> int:
    """Return an int from least to most."""
    if isinstance(value, bool | np.bool_):
        raise InputError(field, f"{shown(value)} is not a whole number")
    try:
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(field, f"{shown(value)} is not a whole number") from None
    if not least <= result <= most:
        raise InputError(
            field, f"{result} is out of range", f"pass a whole number from {least} to {most}"
        )
    return result


def index(field: str, value: object, size: int) -> int:
    """Return an index of one of `size` actions."""
    result = whole(field, value, least=-(2**62))
    if not 0 <= result < size:
        raise InputError(field, f"action {result} is unknown", f"the actions are 0 to {size - 1}")
    return result


def flag(field: str, value: object) -> bool:
    """Return a bool; 0 and 1 are none."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(field, f"{value!r} is neither True nor False")
    return bool(value)


def one_of(field: str, value: object, known: Collection[str]) -> str:
    """Return one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise InputError(field, f"{shown(value)} is not known", nearest(value, known))
    return value


def array(field: str, value: object, shape: tuple[int | None, ...]) -> Floats:
    """Return an own or borrowed float64 array of this shape, None standing for any length >= 1.

    Contiguous and writeable, so that compiled code sees one type only. Values are not looked at.
    """
    try:
        result = np.asarray(value)
        if result.dtype.kind not in "fiub" or _masked(value):
            raise TypeError
        result = np.ascontiguousarray(result, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(field, "is not an array of numbers", "pass one row per action") from None
    fits = result.ndim == len(shape)
    for have, want in zip(result.shape, shape, strict=False):
        fits = fits and (have >= 1 if want is None else have == want)
    if not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise InputError(
            field,
            f"has shape {list(result.shape)}",
            f"pass shape [{wanted}]",
        )
    return result if result.flags.writeable else result.copy()


def _masked(value: object) -> bool:
    """Say whether numbers are masked, in an array or in one that is a row of a list."""
    if isinstance(value, tuple | list):
        return any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in value)
    return bool(np.ma.is_masked(value))


def finite(field: str, value: Floats) -> Floats:
    """Return the array if all of it is finite; else name the first place that is not."""
    fine = np.isfinite(value)
    if not fine.all():
        place = tuple(int(i) for i in np.argwhere(~fine)[0])
        raise InputError(
            field,
            f"{value[place]} at {list(place)} is not finite",
            "pass finite numbers only",
        )
    return value
