"""Schedules: when the promise is checked, and the slack that leaves until then.

References
----------
E. Garcelon et al. (2020), Improved algorithms for conservative exploration in bandits, Eqs. (11)
and (12).

Notes
-----
All that a decision asks of a schedule is a round before which no checkpoint comes. Under T, 2T, ...
it follows from the round; for a list, and for gaps of which a minimum or a law is known, the ledger
holds it.
"""

from __future__ import annotations

from typing import Final

from handrail.compiled import lean
from handrail.records import Ints, Ledger, Rules

__all__ = [
    "CHECKPOINTS",
    "EVERY_ROUND",
    "NONE",
    "REPORTED",
    "SCHEDULES",
    "arrive",
    "awaited_checkpoint",
    "current_slack",
    "next_checkpoint",
    "slack",
]

NONE: Final = 0
EVERY_ROUND: Final = 1
CHECKPOINTS: Final = 2
REPORTED: Final = 3
"""`checkpoints` that the ledger knows of, rather than multiples of a number."""

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


@lean
def awaited_checkpoint(rules: Rules, ledger: Ledger, now: int) -> int:
    """Return the latest round c >= now such that no checkpoint comes from now until c - 1."""
    if rules.schedule == REPORTED:
        return max(ledger.checkpoint, now)
    return next_checkpoint(rules, now)


@lean
def current_slack(rules: Rules, ledger: Ledger) -> float:
    """Return the slack of the coming round under any schedule."""
    now = ledger.rounds + 1
    if rules.schedule == REPORTED:
        return rules.alpha * rules.baseline_lower * max(ledger.checkpoint - now, 0)
    return slack(rules, now)


@lean
def arrive(ledger: Ledger, checkpoints: Ints, assured: Ints) -> None:
    """Bring the ledger's checkpoint to the coming round, given all checkpoints there will be.

    assured[k] is the round before which, after k checkpoints, the next is known not to come: the
    checkpoint itself if its round is known.
    """
    passed = ledger.checkpoints
    while passed < checkpoints.size and checkpoints[passed] <= ledger.rounds:
        passed += 1
    ledger.checkpoints = passed
    ledger.checkpoint = assured[passed]
