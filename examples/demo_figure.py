"""The picture of the demo: regret and budget over rounds, one row a problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter
from numpy.typing import NDArray

import handrail

Floats = NDArray[np.float64]

# One look per role, in the order of the catalogue. The colour-blind can tell the colours apart
# (Okabe and Ito), and lines that often coincide are dashed on top of solid.
LOOKS: list[dict[str, Any]] = [
    {"color": "#888888", "linewidth": 1.6},
    {"color": "#D55E00", "linewidth": 2.4},
    {"color": "#000000", "linewidth": 1.6, "linestyle": ":"},
    {"color": "#E69F00", "linewidth": 2.0, "linestyle": (0, (3, 3)), "zorder": 3},
    {"color": "#56B4E9", "linewidth": 2.0, "linestyle": (0, (3, 3)), "zorder": 3},
    {"color": "#009E73", "linewidth": 1.6, "linestyle": (0, (7, 3))},
    {"color": "#0072B2", "linewidth": 2.4},
    {"color": "#CC79A7", "linewidth": 1.8, "linestyle": (0, (5, 1, 1, 1)), "zorder": 3},
]
POINTS = 500
LINEAR_WIDTH = 3.0
"""The budget's axis is linear near 0 and logarithmic beyond about this."""
TICKS = [sign * size for size in (3, 10, 30, 100, 300, 1000, 3000) for sign in (-1, 1)] + [0]


class Result(Protocol):
    """What is drawn of an algorithm: regret and budget by run and round."""

    @property
    def algorithm(self) -> handrail.Algorithm: ...
    @property
    def regret(self) -> Floats: ...
    @property
    def budget(self) -> Floats: ...


def draw_lines(axes: Axes, curves: Sequence[Floats], spread: NDArray[np.int64]) -> None:
    """Draw mean and standard error over the runs, at the given rounds."""
    for look, values in zip(LOOKS, curves, strict=True):
        seen = values[:, spread - 1]
        mean, error = seen.mean(axis=0), seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
        axes.plot(spread, mean, **look)
        axes.fill_between(
            spread, mean - error, mean + error, color=look["color"], alpha=0.18, linewidth=0
        )
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_regret(axes: Axes, results: Sequence[Result]) -> None:
    """Draw regret over rounds, both linear."""
    rounds = results[0].regret.shape[1]
    spread = np.linspace(1, rounds, POINTS).astype(np.int64)
    draw_lines(axes, [result.regret for result in results], spread)
    axes.set(ylabel="cumulative regret", xlim=(0, rounds), ylim=(0, None))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def draw_budget(axes: Axes, results: Sequence[Result]) -> None:
    """Draw budget over rounds, both stretched near 0: that is where it is decided."""
    rounds = results[0].budget.shape[1]
    spread = np.unique(np.geomspace(1, rounds, POINTS).astype(np.int64))
    draw_lines(axes, [result.budget for result in results], spread)
    axes.axhline(0.0, color="black", linewidth=1.0, zorder=1)
    lowest = min(float(result.budget.mean(axis=0).min()) for result in results)
    axes.set_xscale("log")
    axes.set_yscale("asinh", linear_width=LINEAR_WIDTH)
    axes.yaxis.set_major_locator(FixedLocator(TICKS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set(ylabel="budget (log away from 0)", xlim=(1, rounds), ylim=(1.6 * lowest - 1, None))
    axes.axhspan(axes.get_ylim()[0], 0.0, color="#D55E00", alpha=0.07, linewidth=0, zorder=0)
    axes.text(
        1.2,
        0.8 * axes.get_ylim()[0],
        "more lost than α allows (2T may, between checkpoints)",
        color="#A04000",
        fontsize=9,
    )


def draw(solved: Sequence[tuple[str, Sequence[Result]]], settings: str, path: Path) -> None:
    """Draw all problems and write the picture.

    Parameters
    ----------
    solved : sequence of (title, results)
        The problems; results in the order of the catalogue.
    settings : str
        What holds for all panels, for the title.
    path : pathlib.Path
        Where the picture goes; its folder is made.
    """
    runs = len(solved[0][1][0].regret)
    with mpl.rc_context({"font.size": 10, "axes.titlesize": 11}):
        figure = Figure(figsize=(12, 4.2 * len(solved) + 0.8), layout="constrained")
        panels = figure.subplots(len(solved), 2, squeeze=False)
        for (regret, budget), (title, results) in zip(panels, solved, strict=True):
            draw_regret(regret, results)
            draw_budget(budget, results)
            regret.set_title(title)
            budget.set_title(title)
        for axes, scale in zip(panels[-1], ("round", "round (log)"), strict=True):
            axes.set_xlabel(scale)
        names = zip(
            *([each.algorithm.name for each in results] for _, results in solved), strict=True
        )
        figure.legend(
            [Line2D([], [], **look) for look in LOOKS],
            [" / ".join(roles) for roles in names],
            loc="outside lower center",
            ncols=4,
            frameon=False,
            handlelength=3.5,
        )
        figure.suptitle(f"Mean ± standard error of {runs} runs; {settings}")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
