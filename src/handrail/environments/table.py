"""Complete tables of ratings: one row a user, one column an item."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from handrail.environments.csv_rows import csv_rows
from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.records import Floats

__all__ = ["read_ratings"]

_PARQUET: Final = b"PAR1"


def read_ratings(path: str | os.PathLike[str]) -> Floats:
    """Return a complete table of ratings, read from a csv or a Parquet file.

    Every row is a user, every column an item. The first row of a csv may hold the items' names:
    text in every cell. Of a Parquet file that pandas wrote, the index is left out.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    array of float, shape (users, items)
        Finite numbers, at least two users and two items.

    Raises
    ------
    InputError
        If the table has gaps, text, rows of different length or too few rows or columns; rows
        and columns are counted from 1, in a csv with the header row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ratings.csv"
    ...     _ = path.write_text(os.linesep.join(["tea,coffee", "1,5", "4,2"]))
    ...     read_ratings(path)
    array([[1., 5.], [4., 2.]])
    """
    file = Path(path)
    if not file.is_file():
        reason = "is not a file" if file.exists() else "does not exist"
        raise InputError("table", f"{file} {reason}", "give a .csv or .parquet file of ratings")
    try:
        with file.open("rb") as content:
            parquet = content.read(len(_PARQUET)) == _PARQUET
        if parquet or file.suffix.lower() in {".parquet", ".pq"}:
            ratings, first = _parquet(file), 1
        else:
            with file.open(encoding="utf-8-sig", newline="") as lines:
                ratings, first = csv_rows("table", lines, header=True)
    except OSError as error:
        raise InputError(
            "table", f"{file} cannot be read ({error.strerror or error})", "see to the file"
        ) from error
    _check(ratings, first)
    return ratings


def _parquet(file: Path) -> Floats:
    """Return the columns of a Parquet file, NaN where one has a gap."""
    arrow = need_extra("pyarrow", "simulation")
    parquet = need_extra("pyarrow.parquet", "simulation")
    try:
        table = parquet.ParquetFile(file).read()
        pandas = table.schema.pandas_metadata or {}
        index = [name for name in pandas.get("index_columns", ()) if isinstance(name, str)]
        table = table.drop_columns([name for name in index if name in table.column_names])
        columns = [_column(arrow, table, place) for place in range(table.num_columns)]
    except (arrow.ArrowException, UnicodeError) as error:
        text = " ".join(str(error).split())
        raise InputError(
            "table", f"{file} cannot be read as Parquet ({text})", "write it again"
        ) from error
    return np.column_stack(columns) if columns else np.empty((table.num_rows, 0))


def _column(arrow: Any, table: Any, place: int) -> Floats:
    column = table.column(place)
    kinds = arrow.types
    if not any(
        is_kind(column.type)
        for is_kind in (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean)
    ):
        raise InputError(
            "table",
            f"column {place + 1} ({table.column_names[place]!r}) holds {column.type}, not numbers",
            "give a table whose columns are the items' ratings and nothing else",
        )
    values: Floats = column.cast(arrow.float64(), safe=False).to_numpy()
    return values


def _check(ratings: Floats, first: int) -> None:
    users, items = ratings.shape
    if users < 2 or items < 2:
        raise InputError(
            "table",
            f"has {users} x {items} ratings (users x items)",
            "give at least 2 users (rows) and 2 items (columns)",
        )
    wrong = np.argwhere(~np.isfinite(ratings))
    if not len(wrong):
        return
    row, column = wrong[0]
    place = f"row {row + first}, column {column + 1}"
    if np.isinf(ratings[row, column]):
        raise InputError("table", f"{place} is {ratings[row, column]}", "give finite ratings")
    gaps = int(np.isnan(ratings).sum())
    raise InputError(
        "table",
        f"{place} has no rating" + (f" (the first of {gaps:,} gaps)" if gaps > 1 else ""),
        "give a table without gaps: leave out users or items that have some, or fill them in",
    )
