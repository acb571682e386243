"""`oracle-mab`: how much of CUCB's regret is the price of not knowing the means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from handrail.paper.drawing.looks import algorithm_line
from handrail.paper.experiments import bernoulli
from handrail.paper.measures.summary import line_summary
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.paper.settings import MEANS_FAMILY, MEANS_SETTINGS, contenders
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN"]

_NAMES: Final = (MEANS_FAMILY.free, MEANS_FAMILY.old, MEANS_FAMILY.oracle)
_LINES: Final = [algorithm_line(name) for name in _NAMES]


def _experiments(scale: Scale, seed: int) -> list[Experiment]:
    return [bernoulli(contenders(_NAMES), scale.mab, seed, scale.points)]


def _draw(tables: Tables, _scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.average import draw_average

    return draw_average(
        tables,
        _LINES,
        ["regret", "baseline"],
        head,
    )


def _summary(tables: Tables, _scale: Scale) -> dict[str, Any]:
    return line_summary(tables.runs, _LINES)


PLAN = FigurePlan(
    name="oracle-mab",
    title="The price of caution: UCB, CUCB and its oracle",
    about=(
        "The paper's first figure: an oracle that checks the promise on the true means has almost "
        "the same regret as UCB, which makes no promise, while CUCB's is much higher. So it is "
        "not the promise that costs regret but loose bounds, and their distance to the oracle is "
        "what better ones can hope to win."
    ),
    size="mab",
    settings=f"K = 10 arms, baseline of rank 4; {MEANS_SETTINGS}",
    experiments=_experiments,
    draw=_draw,
    summary=_summary,
    notes=("The runs are those of figure `mab`.",),
)
