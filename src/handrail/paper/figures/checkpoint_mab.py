"""`checkpoint-mab`: what rarer checkpoints save, on Bernoulli arms."""

from __future__ import annotations

from handrail.paper.experiments import bernoulli
from handrail.paper.kinds import checkpoint_figure
from handrail.paper.settings import MEANS_SETTINGS

__all__ = ["PLAN"]

PLAN = checkpoint_figure(
    "checkpoint-mab",
    algorithm="CUCB2T",
    free="UCB",
    ranks=lambda scale: scale.mab_ranks,
    build=bernoulli,
    title="What rarer checkpoints save (Bernoulli arms)",
    about=(
        "CUCB2T keeps its promise only at rounds T, 2T, and so on. Its regret above UCB's falls as "
        "T grows, because the condition becomes weaker; it does not vanish even at T = n, where "
        "CUCB2T may still pass over arms that are not certified. The weaker the baseline, the more "
        "there is to save."
    ),
    settings=f"K = 10 arms; {MEANS_SETTINGS}",
    notes=("Below 0: less regret than UCB, which is not told the baseline's mean.",),
)
