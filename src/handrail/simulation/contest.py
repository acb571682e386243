"""Runs of the linear algorithms over fixed arms, with exact shortcuts.

The plain path (`handrail.simulation.fixed`) looks at all arms in every round. This one rests on
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

from handrail.bounds.ellipsoid import DETERMINANT
from handrail.compiled import compiled, inlined, lean
from handrail.conservative.choice import ACTION, EVENT, choose, would_be_safe
from handrail.conservative.ledger import add, record_holds, record_plays
from handrail.conservative.past import (
    NONE,
    ORACLE,
    SELF_NORMALISED,
    martingale,
    self_normalised,
)
from handrail.conservative.selection import (
    BASELINE_EVENT,
    OPTIMISTIC_EVENT,
    SAFE_EVENT,
    awaited,
)
from handrail.counter import normals
from handrail.environments.rewards import BERNOULLI, draw
from handrail.estimators.contest import (
    CROSS,
    CROSSES,
    MEAN,
    MEANS,
    MOST,
    TURNS,
    WEIGHTS,
    add_streak,
    outsider_square,
    set_base,
    settle,
    spread,
    spread_squares,
)
from handrail.estimators.fixed import rebuild_fixed
from handrail.policies.fixed import REBUILD_EVERY
from handrail.records import Floats, Ints, Ledger, Record, Rules
from handrail.simulation.leaps import held_rounds
from handrail.simulation.meter import PATIENCE, Meter, end_streak, record_fixed, trace
from handrail.simulation.radii import tabulated_psi, tabulated_radius
from handrail.simulation.standing import (
    AHEAD,
    CLOSED,
    FLOORS,
    REACH,
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
from handrail.vectors import padded

__all__ = ["run_fixed"]

_DRAWN: Final = 64
"""Rewards of an arm that are drawn at a time."""

# Rows of `wide` besides those of others.
_LOWER: Final = WIDE_ROWS
_CERTIFIED: Final = WIDE_ROWS + 1
_NOW_MEAN: Final = WIDE_ROWS + 2
_NOW_CROSS: Final = WIDE_ROWS + 3
_NOW_SQUARES: Final = WIDE_ROWS + 4
_ROWS: Final = WIDE_ROWS + 5


@compiled
def _draw_more(
    kind: int, mean: float, noise: float, key: np.uint64, first: int, rewards: Floats, arm: int
) -> None:
    """Draw an arm's next rewards."""
    if kind == BERNOULLI:
        for i in range(_DRAWN):
            rewards[arm, i] = draw(kind, mean, noise, key, first + i)
        return
    normals(key, first, rewards[arm])
    for i in range(_DRAWN):
        rewards[arm, i] = mean + noise * rewards[arm, i]


