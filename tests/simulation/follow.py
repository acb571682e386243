"""Follow a run of a linear algorithm over fixed arms: what would the plain path have played?

The trace of actions is all that is taken from the run. Each round is decided by the policies' own
functions, given the actions so far. Where the answer differs, the played action must be one that a
shift of every compared value by `TIE`, relative to it if it is above 1, could lead to; the plain
state then goes on with the played action.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from handrail.compiled import compiled, lean
from handrail.conservative.choice import ACTION, PROMISE, choose
from handrail.conservative.ledger import need, record_decision
from handrail.conservative.past import NONE
from handrail.conservative.schedule import slack
from handrail.conservative.selection import (
    BASELINE_EVENT,
    CONSTRAINED,
    LARGEST_LOWER,
    OPTIMISTIC,
    OPTIMISTIC_EVENT,
    SAFE_EVENT,
    TWO_STEP,
    most_optimistic,
)
from handrail.counter import children, root
from handrail.environments.problem import FixedProblem
from handrail.environments.rewards import REWARDS, draw
from handrail.estimators.fixed import play_fixed, rebuild_fixed
from handrail.policies.fixed import certify_fixed, reward_fixed
from handrail.records import LEDGER, Floats, Ints, Record, new_record
from handrail.simulation.entry import Entry
from handrail.simulation.meter import end_rounds, new_meter, record_fixed

TIE: Final = 1e-12
REBUILD_EVERY: Final = 1 << 16
"""Written down here: the plain path's own number could change unseen."""


@lean
def _near(tie: float, value: float) -> float:
    """By how much a value may be moved."""
    return tie * max(1.0, abs(value))


@lean
def could_lead(tie: float, upper: Floats, action: int, skip: int) -> bool:
    """Whether an action is the most optimistic one, or as good as that."""
    own = upper[action] + _near(tie, upper[action])
    for other in range(upper.size):
        if other not in (action, skip) and upper[other] - _near(tie, upper[other]) > own:
            return False
    return True


@lean
def _best_safe(
    tie: float, value: Floats, margin: Floats, near: Floats, action: int, baseline: int
) -> bool:
    """Whether an action could be safe and the largest of those that are safe for certain."""
    own = value[action] + _near(tie, value[action])
    if not margin[action] + near[action] >= 0.0:
        return False
    for other in range(value.size):
        certain = other not in (action, baseline) and margin[other] - near[other] >= 0.0
        if certain and value[other] - _near(tie, value[other]) > own:
            return False
    return True


@lean
def _nobody_else(
    tie: float,
    value: Floats,
    margin: Floats,
    near: Floats,
    leader: int,
    baseline: int,
    bar: float,
) -> bool:
    """Whether it could be that no safe action besides the leader is above the bar."""
    for other in range(value.size):
        certain = other not in (leader, baseline) and margin[other] - near[other] >= 0.0
        if certain and value[other] - _near(tie, value[other]) > bar:
            return False
    return True


@lean
def could_follow(
    tie: float,
    selection: int,
    upper: Floats,
    lower: Floats,
    margin: Floats,
    near: Floats,
    baseline: int,
    mean: float,
    action: int,
) -> bool:
    """Whether `select` could return an action if values moved by no more than allowed.

    Said rule by rule, for every action that could be the most optimistic one.
    """
    if selection == OPTIMISTIC:
        return could_lead(tie, upper, action, -1)
    found = False
    for leader in range(upper.size):
        if leader == baseline or not could_lead(tie, upper, leader, baseline):
            continue
        high = upper[leader] + _near(tie, upper[leader])
        below = mean > upper[leader] - _near(tie, upper[leader])
        unsafe = not margin[leader] - near[leader] >= 0.0
        if action == baseline:
            if selection == CONSTRAINED:
                # An upper bound that is mu_b exactly is not below it.
                held = _nobody_else(tie, upper, margin, near, baseline, baseline, mean)
            elif selection == TWO_STEP:
                held = unsafe
            else:
                bar = mean if selection == LARGEST_LOWER else -math.inf
                held = unsafe and _nobody_else(tie, lower, margin, near, leader, baseline, bar)
            found = found or below or held
            continue
        if mean > high:
            continue
        if selection == CONSTRAINED:
            own = upper[action] + _near(tie, upper[action])
            found = found or (
                own >= mean and _best_safe(tie, upper, margin, near, action, baseline)
            )
        elif leader == action:
            found = found or margin[action] + near[action] >= 0.0
        elif selection != TWO_STEP and unsafe:
            bar = mean if selection == LARGEST_LOWER else -math.inf
            own = lower[action] + _near(tie, lower[action])
            found = found or (own > bar and _best_safe(tie, lower, margin, near, action, baseline))
    return found


