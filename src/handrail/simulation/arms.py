"""Runs of the multi-armed algorithms, with exact shortcuts.

The plain path (`handrail.simulation.plain`) decides every round. This one rests on these facts:

- With a width that depends on an arm's plays only, playing an arm moves that arm's bounds alone:
  the most optimistic arm stays so until it falls behind the runner-up. With one that grows with
  the round, the others' bounds of a later round say how far they can have come until then.
- While the baseline is played no bound moves at all.
- Rewards that are 0 or 1 bound how far an arm can fall, and a margin, in so many rounds: as long
  as neither can change a decision, rewards are only counted (`handrail.simulation.leaps`).
- Widths and boundaries can be tabulated.

Every comparison that decides is made on the same floating-point numbers as in the plain path, so
the actions are the same.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from handrail.bounds.arm import UCB1, arm_width, ucb1_growth, ucb1_width
from handrail.compiled import compiled, inlined, lean
from handrail.conservative.choice import ACTION, EVENT, PROMISE, conclude, would_be_safe
from handrail.conservative.ledger import (
    record_holds,
    record_plays,
    record_reward,
)
from handrail.conservative.past import (
    MARTINGALE,
    NONE,
    ORACLE,
    boundary,
    clipped,
    oracle_sums,
    past_and_now,
    past_of_arms,
    past_plus_now,
)
from handrail.conservative.selection import OPTIMISTIC_EVENT, awaited, leads, most_optimistic
from handrail.environments.rewards import BERNOULLI, draw, successes
from handrail.estimators.means import bound_mean, learn_mean
from handrail.records import Floats, Ints, Ledger, Record, Rules
from handrail.simulation.leaps import held_rounds, stays_safe
from handrail.simulation.meter import PATIENCE, end_rounds, record_fixed
from handrail.simulation.radii import tabulated_psi

__all__ = ["run_arms", "tabulate"]

_LEAP: Final = 8
"""Rounds from which on a leap is cheaper than going through them."""
_AHEAD: Final = 8
"""Rivals whose width moves with the round t are bounded for the next t / 2^8 rounds at a time."""


@lean
def tabulate(rules_: Record, widths: Floats, boundaries: Floats) -> int:
    """Fill in the width of an arm by its plays, and psi by the number of rewards.

    The width of `ucb1` moves with the round: its table holds 2 log t by the round t. Returns the
    number of plays from which on widths fall, N times the width rises and psi rises: what leaps
    rest on.
    """
    rules = rules_[0]
    settled = 1
    for plays in range(1, widths.size):
        if rules.width == UCB1:
            widths[plays] = ucb1_growth(plays)
            continue
        widths[plays] = arm_width(
            rules.width, plays, 0, rules.arms, rules.noise, rules.estimator_level, rules.arm_rho
        )
        before = widths[plays - 1]
        falls = widths[plays] <= before and plays * widths[plays] >= (plays - 1) * before
        if plays > 1 and not falls:
            settled = plays
    for count in range(boundaries.size):
        boundaries[count] = boundary(rules, count)
        if count > 0 and not boundaries[count] >= boundaries[count - 1]:
            settled = max(settled, count)
    return settled


@inlined
def _width(rules: Rules, widths: Floats, plays: int, now: int) -> float:
    """Return the width of an arm, from the table where it has it."""
    if rules.width == UCB1:
        growth = widths[now] if now < widths.size else ucb1_growth(now)
        return ucb1_width(growth, float(plays))
    if plays < widths.size:
        return float(widths[plays])
    return arm_width(
        rules.width, plays, 0, rules.arms, rules.noise, rules.estimator_level, rules.arm_rho
    )


@lean
def _past(
    rules: Rules, ledger: Ledger, boundaries: Floats, plays: Ints, lower: Floats, means: Floats
) -> float:
    psi = tabulated_psi(rules, boundaries, ledger.rewards) if rules.past == MARTINGALE else 0.0
    return past_of_arms(rules, ledger, psi, plays, lower, means)


@lean
def _bound_all(
    rules: Rules,
    ledger: Ledger,
    widths: Floats,
    counts: Ints,
    sums: Floats,
    upper: Floats,
    lower: Floats,
) -> None:
    """Bring all bounds to the coming round, for a width that moves with it."""
    now = ledger.rounds + 1
    for arm in range(counts.size):
        if counts[arm] > 0:
            width = _width(rules, widths, counts[arm], now)
            bound_mean(counts, sums, arm, width, upper, lower)


@lean
def _bar(
    rules: Rules,
    widths: Floats,
    counts: Ints,
    sums: Floats,
    arm: int,
    skip: int,
    last: int,
) -> float:
    """Return what no other arm's upper bound exceeds until a round, with a width that moves."""
    bar = -math.inf
    for other in range(counts.size):
        if other not in (arm, skip):
            if counts[other] == 0:
                bar = math.inf
            else:
                width = _width(rules, widths, counts[other], last)
                bar = max(bar, sums[other] / counts[other] + width)
    return bar