@inlined
def _certified(
    rules: Rules,
    ledger: Ledger,
    psi: float,
    earned: float,
    centre: float,
    square: float,
    beta: float,
    truth: float,
    mean: float,
    lower: float,
    cross: float,
    own: float,
) -> float:
    """Return past_and_now of an arm with these true mean, mean, lower bound, y and G_aa."""
    if rules.past == SELF_NORMALISED:
        return self_normalised(rules, centre + mean, square + 2.0 * cross + own, beta)
    if rules.past == ORACLE:
        return earned + truth
    return martingale(rules, ledger, psi) + max(lower, 0.0)


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
    certified = _certified(
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
    return would_be_safe(rules, ledger, certified, baseline_mean)


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
        wide[_CERTIFIED, arm] = _certified(
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
    certified = wide[_CERTIFIED, : means.size]
    mean = means[baseline]
    top = awaited(rules.selection, upper, lower, certified, baseline, mean)
    choice = choose(rules, ledger, upper, lower, certified, 0.0, baseline, mean)
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


@inlined
def _play_streak(
    rules: Rules,
    ledger: Ledger,
    standing: Standing,
    radii: Floats,
    boundaries: Floats,
    small: Floats,
    row: Floats,
    rewards: Floats,
    arm: int,
    member: int,
    played: int,
    event: int,
    kind: int,
    truth: float,
    noise: float,
    key: np.uint64,
    beta: float,
    mean: float,
    limit: int,
    meter: Meter,
    means: Floats,
    plays: Ints,
    grid: Ints,
    curve: Floats,
    actions: Ints,
    point: int,
) -> tuple[float, int]:
    """Play a member while it leads and is safe for certain.

    Its own numbers follow in closed form, those of all others are bounded. Rounds to be recorded do
    not end a streak: what is recorded must not change how numbers are rounded. Returns what was
    earned, and the next of these rounds.
    """
    conservative = rules.past != NONE
    own, before, cross = small[member, member], small[MEANS, member], small[CROSSES, member]
    near = outer = 0.0
    for other in range(standing.members):
        near = max(near, abs(small[member, other]) if other != member else 0.0)
        outer += small[REACH, other] * abs(small[member, MOST + other])
    rows, log_det = ledger.rows, ledger.log_det
    noted = start = ledger.rounds
    count = 0
    total = x = q = 0.0
    gain = 1.0
    while True:
        slot = (played + count) % _DRAWN
        if slot == 0:
            _draw_more(kind, truth, noise, key, played + count, rewards, arm)
        reward = rewards[arm, slot]
        record_plays(ledger, 1, reward)
        total += reward
        count += 1
        gain = 1.0 / (1.0 + count * own)
        x = (total - count * before) * gain
        q = count * gain * (1.0 - cross)
        if ledger.rounds == grid[point]:
            plays[arm] += ledger.rounds - noted
            earned = standing.earned + (standing.earned_rest + count * truth)
            end_streak(meter, ledger, earned, truth, mean, event, noted)
            record_fixed(meter, ledger, plays, means, mean, curve, point)
            noted = ledger.rounds
            point += 1
        if event == SAFE_EVENT or ledger.rounds >= limit:
            break
        if rules.width == DETERMINANT:
            log_det = ledger.log_det - math.log(gain)
        radius = tabulated_radius(rules, radii, rows + count, log_det)
        now = before + own * x
        width = radius * math.sqrt(own * gain)
        others = max(standing.second + near * abs(x), standing.far + outer * abs(x))
        if not now + width > others + standing.root * (radius - beta) + AHEAD:
            break
        if conservative:
            certified = _certified(
                rules,
                ledger,
                tabulated_psi(rules, boundaries, ledger.rewards),
                standing.earned + (standing.earned_rest + count * truth),
                standing.centre + x * cross + count * now,
                standing.square + cross * q + count * (cross + own * q),
                radius,
                truth,
                now,
                now - width,
                cross + own * q,
                own * gain,
            )
            if mean > now + width or not would_be_safe(rules, ledger, certified, mean):
                break
    add_streak(small, row, standing.members, member, count * gain, x, q)
    standing.centre += x * cross + count * (before + own * x)
    standing.square += cross * q + count * (cross + own * q)
    standing.earned, standing.earned_rest = add(
        standing.earned, standing.earned_rest, count * truth
    )
    ledger.rows += count
    if rules.width == DETERMINANT:
        ledger.log_det -= math.log(gain)
    plays[arm] += ledger.rounds - noted
    if ledger.rounds > noted:
        earned = standing.earned + standing.earned_rest
        end_streak(meter, ledger, earned, truth, mean, event, noted)
    if actions.size > 0:
        trace(actions, start, ledger.rounds, arm)
    return total, point


@compiled
def _rebuild(
    rules: Rules,
    ledger: Ledger,
    standing: Standing,
    gram: Floats,
    wide: Floats,
    small: Floats,
    members: Ints,
    plays: Ints,
    sums: Floats,
    features: Floats,
    means: Floats,
    without: int,
) -> None:
    """Compute everything afresh from counts, in the rounds in which the policies do."""
    mean = np.zeros(plays.size)
    cross = np.zeros(plays.size)
    fresh = np.zeros((plays.size, plays.size))
    log_det = rebuild_fixed(features, rules.ridge, plays, plays, sums, mean, fresh, cross)
    if math.isnan(log_det):
        settle(gram, wide, small, members, standing.members)
    else:
        ledger.log_det = log_det
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
    sums = np.zeros(arms)
    rewards = np.zeros((arms, _DRAWN))
    wide[CLOSED, arms:] = -math.inf
    if conservative:
        wide[CLOSED, baseline] = -math.inf
    set_base(gram, wide, sums, start_gram, sums, without)
    open_contest(rules, standing, wide, plays, means)
    ledger.constant = 1
    ledger.baseline_mean = mean
    point = 0
    horizon = grid[-1]
    while ledger.rounds < horizon:
        if halt[0] != 0:
            return
        start = ledger.rounds
        beta = tabulated_radius(rules, radii, ledger.rows, ledger.log_det)
        rank(standing, small, members, beta)
        if not standing.high > standing.far + AHEAD and not look_around(
            standing, gram, wide, small, members, beta
        ):
            renew(rules, standing, gram, wide, small, members, plays, means)
            continue
        member = standing.lead
        event = OPTIMISTIC_EVENT
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
        arm = members[member]
        if not conservative and arm == baseline:
            event = BASELINE_EVENT
        limit = min(horizon, start + PATIENCE, start + REBUILD_EVERY - ledger.rows % REBUILD_EVERY)
        total, point = _play_streak(
            rules, ledger, standing, radii, boundaries, small, row, rewards, arm, member,
            plays[arm], event, kind, means[arm], noise, keys[arm], beta, mean, limit,
            meter, means, plays, grid, curve, actions, point,
        )  # fmt: skip
        sums[arm] += total
        if ledger.rows % REBUILD_EVERY == 0:
            _rebuild(
                rules, ledger, standing, gram, wide, small, members, plays, sums, features,
                means, without,
            )  # fmt: skip
        elif small[member, member] < small[FLOORS, member]:
            renew(rules, standing, gram, wide, small, members, plays, means)
