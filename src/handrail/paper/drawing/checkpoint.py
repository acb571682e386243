"""Regret above the unconstrained algorithm's against the rounds between checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from handrail.paper.drawing.curves import NORMAL
from handrail.paper.drawing.looks import SHADES, Line
from handrail.paper.drawing.sheet import new_sheet, plain_axes
from handrail.paper.measures.checkpoints import differences, gaps_of

__all__ = ["draw_checkpoints"]

_MARKERS: Final = ("o", "s", "^", "D")


def draw_checkpoints(
    tables: Any,
    algorithm: str,
    free: str,
    ranks: Sequence[int],
    title: str,
    settings: str,
    note: str,
) -> Figure:
    """Draw one line a baseline rank.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    algorithm, free : str
        The checkpoint algorithm and the unconstrained one.
    ranks : sequence of int
        The baselines' ranks, strongest first.
    title, settings, note : str
        The head of the sheet.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    lines = [
        Line(
            f"baseline of rank {rank}",
            {},
            {
                "color": SHADES[index % len(SHADES)],
                "marker": _MARKERS[index % len(_MARKERS)],
                "markersize": 5,
                "linewidth": 1.6,
            },
        )
        for index, rank in enumerate(ranks)
    ]
    sheet = new_sheet(title, settings, note, height=3.6, width=8.5, lines=lines, columns=4)
    axes = sheet.body.subplots()
    gaps = gaps_of(tables.runs, algorithm)
    for place, (line, rank) in enumerate(zip(lines, ranks, strict=True)):
        models = differences(tables.runs, algorithm, free, rank).mean(axis=2)
        count = models.shape[1]
        error = models.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else 0.0
        axes.errorbar(
            gaps * 1.03 ** (place - (len(ranks) - 1) / 2),  # side by side, so that bars stay apart
            models.mean(axis=1),
            yerr=NORMAL * error,
            capsize=2.5,
            elinewidth=0.9,
            **line.look,
        )
    axes.axhline(0.0, color="black", linewidth=0.9, zorder=1.5)
    axes.set_xscale("log")
    plain_axes(
        axes,
        f"{algorithm} above {free} at the last round, mean over models, bars: 1.96 s.e.",
        "rounds between checkpoints, T",
        f"regret of {algorithm} − regret of {free}",
    )
    return sheet.figure
