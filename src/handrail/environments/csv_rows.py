"""Rows of numbers in csv text; what is wrong with them is told by row and column."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from handrail.errors import InputError
from handrail.records import Floats

__all__ = ["csv_rows"]

_GAPS: Final = frozenset({"", "-", "n/a", "na", "nan", "none", "null"})
_LONGEST_SCALE: Final = 10
_REMEDY: Final = "give rows of numbers separated by commas, all of the same length"


def csv_rows(field: str, lines: Iterable[str], *, header: bool = False) -> tuple[Floats, int]:
    """Return the numbers, NaN where a cell is a gap, and the number of the first row of them.

    Rows and columns are counted from 1, a header row included, as a spreadsheet shows them.

    Parameters
    ----------
    field : str
        The field of the error, if it comes to one.
    lines : iterable of str
        The text, such as a file opened with ``newline=""``.
    header : bool, default=False
        Whether the first row may hold names: text in every cell and no number.

    Returns
    -------
    tuple of array and int
        The numbers, and 2 after a header row, else 1.

    Examples
    --------
    >>> csv_rows("table", ["first,second", "1,2", "3,"], header=True)
    (array([[ 1.,  2.], [ 3., nan]]), 2)
    """
    rows: list[Floats] = []
    width, first, blank = 0, 1, 0
    reader = csv.reader(lines, strict=True)
    try:
        for number, cells in enumerate(reader, 1):
            if not cells:
                blank = blank or number
                continue
            if blank:  # blank lines at the end are no rows
                raise InputError(field, f"row {blank} is empty", _REMEDY)
            width = width or len(cells)
            if len(cells) != width:
                raise InputError(
                    field, f"row {number} has {len(cells)} columns, row 1 has {width}", _REMEDY
                )
            if header and number == 1 and _is_header(field, cells):
                first = 2
                continue
            rows.append(_numbers(field, number, cells))
    except csv.Error as error:
        raise InputError(field, f"line {reader.line_num} is no csv ({error})", _REMEDY) from error
    except UnicodeError as error:
        raise InputError(field, "is not text, and so no csv", _REMEDY) from error
    return np.array(rows).reshape(len(rows), width), first


def _numbers(field: str, number: int, cells: Sequence[str]) -> Floats:
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    values = np.empty(len(cells))
    for column, cell in enumerate(cells):
        value = _number(cell)
        if value is None:
            raise InputError(
                field,
                f"row {number}, column {column + 1} holds {cell[:40]!r}, not a number",
                _REMEDY,
            )
        values[column] = value
    return values


def _number(cell: str) -> float | None:
    """Return the number in a cell, NaN for a gap, None for text."""
    if cell.strip().lower() in _GAPS:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return None


def _is_header(field: str, cells: Sequence[str]) -> bool:
    """Tell whether the first row holds names; refuse it where that cannot be told."""
    values = [_number(cell) for cell in cells]
    if None not in values:
        # What data frames without names write; no rating scale is that long.
        if len(cells) > _LONGEST_SCALE and any(
            list(cells) == [str(start + place) for place in range(len(cells))] for start in (0, 1)
        ):
            raise InputError(
                field,
                f"row 1 counts from {cells[0]} to {cells[-1]}: numbers of columns, not ratings",
                "leave the row out, or give the columns names",
            )
        return False
    if any(value is not None and not np.isnan(value) for value in values):
        return False  # names and numbers mixed: `_numbers` says which cell is no number
    for column, cell in enumerate(cells):
        if not cell.strip():
            raise InputError(
                field,
                f"row 1 holds names, but column {column + 1} has none",
                "leave out a column that holds the number of its row; every column is an item",
            )
    return True