@compiled
def _follow(
    rules_: Record,
    ledger_: Record,
    meter_: Record,
    means: Floats,
    baseline: int,
    kind: int,
    noise: float,
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    grid: Ints,
    curve: Floats,
    actions: Ints,
    features: Floats,
    counted: Ints,
    tie: float,
) -> int:
    """Return the first round that is neither the plain path's nor a tie, 0 if there is none."""
    rules = rules_[0]
    ledger = ledger_[0]
    meter = meter_[0]
    mean = means[baseline]
    arms = means.size
    plays, counts = np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    sums, estimate, cross, floors = np.zeros((4, arms))
    gram = np.zeros((arms, arms))
    work = np.empty((3, arms))
    near = np.zeros(arms)
    no_trace = np.empty(0, np.int64)
    rebuild_fixed(features, rules.ridge, plays, counts, sums, estimate, gram, cross, floors)
    skip = -1 if rules.selection == OPTIMISTIC else baseline
    for point in range(grid.size):
        while ledger.rounds < grid[point]:
            start = ledger.rounds
            arm = actions[start]
            past = certify_fixed(
                rules, ledger, plays, counts, sums, estimate, gram, cross, means, work
            )
            upper, lower, certified = work[0], work[1], work[2]
            required = need(rules, ledger, mean, mean) if rules.selection != OPTIMISTIC else 0.0
            extra = slack(rules, start + 1)
            for other in range(arms):
                near[other] = tie * max(1.0, abs(certified[other]), abs(required), extra)
            choice = choose(
                rules, ledger, upper, lower, certified, past, baseline, mean, mean, means
            )
            promise = choice[PROMISE]
            if choice[ACTION] != arm:
                if not could_follow(
                    tie, rules.selection, upper, lower, certified, near, baseline, mean, arm
                ):
                    return int(start + 1)
                counted[0] += 1
                promise = max(mean if arm == baseline else lower[arm], 0.0)
            event = OPTIMISTIC_EVENT if arm == most_optimistic(upper, skip) else SAFE_EVENT
            if arm == baseline:
                event = BASELINE_EVENT
            elif rules.selection == OPTIMISTIC:
                event = OPTIMISTIC_EVENT
            else:
                rivals = 0
                for other in range(arms):
                    if other != baseline and could_lead(tie, upper, other, baseline):
                        rivals += 1
                if could_lead(tie, upper, arm, baseline) and rivals > 1:
                    counted[1] += 1
            held = rules.past != NONE and arm == baseline
            record_decision(ledger, mean, mean, held, promise)
            if not held:
                play_fixed(gram, plays, cross, arm)
                reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                reward_fixed(
                    rules_,
                    ledger_,
                    features,
                    plays,
                    counts,
                    sums,
                    estimate,
                    gram,
                    cross,
                    floors,
                    REBUILD_EVERY,
                    arm,
                    False,
                    promise,
                    reward,
                )
            end_rounds(meter, ledger, plays, means, mean, arm, event, start, no_trace)
        record_fixed(meter, ledger, plays, means, mean, curve, point)
    return 0


class Followed(NamedTuple):
    """What following a run has shown."""

    differs: int
    """The first round that is neither the plain path's nor a tie, 0 if there is none."""
    ties: int
    """Rounds that differ from the plain path's within the rule."""
    unclear: int
    """Rounds of which it is a tie whether the action was the most optimistic one."""
    curve: Floats
    meter: Record


def follow(entry: Entry, run: int, actions: Ints, tie: float = TIE) -> Followed:
    """Follow a run of an entry, of which these are the actions."""
    problem = entry.problem
    assert isinstance(problem, FixedProblem)
    keys = children(root(entry.seed, 3, entry.index, run), problem.means.size)
    curve = np.zeros((entry.grid.size, 4))
    meter = new_meter(entry.alpha, int(entry.rules["checkpoint_every"][0]))
    counted = np.zeros(2, np.int64)
    differs = _follow(
        entry.rules,
        new_record(LEDGER),
        meter,
        problem.means,
        problem.baseline,
        REWARDS[problem.rewards],
        problem.noise,
        keys,
        entry.grid,
        curve,
        actions,
        problem.rows(),
        counted,
        tie,
    )
    return Followed(differs, int(counted[0]), int(counted[1]), curve, meter)
