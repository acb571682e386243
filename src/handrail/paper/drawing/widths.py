"""Reductions of regret under several confidence widths, and the regret itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from handrail.paper.bootstrap import Interval
from handrail.paper.drawing.curves import View, draw_lines, load
from handrail.paper.drawing.looks import algorithm_line
from handrail.paper.drawing.sheet import new_sheet, plain_axes
from handrail.paper.measures.reductions import average_reductions, worst_reductions
from handrail.paper.numbers import Curve
from handrail.paper.settings import Family

__all__ = ["draw_widths"]

_PAPER: Final = {"CUCB-M": 0.43, "CUCB-S": 0.12, "CUCB2": 0.51}
_BAR: Final = 0.15

_STATED: Final = "#C00020"
"""What the paper says."""


def _bars(
    axes: Axes, names: Sequence[str], widths: Sequence[str], found: Sequence[Sequence[Interval]]
) -> None:
    for place, name in enumerate(names):
        across = np.arange(len(widths)) + _BAR * (place - (len(names) - 1) / 2)
        own = [intervals[place] for intervals in found]
        middle = np.array([each.measured for each in own])
        reach = np.array([[each.measured - each.low, each.high - each.measured] for each in own])
        axes.bar(across, middle, 0.88 * _BAR, color=algorithm_line(name).color)
        axes.errorbar(
            across, middle, yerr=np.maximum(reach.T, 0.0), fmt="none", color="#333333",
            elinewidth=0.9, capsize=1.8,
        )  # fmt: skip
    axes.axhline(0.0, color="black", linewidth=0.9)
    axes.set_xticks(np.arange(len(widths)), [f"width {width}" for width in widths])
    axes.tick_params(axis="x", length=0)


def _paper_marks(axes: Axes, names: Sequence[str], widths: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if name not in _PAPER:
            continue
        for group in range(len(widths)):
            middle = group + _BAR * (place - (len(names) - 1) / 2)
            axes.hlines(
                _PAPER[name],
                middle - 0.6 * _BAR,
                middle + 0.6 * _BAR,
                color=_STATED,
                linewidth=1.6,
                zorder=4,
            )


def draw_widths(
    tables: Any, family: Family, widths: Sequence[str], head: tuple[str, str, str]
) -> Figure:
    """Draw reductions (worst and average model) above, average regret below.

    Parameters
    ----------
    tables : Tables
        Curves and runs, with the label ``width``.
    family : Family
        The algorithms.
    widths : sequence of str
        The widths.
    head : tuple of three str
        Title, settings and note of the sheet.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    lines = [algorithm_line(name) for name in family]
    sheet = new_sheet(*head, height=6.4, lines=lines)
    halves: Any = sheet.body.subfigures(2, 1)
    above, below = halves
    names = [name for name in family if name not in (family.free, family.old)]
    worst = [worst_reductions(tables.runs, family, names, width=width) for width in widths]
    average = [average_reductions(tables.runs, family, names, width=width) for width in widths]
    left, right = above.subplots(1, 2, sharey=True)
    _bars(left, names, widths, [found for _, found in worst])
    _paper_marks(left, names, widths)
    _bars(right, names, widths, average)
    count = len(
        load(tables.curves, "regret", [algorithm_line(family.old, width=widths[0])])[0][1][1]
    )
    plain_axes(
        left, "worst model of each width; red marks: the paper at n = 1,000,000", "",
        f"regret below {family.old}'s",
    )  # fmt: skip
    plain_axes(right, f"average of {count} models", "", "")
    for axes in (left, right):
        axes.grid(axis="x", visible=False)
        axes.set_xticks(np.arange(len(widths)), [f"width {width}" for width in widths])
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    panels = below.subplots(1, len(widths), sharey=True)
    for axes, width in zip(panels, widths, strict=True):
        loaded = load(
            tables.curves, "regret", [algorithm_line(name, width=width) for name in family]
        )
        draw_lines(axes, loaded, View("", Curve.average))
        plain_axes(axes, f"width {width}, average of {count} models", "round", "")
        axes.set_xlim(0, loaded[0][1].rounds[-1])
    panels[0].set_ylim(0, None)  # all of them: the axis is shared, and every line is drawn by now
    panels[0].set_ylabel("cumulative regret (reward units)")
    return sheet.figure
