"""`ablation`: from CUCB and CLUCB to HANDRAIL and LinHANDRAIL, one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from handrail.paper.experiments import bernoulli, linear, ratings
from handrail.paper.measures.ablation import ablation_summary, ablation_tables
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.paper.steps import LADDERS, Ladder, ladder_contenders
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN"]

_BUILD: Final[Mapping[str, Callable[..., Experiment]]] = {
    "mab": bernoulli,
    "linear": linear,
    "jester": ratings,
}


_POINTS: Final = 50
"""Of the curves only the last round is drawn."""
_PRICE: Final = (
    "On `jester` α is 0.01: the first play of an arm that nobody knows anything about costs about "
    "100 rounds of the baseline, whatever the width. An oracle knows the arm's mean and does not "
    "pay."
)
_OTHER: Final = (
    "In a round with the baseline LinHANDRAIL teaches its model the mean it was told. The last "
    "row of the linear ones is another choice, for comparison: to learn from the round's reward."
)


def _experiment(ladder: Ladder, scale: Scale, seed: int) -> Experiment:
    build = _BUILD[ladder.name]
    players = ladder_contenders(ladder)
    planned = build(players, scale.size(ladder.size), seed, _POINTS)
    return replace(planned, labels={"environment": ladder.name})


def _experiments(scale: Scale, seed: int) -> list[Experiment]:
    return [_experiment(ladder, scale, seed) for ladder in LADDERS]


def _draw(tables: Tables, scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.ablation import draw_ablation

    names = [ladder.name for ladder in LADDERS]
    return draw_ablation(ablation_summary(tables.runs, scale), names, head)


def _summary(tables: Tables, scale: Scale) -> dict[str, Any]:
    return ablation_summary(tables.runs, scale)


PLAN = FigurePlan(
    name="ablation",
    title="From CUCB and CLUCB to HANDRAIL and LinHANDRAIL, one part at a time",
    about=(
        "The recommended algorithms are CUCB2 and CLUCB2 with sharper bounds that hold at the same "
        "probability. Each row adds one part to the row above: δ shared honestly among the events "
        "(which costs), a normal-mixture boundary for the sum of rewards, a sharper width for the "
        "arms or the ellipsoid, the larger of two bounds on the past. The oracle of a row has the "
        "same widths and checks the promise on the true means: what is between them is the price "
        "of not knowing these."
    ),
    size="ablation_mab",
    settings=(
        "α = 0.05 (jester: 0.01), δ = 0.01, past clipped at 0; "
        "first two rows: width wu or paper, λ = 0.5, paper accounting"
    ),
    experiments=_experiments,
    draw=_draw,
    summary=_summary,
    notes=(
        "Not in the paper. Problems and rewards are those of figures `mab`, `linear` and `jester`.",
        _PRICE,
        _OTHER,
    ),
    data="jester",
    partly=True,
    tables=ablation_tables,
)
