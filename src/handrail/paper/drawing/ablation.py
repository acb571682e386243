"""Regret step by step on a logarithmic scale, each beside its own oracle's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from handrail.paper.drawing.looks import Line, look
from handrail.paper.drawing.sheet import new_sheet, plain_axes, short_number
from handrail.paper.words import number

__all__ = ["draw_ablation"]

_STEP: Final = "#6A7B87"
_DEFAULT: Final = "#00664A"
_OTHER: Final = "#B8A200"
_DOT: Final[dict[str, Any]] = {"marker": "o", "linestyle": "none", "markersize": 7.5, "zorder": 4}
_ORACLE: Final[dict[str, Any]] = {
    "marker": "D",
    "linestyle": "none",
    "markersize": 5.0,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "color": "black",
    "zorder": 3,
}


def _color(place: int, default: int) -> str:
    if place < 2:
        return str(look(("CUCB", "CUCB2")[place])["color"])
    if place == default:
        return _DEFAULT
    return _OTHER if place > default else _STEP


def _panel(axes: Axes, name: str, found: Mapping[str, Any]) -> None:
    rows = found["steps"]
    oracles = {row["step"]: row["regret"]["mean"] for row in found["oracles"]}
    names = [row["step"] for row in rows]
    default = names.index(found["default"])
    lowest = min([*oracles.values(), *(row["regret"]["mean"] for row in rows)])
    highest = max(row["regret"]["mean"] for row in rows)
    for place, row in enumerate(rows):
        mean, error = row["regret"]["mean"], 1.96 * row["regret"]["se"]
        color = _color(place, default)
        if "oracle" in row:
            own = oracles[row["oracle"]]
            axes.plot([own, mean], [place, place], color=color, linewidth=1.4, alpha=0.55)
            axes.plot([own], [place], **_ORACLE)
        axes.plot([mean], [place], color=color, **_DOT)
        axes.errorbar(
            [mean], [place], xerr=[[min(error, 0.9 * mean)], [error]], fmt="none", color=color,
            elinewidth=1.1, capsize=2.5,
        )  # fmt: skip
        _label(axes, place, row, bold=place == default)
    size = f"{found['problems']} {found['of']} × {found['runs']} runs, n = {found['rounds']:,}"
    plain_axes(axes, f"{name}: {size}", "", "")
    axes.set_xscale("log")
    axes.set_xlim(0.75 * lowest, 1.35 * highest)
    axes.set_ylim(len(rows) - 0.5, -0.6)
    labels = [f"{_sign(place, default)}{each}" for place, each in enumerate(names)]
    axes.set_yticks(range(len(rows)), labels)
    axes.get_yticklabels()[default].set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_locator(LogLocator(10.0, subs=(1.0, 2.0, 5.0), numticks=9))
    axes.xaxis.set_major_formatter(FuncFormatter(short_number))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _sign(place: int, default: int) -> str:
    """Say what a row does to the one above; the first two are the literature's algorithms."""
    if place < 2:
        return ""
    return "+ " if place <= default else "or: "


def _label(axes: Axes, place: int, row: Mapping[str, Any], *, bold: bool) -> None:
    """Write a step's regret, and what it saves, to the right of the panel."""
    saved = row["saved"]["measured"]
    words = number(row["regret"]["mean"])
    if place > 0:
        words += f"  −{100 * saved:.0f} %" if saved >= 0 else f"  +{-100 * saved:.0f} %"
    axes.text(
        1.02,
        place,
        words,
        transform=axes.get_yaxis_transform(),
        va="center",
        fontsize=8.5,
        fontweight="bold" if bold else "normal",
    )


def _absent(axes: Axes, name: str) -> None:
    axes.set_title(f"{name}: not run", loc="left")
    axes.text(
        0.5, 0.5, "the ratings are missing:\nhandrail data jester", ha="center", va="center",
        transform=axes.transAxes, color="#666666",
    )  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(False)


def draw_ablation(
    summary: Mapping[str, Any], names: Sequence[str], head: tuple[str, str, str]
) -> Figure:
    """Draw one panel an environment, one row a step.

    Parameters
    ----------
    summary : mapping
        What `handrail.paper.measures.ablation.ablation_summary` returned.
    names : sequence of str
        The environments; of one that was not run the panel says so.
    head : tuple of three str
        Title, settings and note of the sheet.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    lines = [
        Line("the old algorithm", {}, {**_DOT, "color": _color(0, 9)}),
        Line("the paper's", {}, {**_DOT, "color": _color(1, 9)}),
        Line("one part more", {}, {**_DOT, "color": _STEP}),
        Line("recommended", {}, {**_DOT, "color": _DEFAULT}),
        Line("another choice", {}, {**_DOT, "color": _OTHER}),
        Line("own oracle: same widths, true means", {}, _ORACLE),
    ]
    found = [summary["environments"].get(name) for name in names]
    rows = [len(each["steps"]) + 2.2 if each else 4.0 for each in found]
    title, settings, note = head
    note += "; the others' sizes are above their panels"
    sheet = new_sheet(
        title, settings, note, height=0.27 * sum(rows), width=9.0, lines=lines, columns=3
    )
    panels = sheet.body.subplots(len(names), 1, height_ratios=rows)
    for axes, name, each in zip(panels, names, found, strict=True):
        if each is None:
            _absent(axes, name)
        else:
            _panel(axes, name, each)
    panels[-1].set_xlabel("regret at the last round, average ± 1.96 standard errors (log scale)")
    return sheet.figure
