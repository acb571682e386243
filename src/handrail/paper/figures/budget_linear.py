"""`budget-linear`: how far each algorithm is above what it promised, on linear arms."""

from __future__ import annotations

from handrail.paper.figures import linear
from handrail.paper.kinds import budget_figure
from handrail.paper.settings import LINEAR_FAMILY

__all__ = ["PLAN"]

PLAN = budget_figure(
    linear.PLAN,
    family=LINEAR_FAMILY,
    title="Budget on linear arms",
    about=(
        "As on Bernoulli arms: LinUCB explores at the start at the expense of the promise, and the "
        "conservative algorithms keep it."
    ),
)
