"""How a share is spread over models: one dot a model, mean and standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from handrail.paper.drawing.curves import View, draw_lines, load
from handrail.paper.drawing.looks import algorithm_line
from handrail.paper.drawing.sheet import new_sheet, plain_axes
from handrail.paper.measures.shares import PAPER_SD, PAPER_SHARE
from handrail.paper.numbers import Curve, per_run
from handrail.records import Floats

__all__ = ["draw_shares", "stacked"]


def stacked(values: Floats, width: float) -> Floats:
    """Return heights that keep dots with close values apart.

    Parameters
    ----------
    values : numpy.ndarray
        One a dot.
    width : float
        Closer dots than this are put on top of each other.

    Returns
    -------
    numpy.ndarray
        0, 1, -1, 2, ... within each group of close values.

    Examples
    --------
    >>> stacked(np.array([0.1, 0.11, 0.5, 0.12]), 0.05).tolist()
    [0.0, 1.0, 0.0, -1.0]
    """
    heights = np.zeros(values.size)
    seen: dict[int, int] = {}
    for place, value in enumerate(values):
        group = int(value // width)
        count = seen.get(group, 0)
        heights[place] = (count + 1) // 2 * (1 if count % 2 else -1)
        seen[group] = count + 1
    return heights


def draw_shares(tables: Any, names: Sequence[str], head: tuple[str, str, str]) -> Figure:
    """Draw the share of E2: its spread over models, and over rounds.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    names : sequence of str
        The algorithms.
    head : tuple of three str
        Title, settings and note of the sheet.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    lines = [algorithm_line(name) for name in names]
    sheet = new_sheet(*head, height=3.2, width=9.5, lines=lines)
    left, right = sheet.body.subplots(1, 2)
    band = {"color": "#000000", "alpha": 0.08, "linewidth": 0}
    left.axvspan(PAPER_SHARE - PAPER_SD, PAPER_SHARE + PAPER_SD, **band)
    left.axvline(PAPER_SHARE, color="black", linewidth=1.0, linestyle=(0, (4, 2)))
    for row, line in enumerate(lines):
        models = per_run(tables.runs, "e2", **line.wanted).mean(axis=1)
        heights = stacked(models, 0.012)
        step = min(0.07, 0.3 / max(1.0, np.abs(heights).max()))
        left.plot(
            models, row + step * heights, "o", color=line.color, markersize=3.8, alpha=0.65, mew=0
        )
        sd = models.std(ddof=1) if models.size > 1 else 0.0
        left.errorbar(
            models.mean(), row - 0.4, xerr=sd, fmt="s", color=line.color, capsize=4, markersize=6
        )
    count = models.size
    plain_axes(left, f"{count} models, one dot each; square: mean ± sd", "share of E2", "")
    left.set_yticks(range(len(lines)), [line.name for line in lines])
    left.set_ylim(len(lines) - 0.5, -0.75)
    left.set_xlim(0, None)
    left.text(
        PAPER_SHARE,
        -0.73,
        "paper: 38.7 % ± 9 %",
        ha="center",
        va="top",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2},
    )
    loaded = load(tables.curves, "e2", lines)
    draw_lines(right, loaded, View("", Curve.average))
    plain_axes(right, f"average of {count} models", "round", "share of E2 so far")
    right.set_xlim(0, loaded[0][1].rounds[-1])
    right.set_ylim(0, None)
    right.axhline(PAPER_SHARE, color="black", linewidth=1.0, linestyle=(0, (4, 2)))
    share = FuncFormatter(lambda value, _: f"{100 * value:g} %")
    left.xaxis.set_major_formatter(share)
    right.yaxis.set_major_formatter(share)
    return sheet.figure
