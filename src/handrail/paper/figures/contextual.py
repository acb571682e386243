"""`contextual`: regret and budget where actions and baseline change every round."""

from __future__ import annotations

from handrail.paper.experiments import contextual
from handrail.paper.kinds import average_figure
from handrail.paper.settings import LINEAR_FAMILY, LINEAR_SETTINGS

__all__ = ["PLAN"]

PLAN = average_figure(
    "contextual",
    names=(LINEAR_FAMILY.free, LINEAR_FAMILY.old, LINEAR_FAMILY.new),
    checkpoints="CLUCB2T",
    build=contextual,
    panels=["regret", "budget", "early"],
    columns=6,
    title="New features every round",
    about=(
        "The paper states its algorithms for contexts that change, and measures them on fixed "
        "arms only. Here every round brings new features, and the baseline, the greedy policy of "
        "a perturbed theta, changes with them."
    ),
    settings=f"K = 20 actions, d = 20; {LINEAR_SETTINGS}",
    notes=("Not in the paper.",),
)
