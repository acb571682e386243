"""`contextual`: regret and budget where actions and baseline change every round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from handrail.paper.claims import Evidence
from handrail.paper.drawing.looks import Line, algorithm_line, checkpoint_line
from handrail.paper.experiments import contextual, share_gaps
from handrail.paper.measures.safety import safe
from handrail.paper.measures.summary import budget_summary, line_summary
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.paper.settings import LINEAR_FAMILY, LINEAR_SETTINGS, checkpointed, contenders
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN"]

_NAMES: Final = (LINEAR_FAMILY.free, LINEAR_FAMILY.old, LINEAR_FAMILY.new)
_CHECKPOINTS: Final = "CLUCB2T"


def _experiments(scale: Scale, seed: int) -> list[Experiment]:
    gaps = share_gaps(scale.contextual.rounds)
    players = (*contenders(_NAMES), *checkpointed(_CHECKPOINTS, gaps))
    return [contextual(players, scale.contextual, seed, scale.points)]


def _lines(scale: Scale) -> list[Line]:
    rounds = scale.contextual.rounds
    return [algorithm_line(name) for name in _NAMES] + [
        checkpoint_line(_CHECKPOINTS, gap, index, rounds)
        for index, gap in enumerate(share_gaps(rounds))
    ]


def _draw(tables: Tables, scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.average import draw_average

    return draw_average(
        tables,
        _lines(scale),
        ["regret", "budget", "early"],
        head,
        columns=6,
    )


def _summary(tables: Tables, scale: Scale) -> dict[str, Any]:
    return {
        "regret": line_summary(tables.runs, _lines(scale)),
        "budget": budget_summary(tables.curves, tables.runs, _lines(scale)),
    }


def _evidence(tables: Tables, _scale: Scale) -> list[Evidence]:
    free, *promising = _NAMES
    return [
        safe(
            PLAN.name,
            tables.curves,
            tables.runs,
            free=free,
            every_round=promising,
            checkpoints=_CHECKPOINTS,
        )
    ]


PLAN = FigurePlan(
    name="contextual",
    title="New features every round",
    about=(
        "The paper states its algorithms for contexts that change, and measures them on fixed "
        "arms only. Here every round brings new features, and the baseline, the greedy policy of "
        "a perturbed theta, changes with them."
    ),
    size="contextual",
    settings=f"K = 20 actions, d = 20; {LINEAR_SETTINGS}",
    experiments=_experiments,
    draw=_draw,
    summary=_summary,
    evidence=_evidence,
    notes=("Not in the paper.",),
)
