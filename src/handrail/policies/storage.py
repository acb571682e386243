"""The file a policy is saved in: a zip of one JSON document and NumPy arrays; no pickle.

`handrail.files.write` puts it in place: at every moment, also after a crash or on a full disk, the
path holds the old state or the new.
"""

from __future__ import annotations

import io
import json
import operator
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from handrail._version import __version__
from handrail.errors import InputError
from handrail.policies.frozen import freeze
from handrail.policies.gaps import plain_gap
from handrail.policies.model import Arrays

__all__ = ["UNREADABLE", "damaged", "pack", "plain_parameter", "unpack"]

_FORMAT: Final = "handrail-policy"
_VERSION: Final = 3
"""2 knows more of the ledger than 1; 3 of what was lost, and keeps factors instead of sums. All are
read."""
_STATE: Final = "state.json"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""A fixed time stamp: the same state is the same bytes."""

UNREADABLE: Final = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)
"""Whatever damaged or hostile content can make its readers raise."""


def pack(state: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the content of a file; the same state is the same bytes."""
    header = {"format": _FORMAT, "version": _VERSION, "handrail": __version__}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(header | state, indent=1, allow_nan=False)
        archive.writestr(zipfile.ZipInfo(_STATE, _EPOCH), text)
        for name, value in arrays.items():
            content = io.BytesIO()
            npy.write_array(content, np.ascontiguousarray(value), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), content.getvalue())
    return buffer.getvalue()


def unpack(path: str, content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the state in the content of a file; the path is for the error's sake."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            state = json.loads(archive.read(_STATE))
            if not isinstance(state, dict) or state.get("format") != _FORMAT:
                raise damaged(path, "it is not a saved policy")
            _check_version(path, state.get("version"))
            arrays = {
                name.removesuffix(".npy"): npy.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name != _STATE
            }
    except InputError:
        raise
    except UNREADABLE as error:
        raise damaged(path, str(error)) from error
    return state, arrays


def damaged(path: str, why: str) -> InputError:
    """Return the error for a file that cannot be what it should be."""
    return InputError(
        "path", f"{path} cannot be read as a policy ({why})", "restore it from a copy"
    )


def _check_version(path: str, version: object) -> None:
    if not isinstance(version, int) or version < 1:
        raise damaged(path, f"its version is {version!r}")
    if version > _VERSION:
        raise InputError(
            "path",
            f"{path} has format version {version}, this handrail reads up to {_VERSION}",
            "upgrade handrail",
        )


def plain_parameter(value: Any) -> Any:
    """Return a checked parameter as JSON or an array can hold it, and as nobody can change it."""
    value = plain_gap(value)
    if isinstance(value, Mapping):
        law = "law" in value
        return freeze(value if law else {str(k): plain_parameter(v) for k, v in value.items()})
    if isinstance(value, str | bool | np.bool_):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, tuple | list) and len(value) == 2 and np.ndim(value) == 1:
        return tuple(float(each) for each in value)  # an interval or a range
    if np.ndim(value) == 0:  # a number of any type: of Python, NumPy, decimal, fractions
        try:
            return operator.index(value)
        except TypeError:
            return float(value)
    array = np.array(value, dtype=np.float64)
    array.flags.writeable = False
    return array
