"""`widths`: how the claims of `mab` move with the arms' confidence width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from handrail.paper.claims import Evidence
from handrail.paper.experiments import bernoulli
from handrail.paper.measures.reductions import width_reductions
from handrail.paper.measures.summary import regret_summary
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.paper.settings import MEANS_FAMILY, MEANS_SETTINGS, contenders
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN"]

_WIDTHS: Final = ("wu", "mixture", "ucb1")


def _experiments(scale: Scale, seed: int) -> list[Experiment]:
    players = contenders(MEANS_FAMILY)
    return [
        bernoulli(players, scale.widths, seed, scale.points, width=width, labels={"width": width})
        for width in _WIDTHS
    ]


def _draw(tables: Tables, _scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.widths import draw_widths

    return draw_widths(tables, MEANS_FAMILY, _WIDTHS, head)


def _summary(tables: Tables, _scale: Scale) -> dict[str, Any]:
    return {width: regret_summary(tables.runs, MEANS_FAMILY, width=width) for width in _WIDTHS}


def _evidence(tables: Tables, scale: Scale) -> list[Evidence]:
    return [width_reductions(tables.runs, scale, _WIDTHS)]


PLAN = FigurePlan(
    name="widths",
    title="Regret on Bernoulli arms under three confidence widths",
    about=(
        "The paper does not print the confidence width of its Bernoulli experiment, and the "
        "reductions depend on it. The three candidates on the same problems and rewards: `wu` "
        "(the one chosen for the other figures), a normal-mixture boundary, and UCB1's, which has "
        "no confidence level and makes no promise."
    ),
    size="widths",
    settings=(
        "K = 10 arms, baseline of rank 4; "
        + MEANS_SETTINGS.replace("width wu", "widths wu, mixture, ucb1")
    ),
    experiments=_experiments,
    draw=_draw,
    summary=_summary,
    evidence=_evidence,
    notes=("Not in the paper.",),
)
