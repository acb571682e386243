"""Quantities averaged over models, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from handrail.paper.drawing.budget import shade, zoom
from handrail.paper.drawing.curves import Loaded, View, draw_lines, load
from handrail.paper.drawing.looks import Line
from handrail.paper.drawing.sheet import new_sheet, plain_axes
from handrail.paper.numbers import Curve

__all__ = ["draw_average"]


def _regret(axes: Axes, loaded: Loaded, view: View) -> None:
    draw_lines(axes, loaded, view)
    plain_axes(axes, view.title, "round", "cumulative regret (reward units)")
    axes.set_xlim(0, loaded[0][1].rounds[-1])
    axes.set_ylim(0, None)


def _budget(axes: Axes, loaded: Loaded, view: View) -> None:
    draw_lines(axes, loaded, view)
    plain_axes(axes, view.title, "round", "budget (reward units)")
    axes.set_xlim(0, loaded[0][1].rounds[-1])
    shade(axes)


def _early(axes: Axes, loaded: Loaded, view: View) -> None:
    zoom(axes, loaded, view)
    plain_axes(axes, f"{view.title}, early rounds", "round", "budget (reward units)")
    shade(axes)


def _baseline(axes: Axes, loaded: Loaded, view: View) -> None:
    conservative = loaded[1:]  # the first has no baseline to go back to
    draw_lines(axes, conservative, view)
    axes.set_xscale("log")  # the share settles early
    plain_axes(axes, view.title, "round (log scale)", "share of rounds so far on the baseline")
    axes.set_xlim(1, loaded[0][1].rounds[-1])
    axes.set_ylim(0, 1.02)


_PANELS = {
    "regret": ("regret", _regret),
    "budget": ("budget", _budget),
    "early": ("budget", _early),
    "baseline": ("e3", _baseline),
}


def draw_average(
    tables: Any,
    lines: Sequence[Line],
    panels: Sequence[str],
    head: tuple[str, str, str],
    *,
    of: str = "models",
    columns: int = 7,
) -> Figure:
    """Draw one panel a quantity.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    lines : sequence of Line
        What is drawn; the first is the algorithm that makes no promise.
    panels : sequence of {"regret", "budget", "early", "baseline"}
        What is shown: "early" is the budget of the early rounds, "baseline" the share of rounds
        in which the baseline was played.
    head : tuple of three str
        Title, settings and note of the sheet.
    of : str, default="models"
        What a problem is called here.
    columns : int, default=7
        Of the legend.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    title, settings, note = head
    if "budget" in panels:
        settings += "; shaded: below 0"
    width = 9.5 if len(panels) < 3 else 11.0
    sheet = new_sheet(title, settings, note, height=3.5, width=width, lines=lines, columns=columns)
    for axes, name in zip(np.atleast_1d(sheet.body.subplots(1, len(panels))), panels, strict=True):
        quantity, draw = _PANELS[name]
        loaded = load(tables.curves, quantity, lines)
        draw(axes, loaded, View(f"average of {len(loaded[0][1].values)} {of}", Curve.average))
    return sheet.figure