@lean
def _is_sure(
    rules: Rules,
    ledger: Ledger,
    widths: Floats,
    boundaries: Floats,
    counts: Ints,
    sums: Floats,
    lower: Floats,
    means: Floats,
    arm: int,
    mean: float,
    rounds: int,
) -> bool:
    """Say whether an arm is certainly safe in so many coming rounds, played in all of them."""
    later = counts[arm] + rounds
    last = ledger.rounds + rounds
    others = own = psi = 0.0
    if rules.past == ORACLE:
        others = oracle_sums(counts, means)
    elif rules.past == MARTINGALE:
        psi = tabulated_psi(rules, boundaries, ledger.rewards + rounds)
    else:
        own = sums[arm] - later * _width(rules, widths, later, last)
        for other in range(counts.size):
            if other != arm and counts[other] > 0:
                low = lower[other]
                if rules.width == UCB1:
                    width = _width(rules, widths, counts[other], last)
                    low = sums[other] / counts[other] - width
                others += counts[other] * clipped(rules, low)
    return stays_safe(rules, ledger, rounds, mean, others, own, means[arm], psi)


@lean
def _hold(
    rules: Rules,
    ledger: Ledger,
    upper: Floats,
    lower: Floats,
    certified: Floats,
    baseline: int,
    mean: float,
    limit: int,
) -> None:
    """Play the baseline on, while no action is safe for certain."""
    if rules.width == UCB1:
        # Lower bounds fall with the round: no later margin is larger than it would be now.
        top = -math.inf
        for action in range(certified.size):
            top = max(top, certified[action] if action != baseline else -math.inf)
    else:
        top = awaited(rules.selection, upper, lower, certified, baseline, mean)
    record_holds(ledger, held_rounds(rules, ledger, top, mean, limit - ledger.rounds))
    if rules.width != UCB1:
        while ledger.rounds < limit and not would_be_safe(rules, ledger, top, mean):
            record_holds(ledger, 1)


@inlined
def _leap(
    rules: Rules,
    ledger: Ledger,
    widths: Floats,
    count: int,
    total: float,
    bar: float,
    longest: int,
) -> int:
    """Return a number of rounds in which an arm stays above the bar whatever it earns, or 0.

    Of rewards from 0 up an arm's upper bound falls most if all are 0.
    """
    rounds = longest
    while rounds >= _LEAP:
        later = count + rounds
        if total / later + _width(rules, widths, later, ledger.rounds + 1) > bar:
            return rounds
        rounds //= 2
    return 0


@lean
def _play_streak(
    rules: Rules,
    ledger: Ledger,
    widths: Floats,
    boundaries: Floats,
    counts: Ints,
    sums: Floats,
    upper: Floats,
    lower: Floats,
    means: Floats,
    arm: int,
    baseline: int,
    settled: int,
    kind: int,
    noise: float,
    key: np.uint64,
    longest: int,
    limit: int,
) -> int:
    """Play the most optimistic arm on while it is so and safe; return how far to leap next time."""
    conservative = rules.past != NONE
    moving = rules.width == UCB1
    mean = means[baseline]
    skip = baseline if conservative else -1
    floor = mean if conservative else -math.inf
    rival = -1 if moving else most_optimistic(upper, arm, skip)
    bar = floor if rival < 0 else max(floor, upper[rival])
    until = ledger.rounds if moving else limit
    leaps = kind == BERNOULLI and counts[arm] >= settled
    sure = pause = 0
    while ledger.rounds < limit:
        if moving and ledger.rounds == until:
            until = min(limit, until + 1 + (until >> _AHEAD))
            bar = max(floor, _bar(rules, widths, counts, sums, arm, skip, until))
        ahead = upper[arm] > bar if moving else leads(upper, arm, rival) and floor <= upper[arm]
        if not ahead:
            break
        if conservative and sure == 0:
            sure = until - ledger.rounds if leaps else 0
            while sure > 0 and not _is_sure(
                rules, ledger, widths, boundaries, counts, sums, lower, means, arm, mean, sure
            ):
                sure //= 4
            if sure == 0:
                past = _past(rules, ledger, boundaries, counts, lower, means)
                now = past_and_now(rules, past, lower, means, arm)
                # With a width that moves, the other arms' lower bounds are those of an earlier
                # round.
                if moving or not would_be_safe(rules, ledger, now, mean):
                    break
                sure = 1
        rounds = 0
        most = until - ledger.rounds
        if leaps and pause == 0:
            most = min(longest, min(most, sure) if conservative else most)
            rounds = _leap(rules, ledger, widths, counts[arm], sums[arm], bar, most)
            longest = 2 * max(rounds, _LEAP)
            pause = 0 if rounds > 0 else _LEAP // 2
        if rounds > 0:
            reward = float(successes(means[arm], key, counts[arm], rounds))
        else:
            rounds = 1
            pause -= 1
            reward = draw(kind, means[arm], noise, key, counts[arm])
        record_plays(ledger, rounds, reward)
        counts[arm] += rounds
        sums[arm] += reward
        sure -= rounds
        width = _width(rules, widths, counts[arm], ledger.rounds + 1)
        bound_mean(counts, sums, arm, width, upper, lower)
    return longest


