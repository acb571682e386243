"""Policies alone and guarded: budgets in the early rounds above, regret below."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from handrail.paper.drawing.budget import shade, zoom
from handrail.paper.drawing.curves import NORMAL, View, draw_lines, load
from handrail.paper.drawing.sheet import new_sheet, plain_axes
from handrail.paper.measures.guard import Pair, below_zero, cost
from handrail.paper.numbers import Curve, per_run
from handrail.paper.words import percent

__all__ = ["draw_guard"]


def _share(value: float) -> str:
    """Write a share of runs: whole percents, but never a 0 or 100 % that is none."""
    return f"{100 * value:.0f} %" if value in (0.0, 1.0) else percent(value)


def draw_guard(tables: Any, pairs: list[Pair], head: tuple[str, str, str]) -> Figure:
    """Draw one column a policy.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    pairs : list of Pair
        The policies.
    head : tuple of three str
        Title, settings and note of the sheet.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    title, settings, note = head
    legend = [pairs[0].alone, pairs[0].guarded]
    settings += "; shaded: budget below 0"
    sheet = new_sheet(title, settings, note, height=6.2, lines=legend, columns=2)
    panels = sheet.body.subplots(2, len(pairs))
    view = View("", Curve.average)
    for column, pair in enumerate(pairs):
        lines = [pair.alone, pair.guarded]
        above, below = panels[:, column]
        zoom(above, load(tables.curves, "budget", lines), view)
        alone, kept = (_share(below_zero(tables.runs, line).measured) for line in lines)
        plain_axes(above, f"{pair.name}\nbelow 0 in {alone} of runs, guarded {kept}", "round", "")
        shade(above)
        loaded = load(tables.curves, "regret", lines)
        draw_lines(below, loaded, view)
        below.set_xlim(0, loaded[0][1].rounds[-1])
        added = cost(tables.runs, pair)
        change = f"{100 * added['share']:+.0f} ± {100 * NORMAL * added['share_se']:.0f} %"
        held = float(per_run(tables.runs, "e3", **pair.guarded.wanted).mean())
        words = f"guarded, its regret changes by {change.replace('-', '−')}"
        plain_axes(below, f"{words}\nbaseline in {percent(held)} of its rounds", "round", "")
    highest = max(below.get_ylim()[1] for below in panels[1])
    for below in panels[1]:
        below.set_ylim(0, highest)
    panels[0, 0].set_ylabel("budget (reward units), early rounds")
    panels[1, 0].set_ylabel("cumulative regret (reward units)")
    return sheet.figure
