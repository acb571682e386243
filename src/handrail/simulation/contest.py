"""Runs of the linear algorithms over fixed arms, with exact shortcuts.

The plain path (`handrail.simulation.plain`) looks at all arms in every round. This one rests on
these facts:

- The arms that take turns can be followed among themselves (`handrail.estimators.contest`), and
  the others need not be looked at while they cannot lead (`handrail.simulation.standing`).
- In a streak of one member its own bounds take a few operations, and those of the others move by
  no more than |G_now[i, j]| |x|.
- While the baseline is played nothing that was learned moves (`handrail.simulation.leaps`).
- Every selection plays the most optimistic arm while it is safe: the other arms' margins matter
  only when it is not.

Bounds and margins are the plain path's up to rounding: actions are the same unless two compared
values are that close.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from handrail.compiled import compiled, inlined, lean
from handrail.conservative.choice import ACTION, EVENT, choose, would_be_safe
from handrail.conservative.ledger import record_holds
from handrail.conservative.past import NONE
from handrail.conservative.selection import BASELINE_EVENT, OPTIMISTIC_EVENT, awaited
from handrail.estimators.contest import (
    CROSS,
    CROSSES,
    MEAN,
    MEANS,
    MOST,
    TURNS,
    WEIGHTS,
    outsider_square,
    set_base,
    spread,
    spread_squares,
)
from handrail.estimators.fixed import rebuild_fixed
from handrail.policies.fixed import REBUILD_EVERY
from handrail.records import Floats, Ints, Ledger, Record, Rules
from handrail.simulation.leaps import held_rounds
from handrail.simulation.meter import PATIENCE, end_streak, record_fixed, trace
from handrail.simulation.radii import tabulated_psi, tabulated_radius
from handrail.simulation.standing import (
    AHEAD,
    CLOSED,
    FLOORS,
    SMALL_ROWS,
    UPPER,
    WIDE_ROWS,
    Standing,
    join,
    look_around,
    open_contest,
    rank,
    renew,
)
from handrail.simulation.streaks import DRAWN, certified, play_streak
from handrail.vectors import padded

__all__ = ["run_fixed"]

# Rows of `wide` besides those of others.
_LOWER: Final = WIDE_ROWS
_CERTIFIED: Final = WIDE_ROWS + 1
_NOW_MEAN: Final = WIDE_ROWS + 2
_NOW_CROSS: Final = WIDE_ROWS + 3
_NOW_SQUARES: Final = WIDE_ROWS + 4
_ROWS: Final = WIDE_ROWS + 5


@inlined
def _leader_is_safe(
    rules: Rules,
    ledger: Ledger,
    standing: Standing,
    boundaries: Floats,
    small: Floats,
    members: Ints,
    means: Floats,
    beta: float,
    baseline_mean: float,
) -> bool:
    """Say whether the leader is played: there is one, mu_b is not above it, and it is safe."""
    lead = standing.lead
    if lead < 0 or baseline_mean > standing.high:
        return False
    mean = small[MEANS, lead]
    own = small[lead, lead]
    worth = certified(
        rules,
        ledger,
        tabulated_psi(rules, boundaries, ledger.rewards),
        standing.earned + standing.earned_rest,
        standing.centre,
        standing.square,
        beta,
        means[members[lead]],
        mean,
        mean - beta * math.sqrt(max(own, 0.0)),
        small[CROSSES, lead],
        own,
    )
    return would_be_safe(rules, ledger, worth, baseline_mean)


@lean
def _choose(
    rules: Rules,
    ledger: Ledger,
    standing: Standing,
    psi: float,
    gram: Floats,
    wide: Floats,
    small: Floats,
    members: Ints,
    means: Floats,
    beta: float,
    baseline: int,
) -> tuple[int, int, float]:
    """Choose among all arms; return the action, its event and what a baseline round waits for."""
    size = standing.members
    spread(gram, wide, small, members, size, MEAN, WEIGHTS, _NOW_MEAN)
    spread(gram, wide, small, members, size, CROSS, TURNS, _NOW_CROSS)
    spread_squares(gram, wide, small, members, size, _NOW_SQUARES)
    for member in range(size):
        arm = members[member]
        wide[_NOW_MEAN, arm] = small[MEANS, member]
        wide[_NOW_CROSS, arm] = small[CROSSES, member]
        wide[_NOW_SQUARES, arm] = small[member, member]
    for arm in range(means.size):
        width = beta * math.sqrt(max(wide[_NOW_SQUARES, arm], 0.0))
        wide[UPPER, arm] = wide[_NOW_MEAN, arm] + width
        wide[_LOWER, arm] = wide[_NOW_MEAN, arm] - width
        wide[_CERTIFIED, arm] = certified(
            rules,
            ledger,
            psi,
            standing.earned + standing.earned_rest,
            standing.centre,
            standing.square,
            beta,
            means[arm],
            wide[_NOW_MEAN, arm],
            wide[_LOWER, arm],
            wide[_NOW_CROSS, arm],
            wide[_NOW_SQUARES, arm],
        )
    upper = wide[UPPER, : means.size]
    lower = wide[_LOWER, : means.size]
    sums = wide[_CERTIFIED, : means.size]
    mean = means[baseline]
    top = awaited(rules.selection, upper, lower, sums, baseline, mean)
    choice = choose(rules, ledger, upper, lower, sums, 0.0, baseline, mean, mean, means)
    return choice[ACTION], choice[EVENT], top


@lean
def _hold(rules: Rules, ledger: Ledger, top: float, mean: float, limit: int) -> None:
    """Play the baseline once, and on until an action with this past_and_now is safe."""
    record_holds(ledger, 1)
    record_holds(ledger, held_rounds(rules, ledger, top, mean, limit - ledger.rounds))
    while ledger.rounds < limit and not would_be_safe(rules, ledger, top, mean):
        record_holds(ledger, 1)


@lean
def _find(
    rules: Rules,
    standing: Standing,
    gram: Floats,
    wide: Floats,
    small: Floats,
    members: Ints,
    plays: Ints,
    means: Floats,
    arm: int,
) -> int:
    """Return which member an arm is; it becomes one if it is not."""
    for member in range(standing.members):
        if members[member] == arm:
            return member
    if standing.members == MOST:
        renew(rules, standing, gram, wide, small, members, plays, means)
    square = outsider_square(gram, wide, small, members, standing.members, arm)
    return join(standing, gram, wide, small, members, arm, square)


@compiled
def _rebuild(
    rules: Rules,
    ledger: Ledger,
    standing: Standing,
    gram: Floats,
    wide: Floats,
    plays: Ints,
    sums: Floats,
    features: Floats,
    means: Floats,
    without: int,
) -> None:
    """Compute everything afresh from counts."""
    mean, cross, floors = np.zeros((3, plays.size))
    fresh = np.zeros((plays.size, plays.size))
    ledger.log_det = rebuild_fixed(
        features, rules.ridge, plays, plays, sums, mean, fresh, cross, floors
    )
    set_base(gram, wide, mean, fresh, cross, without)
    open_contest(rules, standing, wide, plays, means)


@compiled
def run_fixed(
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
    halt: Ints,
    features: Floats,
    start_gram: Floats,
    radii: Floats,
    boundaries: Floats,
    standing_: Record,
) -> None:
    """Play one run with shortcuts.

    Parameters
    ----------
    rules_, ledger_, meter_, means, baseline, kind, noise, keys, grid, curve, actions, halt
        As for `handrail.simulation.arms.run_arms`.
    features : numpy.ndarray
        Phi, (K, d).
    start_gram : numpy.ndarray
        Phi Phi' / lambda, (K, K): G before the first round.
    radii, boundaries : numpy.ndarray
        From `handrail.simulation.radii.tabulate_radii`, as far as they are tabulated.
    standing_ : numpy.ndarray
        A fresh `handrail.simulation.standing.STANDING`.
    """
    rules = rules_[0]
    ledger = ledger_[0]
    meter = meter_[0]
    standing = standing_[0]
    conservative = rules.past != NONE
    mean = means[baseline]
    arms = means.size
    # Conservative algorithms never learn about the baseline: to them it is no arm.
    without = baseline if conservative else -1
    gram = np.zeros((arms, padded(arms)))
    wide = np.zeros((_ROWS, padded(arms)))
    small = np.zeros((SMALL_ROWS, 2 * MOST))
    row = np.zeros(2 * MOST)
    members, plays = np.zeros(MOST, np.int64), np.zeros(arms, np.int64)
    sums, rewards = np.zeros(arms), np.zeros((arms, DRAWN))
    wide[CLOSED, arms:] = -math.inf
    if conservative:
        wide[CLOSED, baseline] = -math.inf
    set_base(gram, wide, sums, start_gram, sums, without)
    open_contest(rules, standing, wide, plays, means)
    ledger.constant = 1
    ledger.baseline_mean = mean
    point, horizon = 0, grid[-1]
    while ledger.rounds < horizon:
        if halt[0] != 0:
            return
        if standing.worn == 1:
            _rebuild(rules, ledger, standing, gram, wide, plays, sums, features, means, without)
        start = ledger.rounds
        beta = tabulated_radius(rules, radii, ledger.rows, ledger.log_det)
        rank(standing, small, members, beta)
        if not standing.high > standing.far + AHEAD and not look_around(
            standing, gram, wide, small, members, beta
        ):
            renew(rules, standing, gram, wide, small, members, plays, means)
            continue
        member = standing.lead
        event, longest = OPTIMISTIC_EVENT, PATIENCE
        if conservative and not _leader_is_safe(
            rules, ledger, standing, boundaries, small, members, means, beta, mean
        ):
            psi = tabulated_psi(rules, boundaries, ledger.rewards)
            arm, event, top = _choose(
                rules, ledger, standing, psi, gram, wide, small, members, means, beta, baseline
            )
            if event == BASELINE_EVENT:
                _hold(rules, ledger, top, mean, min(grid[point], start + PATIENCE))
                earned = standing.earned + standing.earned_rest
                end_streak(meter, ledger, earned, mean, mean, event, start)
                if actions.size > 0:
                    trace(actions, start, ledger.rounds, arm)
                if ledger.rounds == grid[point]:
                    record_fixed(meter, ledger, plays, means, mean, curve, point)
                    point += 1
                continue
            member = _find(rules, standing, gram, wide, small, members, plays, means, arm)
            longest = 1  # the standing may be about another leader
        arm = members[member]
        if not conservative and arm == baseline:
            event = BASELINE_EVENT
        limit = min(horizon, start + longest, start + REBUILD_EVERY - ledger.rows % REBUILD_EVERY)
        total, point = play_streak(
            rules, ledger, standing, radii, boundaries, small, row, rewards, arm, member,
            plays[arm], event, kind, means[arm], noise, keys[arm], beta, mean, limit,
            meter, means, plays, grid, curve, actions, point,
        )  # fmt: skip
        sums[arm] += total
        if ledger.rows % REBUILD_EVERY == 0:
            standing.worn = 1
        elif small[member, member] < small[FLOORS, member]:
            renew(rules, standing, gram, wide, small, members, plays, means)
