"""`budget-jester`: how far each algorithm is above what it promised, on real ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handrail.paper.drawing.looks import Line
from handrail.paper.figures.jester import CHECKPOINTS
from handrail.paper.figures.jester import PLAN as RUNS
from handrail.paper.kinds import average_lines
from handrail.paper.measures.summary import budget_summary
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.paper.settings import LINEAR_FAMILY
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN"]


def _lines(scale: Scale) -> list[Line]:
    return average_lines(LINEAR_FAMILY, CHECKPOINTS, scale.jester.rounds)


def _draw(tables: Tables, scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.budget import draw_budget
    from handrail.paper.drawing.curves import View
    from handrail.paper.numbers import Curve

    shown = [View(f"average of {scale.jester.problems} users", Curve.average)]
    return draw_budget(tables, _lines(scale), shown, *head, columns=5)


def _summary(tables: Tables, scale: Scale) -> dict[str, Any]:
    return budget_summary(tables.curves, tables.runs, _lines(scale))


PLAN = FigurePlan(
    name="budget-jester",
    title="Budget on Jester",
    about=(
        "On average over users LinUCB and CLUCB2T spend more than α allows in the beginning; "
        "CLUCB2T explores like LinUCB until the next checkpoint makes it return to the baseline. "
        "Later all budgets grow at the same rate, in the order of the algorithms' regret."
    ),
    size=RUNS.size,
    settings=RUNS.settings,
    experiments=RUNS.experiments,
    draw=_draw,
    summary=_summary,
    notes=("The runs are those of figure `jester`.",),
    data="jester",
)
