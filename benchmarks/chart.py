"""The judged rows as bars: how much of its limit each takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from benchmarks.measure import Row
from handrail.paper.drawing.sheet import plain_axes, style

__all__ = ["draw_chart"]

MET, MISSED, AIM = "#56B4E9", "#D55E00", "#000000"
LONGEST = 3.0
"""Longer bars are cut off, which an arrow says."""


def _share(row: Row, value: float | None = None) -> float:
    """Return how much of its limit a row takes, or would take with another value."""
    assert row.limit is not None
    found = row.measured if value is None else value
    if row.least:
        return row.limit / found if found > 0 else math.inf
    return found / row.limit


def _words(row: Row) -> str:
    unit = "" if row.ratio is not None else f" {row.unit}"
    shown = f"{row.ratio:.2f}" if row.ratio is not None else f"{row.value:,.3g} {row.unit}"
    aim = "" if row.aim is None else f", aim {row.aim:g}{unit}"
    limit = f"{'at least' if row.least else 'limit'} {row.limit:g}{unit}"
    return f"{shown}  ({limit}{aim})"


def _bar(axes: Axes, place: float, row: Row) -> None:
    length = min(max(_share(row), 0.0), LONGEST)
    axes.barh(place, length, 0.7, color=MET if row.met else MISSED)
    if row.aim is not None and row.limit is not None:
        axes.plot(_share(row, row.aim), place, "d", color=AIM, markersize=5, zorder=4)
    beside = max(length, 1.0) + 0.03
    arrow = "→  " if _share(row) > LONGEST else ""
    axes.text(beside, place, f"{arrow}{_words(row)}", va="center", fontsize=8)


def draw_chart(rows: Sequence[Row], path: Path) -> None:
    """Draw the rows that have a limit, in their groups, into a PNG."""
    judged = [row for row in rows if row.limit is not None]
    places: list[float] = []
    labels: list[str] = []
    with style():
        groups = [list(members) for _, members in groupby(judged, lambda row: row.group)]
        lines = len(judged) + 1.3 * len(groups)
        figure = Figure(figsize=(10.5, 1.0 + 0.21 * lines), layout="constrained")
        axes = figure.subplots()
        place = 0.0
        for members in groups:
            axes.text(
                0.01, place, members[0].group, va="center", fontsize=8.5, fontweight="bold",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}, zorder=5,
            )  # fmt: skip
            for row in members:
                place += 1.0
                _bar(axes, place, row)
                places.append(place)
                labels.append(row.name)
            place += 1.3
        plain_axes(axes, "", "", "")
        axes.set_xlabel("share of the limit taken (→ longer than drawn)", loc="left")
        axes.axvline(1.0, color="black", linewidth=1.1, zorder=3)
        axes.grid(axis="y", visible=False)
        axes.set_yticks(places, labels, fontsize=8)
        axes.tick_params(axis="y", length=0)
        longest = max(1.0, *(min(_share(row), LONGEST) for row in judged))
        axes.set_xlim(0, longest + 0.65)
        axes.set_xticks([tick / 2 for tick in range(int(2 * longest) + 1)])
        axes.set_ylim(place - 0.5, -0.9)
        figure.legend(
            handles=[
                Patch(color=MET, label="met"),
                Patch(color=MISSED, label="missed"),
                Line2D([], [], color="black", linewidth=1.1, label="limit"),
                Line2D([], [], color=AIM, marker="d", markersize=5, linestyle="", label="aim"),
            ],
            loc="outside upper left",
            ncols=4,
            frameon=False,
            title="Measured against the limits",
            title_fontproperties={"weight": "bold", "size": 12},
            alignment="left",
        )
        figure.savefig(path, dpi=150)
