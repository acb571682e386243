"""Small tables, the same in the report and in the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Table", "table_html", "table_markdown"]


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    caption : str
        What it shows.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        The cells; the first of a row names it.
    bold : frozenset of int
        Rows that stand out.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    bold: frozenset[int] = frozenset()


def table_html(table: Table) -> str:
    """Return a table for the report.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        HTML; a narrow screen scrolls it.

    Examples
    --------
    >>> table_html(Table("Two", ("a", "b"), [("x", "<1")])).count("&lt;1")
    1
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    rows = []
    for place, (first, *rest) in enumerate(table.rows):
        cells = [escape(first), *map(escape, rest)]
        if place in table.bold:
            cells = [f"<b>{cell}</b>" for cell in cells]
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells[1:])
        rows.append(f'<tr><th scope="row">{cells[0]}</th>{numbers}</tr>')
    return (
        f'<div class="wide"><p class="small">{escape(table.caption)}</p>'
        f'<table class="parts"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def table_markdown(table: Table) -> str:
    """Return a table for the documentation.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        Markdown: the caption, and the table below it.

    Examples
    --------
    >>> print(table_markdown(Table("Two.", ("a", "b"), [("x", "1"), ("y", "2")], frozenset({1}))))
    Two.
    <BLANKLINE>
    | a | b |
    |---|---|
    | x | 1 |
    | **y** | **2** |
    <BLANKLINE>
    """
    lines = [table.caption, "", _line(table.head), "|" + "---|" * len(table.head)]
    for place, row in enumerate(table.rows):
        bold = place in table.bold
        lines.append(_line([f"**{cell}**" if bold and cell else cell for cell in row]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
