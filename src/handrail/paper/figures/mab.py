"""`mab`: regret on Bernoulli arms, what each part of CUCB2 contributes."""

from __future__ import annotations

from handrail.paper.claims import Evidence
from handrail.paper.experiments import bernoulli
from handrail.paper.kinds import regret_figure
from handrail.paper.measures.reductions import always_better, mab_order, mab_reduction
from handrail.paper.measures.safety import safe
from handrail.paper.scale import Scale
from handrail.paper.settings import MEANS_FAMILY, MEANS_SETTINGS
from handrail.simulation.tables import Tables

__all__ = ["PLAN"]


def _evidence(tables: Tables, scale: Scale) -> list[Evidence]:
    free, *promising = MEANS_FAMILY
    return [
        mab_reduction(tables.runs, scale),
        mab_order(tables.runs, scale),
        always_better("mab", tables.runs, MEANS_FAMILY),
        safe("mab", tables.curves, tables.runs, free=free, every_round=promising),
    ]


PLAN = regret_figure(
    "mab",
    family=MEANS_FAMILY,
    build=bernoulli,
    evidence=_evidence,
    title="Regret on Bernoulli arms",
    about=(
        "Ten Bernoulli arms, the fourth best is the baseline. The paper shows the model in which "
        "CUCB2 helps least. There the martingale bound alone (CUCB-M) takes 43 % off CUCB's "
        "regret, the constrained selection alone (CUCB-S) 12 %, far more than preferring the "
        "largest lower bound (CUCB-L), and both together (CUCB2) more than 51 %, which brings it "
        "near the oracle CUCB-Or."
    ),
    settings=f"K = 10 arms, baseline of rank 4; {MEANS_SETTINGS}",
    notes=("The paper does not print the arms' width; `widths` shows what depends on it.",),
)
