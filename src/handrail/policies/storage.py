"""The file a policy is saved in: a zip of one JSON document and NumPy arrays; no pickle.

Written to a temporary file in the same folder, brought to disk, then renamed over the old one:
at every moment, also after a crash or on a full disk, the path holds the old state or the new.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from handrail._version import __version__
from handrail.errors import InputError
from handrail.policies.model import Arrays

__all__ = ["UNREADABLE", "damaged", "pack", "unpack", "write"]

_FORMAT: Final = "handrail-policy"
_VERSION: Final = 1
_STATE: Final = "state.json"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""A fixed time stamp: the same state is the same bytes."""

UNREADABLE: Final = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)
"""Whatever damaged or hostile content can make its readers raise."""


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the file by this content, or leave it as it was and raise."""
    target = Path(os.path.realpath(path))  # a link keeps pointing to the file it points to
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    _sync_folder(target.parent)


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


def _sync_folder(folder: Path) -> None:
    """Bring the rename itself to disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
