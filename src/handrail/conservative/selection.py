"""Selections: which of the actions to play, given their bounds and margins.

The baseline's mean is known, so it is an upper and a lower bound at once; where only an interval is
known, each comparison takes the end it is about, which matters to regret alone. The baseline is
never among the safe actions, and the most optimistic one only if its mean exceeds every other upper
bound. Ties among other actions go to the lowest index.

References
----------
E. Garcelon et al. (2020), Improved algorithms for conservative exploration in bandits, Eq. (8).
"""

from __future__ import annotations

import math
from typing import Final

from handrail.compiled import inlined
from handrail.records import Floats
from handrail.vectors import LANES, first_with, greatest, larger, load, without

__all__ = [
    "BASELINE_EVENT",
    "CONSTRAINED",
    "EVENTS",
    "HOLD",
    "LARGEST_LOWER",
    "LARGEST_LOWER_LITERAL",
    "OPTIMISTIC",
    "OPTIMISTIC_EVENT",
    "PROPOSAL",
    "SAFE_EVENT",
    "SELECTIONS",
    "TWO_STEP",
    "awaited",
    "leads",
    "most_optimistic",
    "select",
]

OPTIMISTIC: Final = 0
TWO_STEP: Final = 1
LARGEST_LOWER: Final = 2
LARGEST_LOWER_LITERAL: Final = 3
CONSTRAINED: Final = 4
PROPOSAL: Final = 5
"""The action that somebody proposes, if safe, else the baseline."""
HOLD: Final = 6
"""The baseline, whatever the algorithm would play: no part of an algorithm, asked for by round."""

SELECTIONS: Final = {
    "optimistic": OPTIMISTIC,
    "two-step": TWO_STEP,
    "largest-lower": LARGEST_LOWER,
    "largest-lower-literal": LARGEST_LOWER_LITERAL,
    "constrained": CONSTRAINED,
    "proposal": PROPOSAL,
}

OPTIMISTIC_EVENT: Final = 0
SAFE_EVENT: Final = 1
BASELINE_EVENT: Final = 2

EVENTS: Final = ("optimistic", "safe", "baseline")
"""E1, E2 and E3 of the paper."""


@inlined
def _others(upper: Floats, start: int, skip: int, other: int) -> Floats:
    """Return eight upper bounds from an action on, two actions left out."""
    return without(without(load(upper, start), skip - start), other - start)


@inlined
def _first_largest(upper: Floats, skip: int, other: int) -> int:
    """Return what `most_optimistic` does of a vector or more; -1 if no bound is above -inf.

    Eight actions at a time: one by one, each comparison would wait for the one before. The last
    vector may overlap the one before it, which changes neither the largest nor who is first.
    """
    last = upper.size - LANES
    most = _others(upper, last, skip, other)
    for i in range(0, last, LANES):
        most = larger(most, _others(upper, i, skip, other))
    largest = greatest(most)
    if not largest > -math.inf:
        return -1
    for i in range(0, last, LANES):
        found = first_with(_others(upper, i, skip, other), largest)
        if found < LANES:
            return i + found
    return last + first_with(_others(upper, last, skip, other), largest)


@inlined
def most_optimistic(upper: Floats, skip: int, other: int = -1) -> int:
    """Return the lowest index with the largest upper bound, two left out; -1 if none is left."""
    if upper.size >= LANES:
        best = _first_largest(upper, skip, other)
        if best >= 0:
            return best
    best = -1
    largest = -math.inf  # kept at hand: looking it up at the best index would be waited for
    for action in range(upper.size):
        if action not in (skip, other) and (best < 0 or upper[action] > largest):
            best, largest = action, upper[action]
    return best


@inlined
def leads(upper: Floats, leader: int, rival: int) -> bool:
    """Say whether `most_optimistic` still returns the leader, whose bound alone has moved."""
    if rival < 0 or upper[leader] > upper[rival]:
        return True
    return leader < rival and upper[leader] == upper[rival]


@inlined
def _largest_safe(value: Floats, margin: Floats, baseline: int) -> int:
    best = -1
    largest = -math.inf
    for action in range(value.size):
        # Written so that a margin that is not a number is not safe.
        if action == baseline or not margin[action] >= 0.0:
            continue
        if best < 0 or value[action] > largest:
            best, largest = action, value[action]
    return best


@inlined
def select(
    selection: int,
    upper: Floats,
    lower: Floats,
    margin: Floats,
    baseline: int,
    floor: float,
    mean: float,
    leader: int,
) -> int:
    """Return the action to play; leader is the most optimistic action besides the baseline.

    The baseline's mean lies between floor and mean.

    Notes
    -----
    - `two-step`: the leader if safe, else the baseline.
    - `largest-lower`: the leader if safe, else the safe action with the largest lower bound if
      that exceeds mu_b, else the baseline; `largest-lower-literal` does not compare with mu_b.
    - `constrained`: the safe action with the largest upper bound if that is >= mu_b, else the
      baseline.
    - `HOLD`: the baseline.
    """
    if leader < 0 or selection == HOLD or mean > upper[leader]:
        return baseline
    if margin[leader] >= 0.0:  # nothing safe has a larger upper bound
        return leader
    if selection == CONSTRAINED:
        best = _largest_safe(upper, margin, baseline)
        return best if best >= 0 and upper[best] >= mean else baseline
    if selection == TWO_STEP:
        return baseline
    best = _largest_safe(lower, margin, baseline)
    threshold = floor if selection == LARGEST_LOWER else -math.inf
    return best if best >= 0 and lower[best] > threshold else baseline


@inlined
def awaited(
    selection: int,
    upper: Floats,
    lower: Floats,
    certified: Floats,
    baseline: int,
    mean: float,
) -> float:
    """Return the largest past_and_now(a) among the actions that would be played if they were safe.

    Notes
    -----
    While the baseline is played, bounds and past_and_now stay as they are and only slack and need
    move. `select` leaves the baseline in the first round in which past_and_now(a) + slack - need
    >= 0 for one of these actions, which is to say for the largest; -inf: never.
    """
    leader = most_optimistic(upper, baseline)
    if leader < 0 or mean > upper[leader]:
        return -math.inf
    best = -math.inf
    for action in range(upper.size):
        if action == baseline:
            continue
        if selection == CONSTRAINED:
            would = upper[action] >= mean
        elif selection == LARGEST_LOWER:
            would = action == leader or lower[action] > mean
        else:
            would = action == leader or selection == LARGEST_LOWER_LITERAL
        if would and certified[action] > best:
            best = certified[action]
    return best
