"""`linear`: regret on linear arms, what each part of CLUCB2 contributes."""

from __future__ import annotations

from typing import Final

from handrail.paper.claims import Evidence
from handrail.paper.experiments import linear
from handrail.paper.kinds import regret_figure
from handrail.paper.measures.reductions import (
    always_better,
    linear_martingale,
    linear_reduction,
)
from handrail.paper.measures.safety import safe
from handrail.paper.scale import Scale
from handrail.paper.settings import LINEAR_FAMILY, LINEAR_SETTINGS
from handrail.simulation.tables import Tables

__all__ = ["PLAN"]

_THEORY: Final = (
    "The paper's regret bounds say nothing at these settings: what they add for conservative play "
    "is of the order of 5 × 10^11 rounds, far beyond the horizon."
)


def _evidence(tables: Tables, scale: Scale) -> list[Evidence]:
    free, *promising = LINEAR_FAMILY
    return [
        linear_reduction(tables.runs, scale),
        linear_martingale(tables.runs, scale),
        always_better("linear", tables.runs, LINEAR_FAMILY),
        safe("linear", tables.curves, tables.runs, free=free, every_round=promising),
    ]


PLAN = regret_figure(
    "linear",
    family=LINEAR_FAMILY,
    build=linear,
    evidence=_evidence,
    title="Regret on linear arms",
    about=(
        "Thirty arms with features in 100 dimensions, the sixth best is the baseline. Here most "
        "of the gain comes from the constrained selection: in the model where CLUCB2 helps least, "
        "CLUCB-S is as good as CLUCB2 and at least as good as the oracle CLUCB-Or, 38 % below "
        "CLUCB. The oracle is one for two-step selection only, so it can be beaten. Averaged over "
        "models the martingale bound (CLUCB-M) helps as well."
    ),
    settings=f"K = 30 arms, d = 100, baseline of rank 6; {LINEAR_SETTINGS}",
    notes=(_THEORY,),
)
