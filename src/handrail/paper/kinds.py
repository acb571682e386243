"""Kinds of figures that there are several of: regret, budget, checkpoints, averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from handrail.paper.claims import Evidence
from handrail.paper.drawing.looks import Line, algorithm_line, checkpoint_line
from handrail.paper.experiments import share_gaps
from handrail.paper.measures.checkpoints import trend
from handrail.paper.measures.safety import safe
from handrail.paper.measures.summary import (
    budget_summary,
    checkpoint_summary,
    line_summary,
    regret_summary,
)
from handrail.paper.models import choose
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale, checkpoint_gaps
from handrail.paper.settings import Family, checkpointed, contenders
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "average_figure",
    "average_lines",
    "budget_figure",
    "checkpoint_figure",
    "regret_figure",
]

_POINTS: Final = 50
"""Of a checkpoint figure only the last round is drawn."""


def regret_figure(
    name: str,
    *,
    family: Family,
    build: Callable[..., Experiment],
    evidence: Callable[[Tables, Scale], list[Evidence]],
    **texts: Any,
) -> FigurePlan:
    """Return a figure of the regret in the worst, best and average model.

    Parameters
    ----------
    name : str
        Its name, and that of its size.
    family : Family
        The algorithms.
    build : callable
        Returns the experiment from contenders, size, seed and points.
    evidence : callable
        What it says about the claims.
    **texts
        Title, about, settings and notes.

    Returns
    -------
    FigurePlan
        The figure.
    """

    def experiments(scale: Scale, seed: int) -> list[Experiment]:
        return [build(contenders(family), scale.size(name), seed, scale.points)]

    def draw(tables: Tables, _scale: Scale, head: Head) -> Figure:
        from handrail.paper.drawing.regret import draw_regret

        return draw_regret(tables, family, *head)

    def summary(tables: Tables, _scale: Scale) -> dict[str, Any]:
        return regret_summary(tables.runs, family)

    return FigurePlan(
        name=name,
        size=name,
        experiments=experiments,
        draw=draw,
        summary=summary,
        evidence=evidence,
        **texts,
    )


def budget_figure(runs: FigurePlan, *, family: Family, title: str, about: str) -> FigurePlan:
    """Return a figure of the budget in the worst, best and average model of another's runs.

    Parameters
    ----------
    runs : FigurePlan
        The figure whose runs are drawn.
    family : Family
        The algorithms.
    title, about : str
        Its texts.

    Returns
    -------
    FigurePlan
        The figure.
    """
    lines = [algorithm_line(algorithm) for algorithm in family]

    def draw(tables: Tables, _scale: Scale, head: Head) -> Figure:
        from handrail.paper.drawing.budget import draw_budget
        from handrail.paper.drawing.curves import views

        return draw_budget(tables, lines, views(choose(tables.runs, family.new, family.old)), *head)

    def summary(tables: Tables, _scale: Scale) -> dict[str, Any]:
        return budget_summary(tables.curves, tables.runs, lines)

    return FigurePlan(
        name=f"budget-{runs.name}",
        title=title,
        about=about,
        size=runs.size,
        settings=runs.settings,
        experiments=runs.experiments,
        draw=draw,
        summary=summary,
        notes=(f"The runs are those of figure `{runs.name}`.",),
    )


def checkpoint_figure(
    name: str,
    *,
    algorithm: str,
    free: str,
    ranks: Callable[[Scale], tuple[int, ...]],
    build: Callable[..., Experiment],
    **texts: Any,
) -> FigurePlan:
    """Return a figure of regret above the unconstrained algorithm's, against T.

    Parameters
    ----------
    name : str
        Its name.
    algorithm, free : str
        The checkpoint algorithm and the unconstrained one.
    ranks : callable
        Returns the baselines' ranks at a scale.
    build : callable
        Returns an experiment from contenders, size, seed, points, rank and labels.
    **texts
        Title, about, settings and notes.

    Returns
    -------
    FigurePlan
        The figure.
    """
    size = name.replace("-", "_")

    def experiments(scale: Scale, seed: int) -> list[Experiment]:
        own = scale.size(size)
        gaps = checkpoint_gaps(own.rounds, scale.gaps)
        players = (*contenders([free]), *checkpointed(algorithm, gaps))
        return [
            build(players, own, seed, _POINTS, rank=rank, labels={"baseline_rank": rank})
            for rank in ranks(scale)
        ]

    def draw(tables: Tables, scale: Scale, head: Head) -> Figure:
        from handrail.paper.drawing.checkpoint import draw_checkpoints

        return draw_checkpoints(tables, algorithm, free, ranks(scale), *head)

    def summary(tables: Tables, scale: Scale) -> dict[str, Any]:
        return checkpoint_summary(tables.runs, algorithm, free, ranks(scale))

    def evidence(tables: Tables, scale: Scale) -> list[Evidence]:
        return [trend(name, tables.runs, algorithm, free, ranks(scale))]

    return FigurePlan(
        name=name,
        size=size,
        experiments=experiments,
        draw=draw,
        summary=summary,
        evidence=evidence,
        **texts,
    )


def average_lines(names: Sequence[str], checkpoints: str, rounds: int) -> list[Line]:
    """Return algorithms, and one of them at 5 %, 10 % and 12 % of the horizon, as lines.

    Parameters
    ----------
    names : sequence of str
        The algorithms.
    checkpoints : str
        The checkpoint algorithm.
    rounds : int
        The horizon.

    Returns
    -------
    list of Line
        What is drawn.
    """
    return [algorithm_line(name) for name in names] + [
        checkpoint_line(checkpoints, gap, index, rounds)
        for index, gap in enumerate(share_gaps(rounds))
    ]


def average_figure(
    name: str,
    *,
    names: Sequence[str],
    checkpoints: str,
    build: Callable[..., Experiment],
    panels: Sequence[str],
    of: str = "models",
    columns: int,
    more: Callable[[Tables, Scale], list[Evidence]] | None = None,
    **texts: Any,
) -> FigurePlan:
    """Return a figure of regret and budget averaged over problems.

    Parameters
    ----------
    name : str
        Its name, and that of its size.
    names : sequence of str
        The algorithms, the one that makes no promise first.
    checkpoints : str
        The checkpoint algorithm, drawn at 5 %, 10 % and 12 % of the horizon.
    build : callable
        Returns an experiment from contenders, size, seed and points.
    panels : sequence of str
        What is drawn.
    of : str
        What a problem is called.
    columns : int
        Of the legend.
    more : callable, optional
        Returns what it says about claims besides `safe`.
    **texts
        Title, about, settings, notes and data.

    Returns
    -------
    FigurePlan
        The figure.
    """
    free, *promising = names

    def lines(scale: Scale) -> list[Line]:
        return average_lines(names, checkpoints, scale.size(name).rounds)

    def experiments(scale: Scale, seed: int) -> list[Experiment]:
        own = scale.size(name)
        players = (*contenders(names), *checkpointed(checkpoints, share_gaps(own.rounds)))
        return [build(players, own, seed, scale.points)]

    def draw(tables: Tables, scale: Scale, head: Head) -> Figure:
        from handrail.paper.drawing.average import draw_average

        return draw_average(tables, lines(scale), panels, head, of=of, columns=columns)

    def summary(tables: Tables, scale: Scale) -> dict[str, Any]:
        return {
            "regret": line_summary(tables.runs, lines(scale)),
            "budget": budget_summary(tables.curves, tables.runs, lines(scale)),
        }

    def evidence(tables: Tables, scale: Scale) -> list[Evidence]:
        kept = safe(
            name,
            tables.curves,
            tables.runs,
            free=free,
            every_round=promising,
            checkpoints=checkpoints,
        )
        return [*(more(tables, scale) if more is not None else []), kept]

    return FigurePlan(
        name=name,
        size=name,
        experiments=experiments,
        draw=draw,
        summary=summary,
        evidence=evidence,
        **texts,
    )
