"""The report as text: one block of lines a group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchmarks.measure import Row

__all__ = ["table"]

_HEAD = ("", "", "against", "ratio", "limit", "aim", "", "")
_RIGHT = {1, 3, 4, 5}
_VERDICTS = {None: "", True: "met", False: "NOT met"}


def _written(value: float, unit: str) -> str:
    """Write a value with its unit."""
    return f"{value:,.4g} {unit}" if abs(value) < 1e4 else f"{value:,.0f} {unit}"


def _cells(row: Row) -> tuple[str, ...]:
    unit = "" if row.ratio is not None else f" {row.unit}"
    least = "at least " if row.least else ""
    return (
        f"  {row.name}",
        _written(row.value, row.unit),
        row.against,
        "" if row.ratio is None else f"{row.ratio:.2f}",
        "" if row.limit is None else f"{least}{row.limit:g}{unit}",
        "" if row.aim is None else f"{least}{row.aim:g}{unit}",
        _VERDICTS[row.met],
        row.note,
    )


def table(rows: Sequence[Row]) -> str:
    """Return the report; a group's name stands above its rows."""
    cells = [_HEAD, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

    def line(of: tuple[str, ...]) -> str:
        return "  ".join(
            cell.rjust(width) if i in _RIGHT else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(of, widths, strict=True))
        ).rstrip()

    lines = [line(_HEAD)]
    for group, members in groupby(rows, lambda row: row.group):
        lines += [group, *(line(_cells(row)) for row in members)]
    return "\n".join(lines)
