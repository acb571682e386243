"""Budget over rounds: the full range, and the early rounds where it can go below 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from handrail.paper.drawing.curves import Loaded, View, draw_lines, load
from handrail.paper.drawing.looks import Line
from handrail.paper.drawing.sheet import new_sheet, plain_axes

__all__ = ["draw_budget", "early_rounds", "shade", "zoom"]

_LOST: Final = "#D55E00"
_IF_NEVER: Final = 1000
"""The rounds that are zoomed into where no budget goes negative."""


def early_rounds(loaded: Loaded, view: View) -> int:
    """Return the last round worth showing in the zoomed panel.

    Parameters
    ----------
    loaded : sequence of (Line, Curve)
        Budgets; the first is the algorithm's that makes no promise.
    view : View
        Of which model.

    Returns
    -------
    int
        A little behind the last round in which that budget is negative, within the horizon.
    """
    _, first = loaded[0]
    mean, _ = view.of(first)
    last = int(first.rounds[-1])
    below = first.rounds[mean < 0]
    if not below.size:
        return min(last, _IF_NEVER)
    return min(last, int(1.25 * below[-1]) + 1)


def zoom(axes: Axes, loaded: Loaded, view: View) -> None:
    """Draw the early rounds of budgets, scaled to where the first goes below 0.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The panel.
    loaded : sequence of (Line, Curve)
        Budgets; the first is the algorithm's that makes no promise.
    view : View
        Of which model.
    """
    most = early_rounds(loaded, view)
    draw_lines(axes, loaded, view, most=most)
    lows, highs = [], []
    for _, values in loaded:
        mean, _ = view.of(values)
        shown = mean[values.rounds <= most]
        lows.append(float(shown.min()))
        highs.append(float(shown.max()))
    top = max(*highs, 1e-9)
    if min(lows) < 0.0:
        depth = max(-min(lows), 0.15 * top)
        axes.set_ylim(-1.15 * depth, min(1.05 * top, 2.0 * depth) + 0.05 * depth)
    else:
        axes.set_ylim(-0.1 * top, 1.05 * top)
    axes.set_xlim(0, most)


def shade(axes: Axes) -> None:
    """Mark 0, and what lies below it.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The panel.
    """
    low, _ = axes.get_ylim()
    axes.axhline(0.0, color="black", linewidth=0.9, zorder=1.5)
    if low < 0:
        axes.axhspan(low, 0.0, color=_LOST, alpha=0.07, linewidth=0, zorder=0)
        axes.set_ylim(bottom=low)


def draw_budget(
    tables: Any,
    lines: Sequence[Line],
    shown: Sequence[View],
    title: str,
    settings: str,
    note: str,
    *,
    columns: int = 7,
) -> Figure:
    """Draw budgets, full range above and early rounds below.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    lines : sequence of Line
        What is drawn; the first is the algorithm that makes no promise.
    shown : sequence of View
        One column each. A single one is drawn with its two panels side by side.
    title, settings, note : str
        The head of the sheet.
    columns : int, default=7
        Of the legend.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    alone = len(shown) == 1
    sheet = new_sheet(
        title,
        f"{settings}; shaded: below 0",
        note,
        height=3.6 if alone else 6.2,
        lines=lines,
        columns=columns,
    )
    panels = np.atleast_2d(sheet.body.subplots(1 if alone else 2, 2 if alone else len(shown)))
    if alone:
        panels = panels.T
    loaded = load(tables.curves, "budget", lines)
    for column, view in enumerate(shown):
        full, early = panels[:, column]
        draw_lines(full, loaded, view)
        full.set_xlim(0, loaded[0][1].rounds[-1])
        zoom(early, loaded, view)
        plain_axes(full, view.title, "round", "")
        plain_axes(early, "the early rounds", "round", "")
        for axes in (full, early):
            shade(axes)
    panels[0, 0].set_ylabel("budget (reward units)")
    panels[1, 0].set_ylabel("budget (reward units)")
    return sheet.figure
