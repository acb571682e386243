"""Schedules: when the promise is checked, and the slack that leaves until then.

References
----------
E. Garcelon et al. (2020), Improved algorithms for conservative exploration in bandits, Eqs. (11)
and (12).
"""

from __future__ import annotations

from typing import Final

from handrail.compiled import lean
from handrail.records import Rules

__all__ = ["CHECKPOINTS", "EVERY_ROUND", "NONE", "SCHEDULES", "next_checkpoint", "slack"]

NONE: Final = 0
EVERY_ROUND: Final = 1
CHECKPOINTS: Final = 2

SCHEDULES: Final = {"none": NONE, "every-round": EVERY_ROUND, "checkpoints": CHECKPOINTS}


@lean
def next_checkpoint(rules: Rules, now: int) -> int:
    """Return the first checkpoint >= now; under `every-round` that is now itself."""
    if rules.schedule != CHECKPOINTS:
        return now
    every = rules.checkpoint_every
    return (now + every - 1) // every * every


@lean
def slack(rules: Rules, now: int) -> float:
    """Return alpha mu_l (c - t): what baseline rounds until the checkpoint c will add at least."""
    return rules.alpha * rules.baseline_lower * (next_checkpoint(rules, now) - now)
