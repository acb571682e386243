"""A sheet: title, settings and scale on top, panels in the middle, the legend below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import Bbox

from handrail.files import write
from handrail.paper.drawing.looks import Line

__all__ = ["Sheet", "new_sheet", "plain_axes", "save", "short_number", "style"]

_STYLE: Final[Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "legend.fontsize": 9.0,
    "svg.hashsalt": "handrail",
    "svg.fonttype": "path",
    "figure.constrained_layout.w_pad": 0.06,
    "figure.constrained_layout.h_pad": 0.05,
}
_DPI: Final = 180
_HEAD: Final = 0.78
_LEGEND_ROW: Final = 0.24
_QUICK: Final = "#A04000"


class Sheet(NamedTuple):
    """A figure with its three parts."""

    figure: Figure
    body: SubFigure
    """Where the panels go."""
    foot: SubFigure
    """Where the legend goes."""


@contextmanager
def style() -> Iterator[None]:
    """Draw, and write, with the project's fonts and sizes and nobody else's settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def new_sheet(
    title: str,
    settings: str,
    note: str,
    *,
    height: float,
    width: float = 10.5,
    lines: Sequence[Line] = (),
    columns: int = 7,
) -> Sheet:
    """Return a sheet with its head written and its legend drawn.

    Parameters
    ----------
    title : str
        What is shown.
    settings : str
        The algorithms' parameters.
    note : str
        The scale; stands out unless it is the paper's.
    height : float
        Inches for the panels.
    width : float, default=10.5
        Inches across.
    lines : sequence of Line
        What the legend explains; none: no legend.
    columns : int, default=7
        Of the legend.

    Returns
    -------
    Sheet
        The sheet.
    """
    legend = 0.16 + _LEGEND_ROW * -(-len(lines) // columns) if lines else 0.05
    total = _HEAD + height + legend
    figure = Figure(figsize=(width, total), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=[_HEAD, height, legend])
    head, body, foot = parts
    left = 0.1 / width
    head.text(left, 0.90, title, fontsize=12, fontweight="bold", va="top")
    head.text(left, 0.50, settings, fontsize=8.5, va="top", color="#333333")
    quick = not note.startswith("paper scale")
    head.text(
        left,
        0.22,
        note,
        fontsize=8.5,
        va="top",
        color=_QUICK if quick else "#333333",
        fontweight="bold" if quick else "normal",
    )
    if lines:
        foot.legend(
            [Line2D([], [], **line.look) for line in lines],
            [line.name for line in lines],
            loc="center",
            ncols=columns,
            frameon=False,
            handlelength=3.2,
            columnspacing=1.6,
        )
    return Sheet(figure, body, foot)


def short_number(value: float, _position: int = 0) -> str:
    """Write a tick's number: thousands as k, millions as M.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> [short_number(value) for value in (0, 0.5, 750, -20_000, 1_500_000)]
    ['0', '0.5', '750', '−20k', '1.5M']
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}".replace("-", "−")
    return f"{value:g}".replace("-", "−")


def plain_axes(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    """Give a panel its words, a light grid and short numbers.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The panel.
    title, xlabel, ylabel : str
        Its words; an empty one is left out.
    """
    axes.set_title(title, loc="left")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(FuncFormatter(short_number))
    axes.yaxis.set_major_formatter(FuncFormatter(short_number))


def _settle(figure: Figure) -> None:
    """Lay the figure out for good.

    The layout's solver is off by a last bit now and then, and an SVG shows it: places are rounded.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    parts: list[Any] = list(figure.subfigs)
    while parts:
        part = parts.pop()
        parts += part.subfigs
        part.bbox_relative.p0 = part.bbox_relative.p0.round(6)
        part.bbox_relative.p1 = part.bbox_relative.p1.round(6)
    for axes in figure.get_axes():
        axes.set_position(Bbox(axes.get_position().get_points().round(6)))


def save(figure: Figure, folder: Path, name: str, *, pdf: bool = False) -> list[Path]:
    """Write a figure; the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    folder : pathlib.Path
        Where the files go; it is made.
    name : str
        Of the files, without ending.
    pdf : bool, default=False
        Write a PDF too.

    Returns
    -------
    list of pathlib.Path
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _settle(figure)
    dates: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}}
    if pdf:
        dates["pdf"] = {"CreationDate": None}
    paths = []
    for kind, metadata in dates.items():
        picture = BytesIO()
        figure.savefig(picture, format=kind, dpi=_DPI, metadata=metadata)
        paths.append(folder / f"{name}.{kind}")
        write(paths[-1], picture.getvalue())
    return paths