@compiled
def run_arms(
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
    widths: Floats,
    boundaries: Floats,
    settled: int,
) -> None:
    """Play one run with shortcuts.

    Parameters
    ----------
    rules_, ledger_, meter_ : numpy.ndarray
        What was agreed; a fresh ledger and a fresh meter.
    means : numpy.ndarray
        The true means.
    baseline : int
        The baseline's arm.
    kind, noise : int, float
        How rewards are drawn.
    keys : numpy.ndarray
        The stream of each arm: its j-th reward is the j-th number.
    grid : numpy.ndarray
        The rounds at which the run is recorded, increasing; the last is the horizon.
    curve : numpy.ndarray of shape (points, 4)
        Where regret, budget and the counts of E1 and E2 are put.
    actions : numpy.ndarray
        Where every action is put, if it has room for all; an empty array for no trace.
    halt : numpy.ndarray
        The run is given up when its only number is no longer 0.
    widths, boundaries, settled : numpy.ndarray, numpy.ndarray, int
        From `tabulate`, up to the horizon.
    """
    rules = rules_[0]
    ledger = ledger_[0]
    meter = meter_[0]
    conservative = rules.past != NONE
    moving = rules.width == UCB1
    mean = means[baseline]
    counts = np.zeros(means.size, np.int64)  # rewards come at once: these are the plays too
    sums = np.zeros(means.size)
    upper = np.full(means.size, math.inf)
    lower = np.zeros(means.size)
    certified = np.zeros(means.size)
    margins = np.zeros(means.size)
    leap = _LEAP
    for point in range(grid.size):
        stop = grid[point]
        while ledger.rounds < stop:
            if halt[0] != 0:
                return
            start = ledger.rounds
            limit = min(stop, start + PATIENCE)
            if moving:
                _bound_all(rules, ledger, widths, counts, sums, upper, lower)
            past = 0.0
            if conservative:
                past = _past(rules, ledger, boundaries, counts, lower, means)
                past_plus_now(rules, past, lower, means, certified)
                for other in range(means.size):
                    margins[other] = certified[other]
            choice, held = conclude(
                rules, ledger, upper, lower, margins, past, baseline, mean, mean, means
            )
            arm = choice[ACTION]
            event = choice[EVENT]
            if held:
                _hold(rules, ledger, upper, lower, certified, baseline, mean, limit)
            else:
                reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                record_reward(ledger, choice[PROMISE], reward)
                learn_mean(counts, sums, arm, reward)
                width = _width(rules, widths, counts[arm], ledger.rounds + 1)
                bound_mean(counts, sums, arm, width, upper, lower)
                # Every selection plays the most optimistic arm while it is safe.
                if event == OPTIMISTIC_EVENT or not conservative:
                    leap = _play_streak(
                        rules, ledger, widths, boundaries, counts, sums, upper, lower, means,
                        arm, baseline, settled, kind, noise, keys[arm], leap, limit,
                    )  # fmt: skip
            end_rounds(meter, ledger, counts, means, mean, arm, event, start, actions)
        record_fixed(meter, ledger, counts, means, mean, curve, point)
