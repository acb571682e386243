"""One choice: from bounds and certified rewards to an action, its event and its margin."""

from __future__ import annotations

import math
from typing import TypeAlias

from handrail.compiled import compiled
from handrail.conservative.ledger import need, record_decision, relief
from handrail.conservative.past import NONE
from handrail.conservative.schedule import slack
from handrail.conservative.selection import (
    BASELINE_EVENT,
    OPTIMISTIC,
    OPTIMISTIC_EVENT,
    SAFE_EVENT,
    most_optimistic,
    select,
)
from handrail.records import Floats, Ledger, Rules

__all__ = ["Choice", "choose", "conclude"]

Choice: TypeAlias = tuple[int, int, float, float, float, int, float, float, float, int]
"""action, event, margin, upper, lower; the leader and its margin, upper, lower; safe actions."""


@compiled
def choose(
    rules: Rules,
    ledger: Ledger,
    upper: Floats,
    lower: Floats,
    certified: Floats,
    past: float,
    baseline: int,
    mean: float,
) -> Choice:
    """Turn past_and_now(a), given in `certified`, into margins in place, and select.

    `past` is the same bound for S alone: with it the margin of a baseline round is certified.
    """
    if rules.selection == OPTIMISTIC:
        leader = most_optimistic(upper, -1)
        event = BASELINE_EVENT if leader == baseline else OPTIMISTIC_EVENT
        return (
            leader,
            event,
            math.nan,
            upper[leader],
            lower[leader],
            leader,
            math.nan,
            upper[leader],
            lower[leader],
            0,
        )
    extra = slack(rules, ledger.rounds + 1)
    required = need(rules, ledger, mean)
    safe = 0
    for action in range(certified.size):
        certified[action] = certified[action] + extra - required
        if action != baseline and certified[action] >= 0.0:
            safe += 1
    leader = most_optimistic(upper, baseline)
    action = select(rules.selection, upper, lower, certified, baseline, mean, leader)
    leading_margin = certified[leader] if leader >= 0 else math.nan
    leading_upper = upper[leader] if leader >= 0 else math.nan
    leading_lower = lower[leader] if leader >= 0 else math.nan
    if action == baseline:
        margin = past + extra + relief(rules, ledger, mean)
        return (
            action,
            BASELINE_EVENT,
            margin,
            mean,
            mean,
            leader,
            leading_margin,
            leading_upper,
            leading_lower,
            safe,
        )
    event = OPTIMISTIC_EVENT if action == leader else SAFE_EVENT
    return (
        action,
        event,
        certified[action],
        upper[action],
        lower[action],
        leader,
        leading_margin,
        leading_upper,
        leading_lower,
        safe,
    )


@compiled
def conclude(
    rules: Rules,
    ledger: Ledger,
    upper: Floats,
    lower: Floats,
    certified: Floats,
    past: float,
    baseline: int,
    mean: float,
) -> tuple[Choice, bool]:
    """Choose and count the round; also say whether it is a baseline round, which nobody learns."""
    choice = choose(rules, ledger, upper, lower, certified, past, baseline, mean)
    held = rules.past != NONE and choice[0] == baseline
    record_decision(ledger, mean, held, max(choice[4], 0.0))
    return choice, held
