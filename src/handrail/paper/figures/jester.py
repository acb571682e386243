"""`jester`: regret and budget on real people's ratings, with three gaps between checkpoints."""

from __future__ import annotations

from typing import Final

from handrail.paper.experiments import ratings
from handrail.paper.kinds import average_figure
from handrail.paper.measures.users import jester_half
from handrail.paper.settings import JESTER_SETTINGS, LINEAR_FAMILY

__all__ = ["CHECKPOINTS", "PLAN"]

CHECKPOINTS: Final = "CLUCB2T"
_SOURCE: Final = (
    "Ratings: K. Goldberg, T. Roeder, D. Gupta, C. Perkins (2001), Eigentaste: a constant time "
    "collaborative filtering algorithm, Information Retrieval 4(2), 133-151."
)

PLAN = average_figure(
    "jester",
    names=LINEAR_FAMILY,
    checkpoints=CHECKPOINTS,
    build=ratings,
    panels=["regret", "budget"],
    of="users",
    columns=5,
    more=lambda tables, scale: [jester_half(tables.runs, scale, CHECKPOINTS)],
    title="Jokes for new users (Jester)",
    about=(
        "A new user arrives, and the jokes she likes are to be learned. Averaged over users, the "
        "paper finds CLUCB2's regret below half of CLUCB's, and CLUCB2T closer to LinUCB the "
        "rarer its checkpoints are."
    ),
    settings=f"K = 40 jokes, d = 35, baseline of rank 10; {JESTER_SETTINGS}",
    notes=("A problem is a user.", _SOURCE),
    data="jester",
)
