"""`checkpoint-linear`: what rarer checkpoints save, on linear arms."""

from __future__ import annotations

from handrail.paper.experiments import linear
from handrail.paper.kinds import checkpoint_figure
from handrail.paper.settings import LINEAR_SETTINGS

__all__ = ["PLAN"]

PLAN = checkpoint_figure(
    "checkpoint-linear",
    algorithm="CLUCB2T",
    free="LinUCB",
    ranks=lambda scale: scale.linear_ranks,
    build=linear,
    title="What rarer checkpoints save (linear arms)",
    about=(
        "The same question as `checkpoint-mab` on linear arms. The paper refers to its appendix "
        "for these and prints no picture of them; one expects the same, that the regret of CLUCB2T "
        "above LinUCB's falls as T grows."
    ),
    settings=f"K = 30 arms, d = 100; {LINEAR_SETTINGS}",
    notes=("Below 0: less regret than LinUCB, which is not told the baseline's mean.",),
)
