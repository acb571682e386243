"""Time against everything that can grow: one panel a quantity, one line a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.curve import Curve, slope
from handrail.paper.drawing.sheet import plain_axes, style

__all__ = ["draw_growth"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v")


def _line(axes: Axes, curve: Curve, colour: str, marker: str) -> None:
    axes.plot(
        curve.sizes,
        curve.seconds,
        color=colour,
        marker=marker,
        markersize=4,
        label=f"{slope(curve):.2f}, at most {curve.order:g}".replace("-", "−"),
    )
    sizes = np.geomspace((curve.sizes[0] * curve.sizes[-1]) ** 0.5, curve.sizes[-1])
    expected = curve.seconds[-1] * (sizes / curve.sizes[-1]) ** curve.order
    axes.plot(sizes, expected, color=colour, linewidth=1.0, linestyle=(0, (4, 2)), alpha=0.8)


def _seconds(value: float, _position: int = 0) -> str:
    return f"{value:g} s" if value >= 1 else f"{value * 1e3:g} ms"


def draw_growth(curves: Sequence[Curve], path: Path) -> None:
    """Draw curves into a PNG, with dashes where the expected power of the size would be."""
    names = list(dict.fromkeys(curve.name for curve in curves))
    quantities = list(dict.fromkeys(curve.quantity for curve in curves))
    columns = min(3, len(quantities))
    down = -(-(len(quantities) + 1) // columns)
    with style():
        figure = Figure(figsize=(3.5 * columns, 0.6 + 2.9 * down), layout="constrained")
        figure.suptitle("CPU time of simulations on one thread", fontweight="bold", fontsize=12)
        panels = figure.subplots(down, columns, squeeze=False).ravel()
        for axes, quantity in zip(panels, quantities, strict=False):
            shown = [curve for curve in curves if curve.quantity == quantity]
            for curve in shown:
                which = names.index(curve.name) % len(COLOURS)
                _line(axes, curve, COLOURS[which], MARKERS[which])
            measured = [seconds for curve in shown for seconds in curve.seconds]
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_ylim(0.7 * min(measured), 1.4 * max(measured))
            plain_axes(axes, f"time against {quantity}", quantity, "")
            axes.yaxis.set_major_formatter(FuncFormatter(_seconds))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_minor_locator(NullLocator())
            axes.legend(fontsize=7.5, frameon=False, title="power of the size", title_fontsize=7.5)
        for axes in panels[len(quantities) :]:
            axes.set_axis_off()
        looks = [
            Line2D([], [], color=COLOURS[i % 5], marker=MARKERS[i % 5], markersize=4, label=name)
            for i, name in enumerate(names)
        ]
        expected = Line2D(
            [], [], color="#555555", linewidth=1.0, linestyle=(0, (4, 2)),
            label="the largest power expected",
        )  # fmt: skip
        panels[len(quantities)].legend(handles=[*looks, expected], loc="center", frameon=False)
        figure.savefig(path, dpi=150)
