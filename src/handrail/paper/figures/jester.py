"""`jester`: regret and budget on real people's ratings, with three gaps between checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from handrail.paper.claims import Evidence
from handrail.paper.drawing.looks import Line, algorithm_line, checkpoint_line
from handrail.paper.experiments import ratings, share_gaps
from handrail.paper.measures.safety import safe
from handrail.paper.measures.summary import budget_summary, line_summary
from handrail.paper.measures.users import jester_half
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.paper.settings import JESTER_SETTINGS, LINEAR_FAMILY, checkpointed, contenders
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN", "lines"]

_CHECKPOINTS: Final = "CLUCB2T"
_SOURCE: Final = (
    "Ratings: K. Goldberg, T. Roeder, D. Gupta, C. Perkins (2001), Eigentaste: a constant time "
    "collaborative filtering algorithm, Information Retrieval 4(2), 133-151."
)


def _experiments(scale: Scale, seed: int) -> list[Experiment]:
    gaps = share_gaps(scale.jester.rounds)
    players = (*contenders(LINEAR_FAMILY), *checkpointed(_CHECKPOINTS, gaps))
    return [ratings(players, scale.jester, seed, scale.points)]


def lines(scale: Scale) -> list[Line]:
    """Return what is drawn, in figure `budget-jester` too."""
    rounds = scale.jester.rounds
    return [algorithm_line(name) for name in LINEAR_FAMILY] + [
        checkpoint_line(_CHECKPOINTS, gap, index, rounds)
        for index, gap in enumerate(share_gaps(rounds))
    ]


def _draw(tables: Tables, scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.average import draw_average

    return draw_average(tables, lines(scale), ["regret", "budget"], head, of="users", columns=5)


def _summary(tables: Tables, scale: Scale) -> dict[str, Any]:
    return {
        "regret": line_summary(tables.runs, lines(scale)),
        "budget": budget_summary(tables.curves, tables.runs, lines(scale)),
    }


def _evidence(tables: Tables, scale: Scale) -> list[Evidence]:
    free, *promising = LINEAR_FAMILY
    return [
        jester_half(tables.runs, scale, _CHECKPOINTS),
        safe(
            PLAN.name,
            tables.curves,
            tables.runs,
            free=free,
            every_round=promising,
            checkpoints=_CHECKPOINTS,
        ),
    ]


PLAN = FigurePlan(
    name="jester",
    title="Jokes for new users (Jester)",
    about=(
        "A new user arrives, and the jokes she likes are to be learned. Averaged over users, the "
        "paper finds CLUCB2's regret below half of CLUCB's, and CLUCB2T closer to LinUCB the "
        "rarer its checkpoints are."
    ),
    size="jester",
    settings=f"K = 40 jokes, d = 35, baseline of rank 10; {JESTER_SETTINGS}",
    experiments=_experiments,
    draw=_draw,
    summary=_summary,
    evidence=_evidence,
    notes=("A problem is a user.", _SOURCE),
    data="jester",
)
