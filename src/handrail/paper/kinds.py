"""Kinds of figures that the paper has of both families: regret, budget, checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from handrail.paper.claims import Evidence
from handrail.paper.drawing.looks import algorithm_line
from handrail.paper.measures.checkpoints import trend
from handrail.paper.measures.summary import budget_summary, checkpoint_summary, regret_summary
from handrail.paper.models import choose
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale, checkpoint_gaps
from handrail.paper.settings import Family, checkpointed, contenders
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["budget_figure", "checkpoint_figure", "regret_figure"]

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
