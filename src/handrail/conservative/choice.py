"""One choice: from bounds and certified rewards to an action, its event and its margin."""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from handrail.compiled import inlined, lean
from handrail.conservative.baseline import allowance, held_margin, required, teaches
from handrail.conservative.ledger import need, record_decision
from handrail.conservative.past import NONE, ORACLE
from handrail.conservative.schedule import slack
from handrail.conservative.selection import (
    BASELINE_EVENT,
    HOLD,
    OPTIMISTIC_EVENT,
    SAFE_EVENT,
    most_optimistic,
    select,
)
from handrail.records import Floats, Ledger, Rules

__all__ = [
    "ACTION",
    "EVENT",
    "FLOOR",
    "LEADER",
    "LEADER_LOWER",
    "LEADER_MARGIN",
    "LEADER_UPPER",
    "LOWER",
    "MARGIN",
    "MEAN",
    "PROMISE",
    "SAFE",
    "UPPER",
    "Choice",
    "choose",
    "conclude",
    "count_decision",
    "promised",
    "would_be_safe",
]

Choice: TypeAlias = tuple[
    int, int, float, float, float, float, int, float, float, float, int, float, float
]
"""A plain tuple: a named one takes longer to hand from compiled code to Python."""

ACTION: Final = 0
EVENT: Final = 1
MARGIN: Final = 2
UPPER: Final = 3
LOWER: Final = 4
PROMISE: Final = 5
"""What the round counts until its reward comes."""
LEADER: Final = 6
"""The most optimistic action besides the baseline."""
LEADER_MARGIN: Final = 7
LEADER_UPPER: Final = 8
LEADER_LOWER: Final = 9
SAFE: Final = 10
"""How many actions are safe."""
FLOOR: Final = 11
MEAN: Final = 12
"""What the baseline's mean was taken to lie between, in the ledger too."""


@lean
def _margin(certified: float, extra: float, required: float) -> float:
    """Return past_and_now(a) + slack - need."""
    return certified + extra - required


@lean
def would_be_safe(rules: Rules, ledger: Ledger, certified: float, mean: float) -> bool:
    """Say whether an action with this past_and_now is safe in the coming round.

    For a known mean and checkpoints at multiples of a number, as the fast simulator has them.
    """
    extra = slack(rules, ledger.rounds + 1)
    return _margin(certified, extra, need(rules, ledger, mean, mean)) >= 0.0


@lean
def promised(rules: Rules, lower: float, truth: float, floor: float) -> float:
    """Return what a round of S counts until its reward comes; the truth is for oracles.

    Until it is confirmed, the round may have been the action's, the baseline's or nobody's, and
    who is lost may depend on the user: it counts nothing. Edition 1 counted min(lower, mu_b).
    """
    if rules.confirm == 0 or rules.past == NONE:
        return max(lower, 0.0)
    if rules.credit == 0:
        return 0.0
    return min(truth if rules.past == ORACLE else max(lower, 0.0), floor)


@inlined
def choose(
    rules: Rules,
    ledger: Ledger,
    upper: Floats,
    lower: Floats,
    certified: Floats,
    past: float,
    baseline: int,
    floor: float,
    mean: float,
    truth: Floats,
) -> Choice:
    """Turn past_and_now(a), given in `certified`, into margins in place, and select.

    `past` is the same bound for S alone: with it the margin of a baseline round is certified. The
    baseline's mean lies between floor and mean, which are the same where it is known. Only oracles
    ask for the truth.
    """
    if rules.past == NONE:
        leader = most_optimistic(upper, -1)
        action = baseline if rules.selection == HOLD else leader
        event = BASELINE_EVENT if action == baseline else OPTIMISTIC_EVENT
        high, low, promise, nan = upper[action], lower[action], max(lower[action], 0.0), math.nan
        most, least = upper[leader], lower[leader]
        return action, event, nan, high, low, promise, leader, nan, most, least, 0, floor, mean
    extra = allowance(rules, ledger)
    needed = required(rules, ledger, floor, mean)
    held = certified[baseline]
    safe = 0
    for action in range(certified.size):
        certified[action] = _margin(certified[action], extra, needed)
        if action != baseline and certified[action] >= 0.0:
            safe += 1
    leader = most_optimistic(upper, baseline)
    action = select(rules.selection, upper, lower, certified, baseline, floor, mean, leader)
    leader_margin, leader_upper, leader_lower = math.nan, math.nan, math.nan
    if leader >= 0:
        leader_margin, leader_upper, leader_lower = certified[leader], upper[leader], lower[leader]
    if action == baseline:
        event, high, low = BASELINE_EVENT, mean, floor
        margin = held_margin(rules, ledger, past, extra, needed, floor, mean, held)
    else:
        event = OPTIMISTIC_EVENT if action == leader else SAFE_EVENT
        margin, high, low = certified[action], upper[action], lower[action]
    promise = max(low, 0.0)
    if action != baseline:
        promise = promised(rules, low, truth[action] if rules.past == ORACLE else 0.0, floor)
    return (
        action,
        event,
        margin,
        high,
        low,
        promise,
        leader,
        leader_margin,
        leader_upper,
        leader_lower,
        safe,
        floor,
        mean,
    )


@inlined
def conclude(
    rules: Rules,
    ledger: Ledger,
    upper: Floats,
    lower: Floats,
    certified: Floats,
    past: float,
    baseline: int,
    floor: float,
    mean: float,
    truth: Floats,
) -> tuple[Choice, bool]:
    """Choose and count the round; also say whether it is a baseline round of the ledger."""
    choice = choose(rules, ledger, upper, lower, certified, past, baseline, floor, mean, truth)
    held = rules.past != NONE and choice[ACTION] == baseline
    count_decision(rules, ledger, floor, mean, held, choice[PROMISE])
    return choice, held


@lean
def count_decision(
    rules: Rules, ledger: Ledger, floor: float, mean: float, held: bool, promise: float
) -> None:
    """Count a decided round, also one that is taken from a log; held: it is a baseline round."""
    record_decision(ledger, floor, mean, held, promise)
    if held and teaches(rules, floor, mean):
        ledger.waiting += 1
