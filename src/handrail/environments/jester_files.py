"""The forms the Jester ratings come in: .csv, .xls, or a .zip that holds one of them.

The form is told by the content, not by the name: a download need not have one.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import Final

import numpy as np

from handrail.environments.csv_rows import csv_rows
from handrail.environments.jester_check import FIELD
from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.records import Floats

__all__ = ["UNPACKED_LIMIT", "read_file", "rows_of"]

UNPACKED_LIMIT: Final = 256_000_000
"""Bytes; the original takes less than a tenth of it."""

_ZIP: Final = b"PK\x03\x04"
_XLS: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BAD_ZIP: Final = (
    *(EOFError, NotImplementedError, OSError, RuntimeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)
_REMEDY: Final = "take file 1 of Jester's dataset 1 as a .zip, .csv or .xls"


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a local file of bounded size."""
    file = Path(path)
    if not file.is_file():
        reason = "is not a file" if file.exists() else "does not exist"
        raise InputError(FIELD, f"{file} {reason}", _REMEDY)
    try:
        with file.open("rb") as opened:
            content = opened.read(UNPACKED_LIMIT + 1)
    except OSError as error:
        raise InputError(
            FIELD, f"{file} cannot be read ({error.strerror})", "see to the file"
        ) from error
    if len(content) > UNPACKED_LIMIT:
        raise InputError(FIELD, f"{file} is {_too_large()}", _REMEDY)
    return content


def rows_of(name: str, content: bytes) -> Floats:
    """Return the numbers in the content of a file, NaN where a cell is empty.

    Parameters
    ----------
    name : str
        Where it is from, for the error's sake.
    content : bytes
        The content of a .zip, .csv or .xls.

    Returns
    -------
    array of float
        All rows and columns.
    """
    if content.startswith(_ZIP):
        name, content = _member(name, content)
    if content.startswith(_XLS):
        return _xls_rows(name, content)
    if not content.strip():
        raise InputError(FIELD, f"{name} is empty", _REMEDY)
    with io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="") as lines:
        return csv_rows(FIELD, lines)[0]


def _member(name: str, content: bytes) -> tuple[str, bytes]:
    """Return name and content of the one .csv or .xls in a zip."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = [
                member
                for member in archive.infolist()
                if Path(member.filename).suffix.lower() in {".csv", ".xls"}
                and not member.filename.startswith("__MACOSX/")
            ]
            if len(found) != 1:
                raise InputError(
                    FIELD, f"{name} holds {len(found)} .csv or .xls files, not one", _REMEDY
                )
            with archive.open(found[0]) as member:
                unpacked = member.read(UNPACKED_LIMIT + 1)
    except InputError:
        raise
    except _BAD_ZIP as error:
        raise _broken(name, "zip", error) from error
    if len(unpacked) > UNPACKED_LIMIT:
        raise InputError(FIELD, f"{found[0].filename!r} in {name} is {_too_large()}", _REMEDY)
    return f"{found[0].filename!r} in {name}", unpacked


def _xls_rows(name: str, content: bytes) -> Floats:
    """Return the numbers in the first sheet."""
    xlrd = need_extra("xlrd", "xls")
    try:
        # It prints what it finds odd about a file, unless it has somewhere else to write to.
        with xlrd.open_workbook(file_contents=content, logfile=io.StringIO()) as book:
            sheet = book.sheet_by_index(0)
            kinds = np.array([sheet.row_types(row) for row in range(sheet.nrows)])
            cells = [sheet.row_values(row) for row in range(sheet.nrows)]
    except Exception as error:  # a damaged file trips its reader in any way
        raise _broken(name, "xls", error) from error
    kinds = kinds.reshape(sheet.nrows, sheet.ncols)
    number, gaps = xlrd.XL_CELL_NUMBER, (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK)
    for row, column in np.argwhere(kinds != number):
        if kinds[row, column] not in gaps:
            raise InputError(
                FIELD,
                f"row {row + 1}, column {column + 1} holds {cells[row][column]!r}, not a number",
                _REMEDY,
            )
        cells[row][column] = np.nan
    return np.array(cells, np.float64).reshape(kinds.shape)


def _broken(name: str, kind: str, error: Exception) -> InputError:
    why = " ".join(str(error).split()) or type(error).__name__
    return InputError(FIELD, f"{name} cannot be read as {kind} ({why})", _REMEDY)


def _too_large() -> str:
    return f"larger than {UNPACKED_LIMIT / 1e6:.0f} MB, too large for the ratings"
