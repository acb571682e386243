"""Regret over rounds: worst, best and average model side by side."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from handrail.paper.drawing.curves import draw_lines, load, views
from handrail.paper.drawing.looks import algorithm_line
from handrail.paper.drawing.sheet import new_sheet, plain_axes
from handrail.paper.models import choose
from handrail.paper.settings import Family

__all__ = ["draw_regret"]


def draw_regret(tables: Any, family: Family, title: str, settings: str, note: str) -> Figure:
    """Draw the regret of a family in the three views.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    family : Family
        The algorithms, in drawing order.
    title, settings, note : str
        The head of the sheet.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    lines = [algorithm_line(name) for name in family]
    sheet = new_sheet(title, settings, note, height=3.5, lines=lines)
    loaded = load(tables.curves, "regret", lines)
    panels = sheet.body.subplots(1, 3)
    for axes, view in zip(panels, views(choose(tables.runs, family.new, family.old)), strict=True):
        draw_lines(axes, loaded, view)
        plain_axes(axes, view.title, "round", "")
        axes.set_xlim(0, loaded[0][1].rounds[-1])
        axes.set_ylim(0, None)
    panels[0].set_ylabel("cumulative regret (reward units)")
    return sheet.figure
