"""One look per algorithm, the same in every figure; the linear ones look like their relatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["SHADES", "Line", "algorithm_line", "checkpoint_line", "look", "role"]

# The colour-blind can tell these apart (Okabe and Ito); no two have both colour and dashes in
# common, so they survive a black-and-white printer. Of lines that often coincide the upper one
# is dashed or thinner.
_LOOKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "free": {"color": "#7F7F7F", "linewidth": 1.7},
    "old": {"color": "#D55E00", "linewidth": 3.0},
    "Or": {"color": "#000000", "linewidth": 1.6, "linestyle": (0, (1, 1.6)), "zorder": 4},
    "L": {"color": "#E69F00", "linewidth": 1.8, "linestyle": (0, (3, 2.5)), "zorder": 3},
    "M": {"color": "#56B4E9", "linewidth": 1.9, "linestyle": (0, (6, 1.5, 1, 1.5)), "zorder": 3},
    "S": {"color": "#009E73", "linewidth": 1.7, "linestyle": (0, (7, 2.5)), "zorder": 3},
    "2": {"color": "#0072B2", "linewidth": 1.8, "zorder": 2.5},
    "2T": {"color": "#CC79A7", "linewidth": 1.8, "zorder": 3},
}
_DASHES: Final = ("-", (0, (5, 1.8)), (0, (1.2, 1.4)))
"""Of a checkpoint algorithm at several gaps, shortest first."""

SHADES: Final = ("#E0A8C8", "#C06A9A", "#8B3A6B", "#4A1238")
"""Of a checkpoint algorithm against several baselines, strongest first."""


@dataclass(frozen=True)
class Line:
    """One contender in a picture: its rows in the tables, its name and its look."""

    name: str
    wanted: Mapping[str, Any]
    look: Mapping[str, Any] = field(default_factory=dict)

    @property
    def color(self) -> str:
        """Its colour."""
        return str(self.look["color"])


def role(algorithm: str) -> str:
    """Return what an algorithm and its relative of the other family have in common.

    Parameters
    ----------
    algorithm : str
        A name of the catalogue.

    Returns
    -------
    str
        "free", "old", or what the name says behind CUCB or CLUCB.

    Examples
    --------
    >>> [role(name) for name in ("UCB", "LinUCB", "CUCB", "CLUCB-M", "CLUCB2T")]
    ['free', 'free', 'old', 'M', '2T']
    """
    if algorithm in ("UCB", "LinUCB"):
        return "free"
    rest = algorithm.removeprefix("CLUCB").removeprefix("CUCB").removeprefix("-")
    return rest or "old"


def look(algorithm: str) -> dict[str, Any]:
    """Return the look of an algorithm's line.

    Parameters
    ----------
    algorithm : str
        A name of the catalogue.

    Returns
    -------
    dict
        Arguments of a line.
    """
    return dict(_LOOKS[role(algorithm)])


def algorithm_line(algorithm: str, **labels: object) -> Line:
    """Return the line of an algorithm that appears once, or once for the given labels.

    Parameters
    ----------
    algorithm : str
        A name of the catalogue.
    **labels
        Label values that tell its rows from others.

    Returns
    -------
    Line
        The line.
    """
    return Line(algorithm, {"algorithm": algorithm, **labels}, look(algorithm))


def checkpoint_line(algorithm: str, gap: int, index: int, rounds: int) -> Line:
    """Return the line of a checkpoint algorithm at one of several gaps.

    Parameters
    ----------
    algorithm : str
        A name of the catalogue.
    gap : int
        T, the rounds between checkpoints.
    index : int
        Which of the gaps it is, from 0.
    rounds : int
        The horizon: the name gives T as a share of it.

    Returns
    -------
    Line
        The line; gaps differ by their dashes.
    """
    dashes = {"linestyle": _DASHES[index % len(_DASHES)]}
    return Line(
        f"{algorithm}, T = {100 * gap / rounds:.3g} % of n",
        {"algorithm": algorithm, "checkpoint_every": gap},
        {**look(algorithm), **dashes},
    )
