"""Bounds and measurements over rounds, on logarithmic scales."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from handrail.paper.drawing.looks import Line, look
from handrail.paper.drawing.sheet import new_sheet, plain_axes
from handrail.paper.measures.theory import Case, cases, informative_from
from handrail.records import Floats
from handrail.theory import closed_rounds

__all__ = ["draw_theory"]

_VACUOUS: Final = "#F3E3E0"
_TRIVIAL: Final[dict[str, Any]] = {"color": "#999999", "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
_FLOOR: Final = 0.5
"""A mean over runs below it is not drawn: the logarithm of 0 is nowhere."""


def _bound_look(algorithm: str) -> dict[str, Any]:
    wide = {"linewidth": 2.6, "alpha": 0.55} if algorithm == "CLUCB2" else {"linewidth": 1.6}
    return {"color": look(algorithm)["color"], "linestyle": (0, (5, 2)), **wide}


def _power(value: float) -> str:
    """Write a large number as the paper would."""
    if value < 1e4:
        return f"{value:,.0f}"
    lead, power = f"{value:.1e}".split("e")
    return rf"{lead}$\times 10^{{{int(power)}}}$"


def _shown(values: Floats) -> Floats:
    return np.where(values >= _FLOOR, values, np.nan)


def _panel(
    axes: Axes, shown: list[tuple[Case, Floats, Floats]], trivial: Floats, vacuous: list[bool]
) -> None:
    """Draw measurements and bounds, and shade where the first bound says nothing."""
    first = shown[0][0]
    top = 6.0 * float(max(trivial[-1], *(bound[-1] for _, _, bound in shown)))
    axes.fill_between(
        first.horizons, _FLOOR, top, where=vacuous, color=_VACUOUS, linewidth=0, zorder=0
    )
    axes.plot(first.horizons, trivial, **_TRIVIAL)
    for case, measured, bound in shown:
        axes.plot(case.horizons, _shown(bound), **_bound_look(case.algorithm))
        axes.plot(case.horizons, _shown(measured), **look(case.algorithm))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1, first.horizons[-1])
    axes.set_ylim(_FLOOR, top)


def _decades(axes: Axes) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(10.0, numticks=9))
        axis.set_minor_locator(NullLocator())


def _regret(axes: Axes, found: list[Case]) -> None:
    first = found[0]
    trivial = first.setting.gap * first.horizons.astype(float)
    vacuous = (first.bounds.regret >= trivial).tolist()
    _panel(axes, [(case, case.regret, case.bounds.regret) for case in found], trivial, vacuous)
    since = informative_from(first)
    verdict = "vacuous throughout" if since is None else f"vacuous before round {since:,}"
    plain_axes(axes, f"d = {first.setting.dim}: {verdict}", "", "")
    _decades(axes)


def _rounds(axes: Axes, found: list[Case]) -> None:
    first = found[0]
    trivial = first.horizons.astype(float)
    vacuous = (first.bounds.rounds >= trivial).tolist()
    _panel(axes, [(case, case.unsafe, case.bounds.rounds) for case in found], trivial, vacuous)
    numeric, closed = first.bounds.rounds[-1], closed_rounds(first.setting)
    words = f"bound {_power(numeric)}, closed form {_power(closed)}"
    plain_axes(axes, words, "round", "")
    _decades(axes)


def draw_theory(tables: Any, algorithms: tuple[str, ...], head: tuple[str, str, str]) -> Figure:
    """Draw regret above and rounds without the most optimistic action below, one column a d.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    algorithms : tuple of str
        CLUCB2 first.
    head : tuple of three str
        Title, settings and note of the sheet.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    found = [cases(tables, algorithm) for algorithm in algorithms]
    names = [algorithms[0], f"{algorithms[1]}, T = {found[-1][0].setting.checkpoint_every:,}"]
    lines = [Line(name, {}, look(own)) for name, own in zip(names, algorithms, strict=True)] + [
        Line(f"bound of {own}", {}, _bound_look(own)) for own in algorithms
    ]
    lines.append(Line("Δ n (above), n (below)", {}, _TRIVIAL))
    title, settings, note = head
    settings += f"; shaded: the bound of {algorithms[0]} is vacuous"
    sheet = new_sheet(title, settings, note, height=6.0, lines=lines, columns=5)
    panels = sheet.body.subplots(2, len(found[0]), sharex="col")
    for column, side_by_side in enumerate(zip(*found, strict=True)):
        _regret(panels[0, column], list(side_by_side))
        _rounds(panels[1, column], list(side_by_side))
    panels[0, 0].set_ylabel("cumulative regret (reward units)")
    panels[1, 0].set_ylabel("rounds without the most optimistic action")
    return sheet.figure
