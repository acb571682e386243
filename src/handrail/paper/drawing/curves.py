"""Curves over rounds with their bands, for one model or the average of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from handrail.paper.drawing.looks import Line
from handrail.paper.models import Choice
from handrail.paper.numbers import Curve, curve
from handrail.records import Floats

__all__ = ["NORMAL", "View", "draw_lines", "load", "views"]

NORMAL: Final = 1.96
"""Standard errors to either side of a band: 95 % where there are many runs."""

_FEW: Final = 7
"""More bands than this are drawn lighter, or the lines drown."""

Loaded: TypeAlias = Sequence[tuple[Line, Curve]]


class View(NamedTuple):
    """Which model a panel shows."""

    title: str
    of: Callable[[Curve], tuple[Floats, Floats]]


def _model(row: int) -> Callable[[Curve], tuple[Floats, Floats]]:
    return lambda each: each.model(row)


def views(choice: Choice) -> list[View]:
    """Return the paper's three views: worst, best and average model.

    Parameters
    ----------
    choice : Choice
        The models.

    Returns
    -------
    list of View
        Bands are over runs for one model, over models for the average.
    """
    count = choice.numbers.size
    return [
        View(f"worst of {count} models (no. {choice.numbers[choice.worst]})", _model(choice.worst)),
        View(f"best of {count} models (no. {choice.numbers[choice.best]})", _model(choice.best)),
        View(f"average of {count} models", Curve.average),
    ]


def load(curves: Any, quantity: str, lines: Sequence[Line]) -> Loaded:
    """Return the curves behind lines.

    Parameters
    ----------
    curves : pyarrow.Table
        The figure's curves.
    quantity : str
        "regret", "budget" or a share.
    lines : sequence of Line
        The lines.

    Returns
    -------
    sequence of (Line, Curve)
        In the same order.
    """
    return [(line, curve(curves, quantity, **line.wanted)) for line in lines]


def draw_lines(axes: Axes, loaded: Loaded, view: View, *, most: float = np.inf) -> None:
    """Draw curves with bands of 1.96 standard errors.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The panel.
    loaded : sequence of (Line, Curve)
        What is drawn.
    view : View
        Of which model.
    most : float, optional
        The last round shown.
    """
    opacity = 0.16 if len(loaded) <= _FEW else 0.07
    for line, values in loaded:
        mean, error = view.of(values)
        shown = values.rounds <= most
        rounds, mean, error = values.rounds[shown], mean[shown], error[shown]
        axes.plot(rounds, mean, **line.look)
        axes.fill_between(
            rounds,
            mean - NORMAL * error,
            mean + NORMAL * error,
            color=line.color,
            alpha=opacity,
            linewidth=0,
        )
