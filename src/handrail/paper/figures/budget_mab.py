"""`budget-mab`: how far each algorithm is above what it promised, on Bernoulli arms."""

from __future__ import annotations

from handrail.paper.figures import mab
from handrail.paper.kinds import budget_figure
from handrail.paper.settings import MEANS_FAMILY

__all__ = ["PLAN"]

PLAN = budget_figure(
    mab.PLAN,
    family=MEANS_FAMILY,
    title="Budget on Bernoulli arms",
    about=(
        "The budget is what an algorithm earned above 1 - α times the baseline. In the long run "
        "all lines are parallel, since all algorithms have found good arms, and better ones are "
        "higher. UCB explores most at the start and goes well below 0 there; the conservative "
        "algorithms never do."
    ),
)
