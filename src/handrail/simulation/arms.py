"""Runs of the multi-armed algorithms: round by round, and with exact shortcuts.

Both call the rules of the policies. The fast path rests on these facts:

- With a width that depends on an arm's plays only, playing an arm moves that arm's bounds alone: the
  most optimistic arm stays so until it falls behind the runner-up.
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
from handrail.compiled import compiled, inlined
from handrail.conservative.choice import ACTION, EVENT, PROMISE, conclude, would_be_safe
from handrail.conservative.ledger import (
    record_decision,
    record_holds,
    record_play,
    record_plays,
    record_reward,
)
from handrail.conservative.past import (
    ARM_SUMS,
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
from handrail.policies.arms import decide_arms, reward_arms
from handrail.records import Floats, Ints, Ledger, Record, Rules
from handrail.simulation.leaps import held_rounds, stays_safe
from handrail.simulation.meter import PATIENCE, end_rounds, record_fixed

__all__ = ["run_arms", "run_arms_plain", "tabulate"]

_LEAP: Final = 8
"""Rounds from which on a leap is cheaper than going through them."""


@compiled
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


@compiled
def run_arms_plain(
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
) -> None:
    """Play one run round by round; see `run_arms`."""
    ledger = ledger_[0]
    meter = meter_[0]
    mean = means[baseline]
    plays = np.zeros(means.size, np.int64)
    counts = np.zeros(means.size, np.int64)
    sums = np.zeros(means.size)
    work = np.empty((3, means.size))
    for point in range(grid.size):
        while ledger.rounds < grid[point]:
            if halt[0] != 0:
                return
            choice = decide_arms(rules_, ledger_, plays, counts, sums, means, work, baseline, mean)
            arm = choice[ACTION]
            if ledger.pending > 0:
                reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                reward_arms(ledger_, counts, sums, arm, choice[PROMISE], reward)
            start = ledger.rounds - 1
            end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], start, actions)
        record_fixed(meter, ledger, plays, means, mean, curve[point])


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


@inlined
def _psi(rules: Rules, boundaries: Floats, count: int) -> float:
    """Return psi of so many rewards, from the table where it has it."""
    return float(boundaries[count]) if count < boundaries.size else boundary(rules, count)


@compiled
def _past(
    rules: Rules, ledger: Ledger, boundaries: Floats, plays: Ints, lower: Floats, means: Floats
) -> float:
    psi = _psi(rules, boundaries, ledger.rewards) if rules.past == MARTINGALE else 0.0
    return past_of_arms(rules, ledger, psi, plays, lower, means)


@compiled
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


@compiled
def _stays_ahead(
    rules: Rules,
    ledger: Ledger,
    widths: Floats,
    counts: Ints,
    sums: Floats,
    arm: int,
    skip: int,
    bar: float,
    rounds: int,
) -> bool:
    """Say whether an arm certainly leads in so many coming rounds, whatever it earns in them.

    `bar` is what its upper bound must exceed: with a width that moves with the round mu_b alone,
    as the upper bounds of other arms, largest in the last round, are looked at here.
    """
    later = counts[arm] + rounds
    now = ledger.rounds + 1
    least = sums[arm] / later + _width(rules, widths, later, now)
    if not least > bar:
        return False
    if rules.width != UCB1:
        return True
    last = ledger.rounds + rounds
    for other in range(counts.size):
        if other in (arm, skip):
            continue
        if counts[other] == 0:
            return False
        width = _width(rules, widths, counts[other], last)
        if not least > sums[other] / counts[other] + width:
            return False
    return True


@compiled
def _sure_rounds(
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
    most: int,
) -> int:
    """Return in how many coming rounds an arm is certainly safe, played in all of them."""
    others = 0.0
    if rules.past == ORACLE:
        others = oracle_sums(counts, means)
    elif rules.past == ARM_SUMS and rules.width != UCB1:
        others = _earned_besides(rules, counts, lower, arm)
    rounds = most
    while rounds > 0:
        later = counts[arm] + rounds
        last = ledger.rounds + rounds
        own = 0.0
        psi = 0.0
        if rules.past == ARM_SUMS:
            own = sums[arm] - later * _width(rules, widths, later, last)
            if rules.width == UCB1:
                others = 0.0
                for other in range(counts.size):
                    if other != arm and counts[other] > 0:
                        width = _width(rules, widths, counts[other], last)
                        low = sums[other] / counts[other] - width
                        others += counts[other] * clipped(rules, low)
        elif rules.past == MARTINGALE:
            psi = _psi(rules, boundaries, ledger.rewards + rounds)
        if stays_safe(rules, ledger, rounds, mean, others, own, means[arm], psi):
            return rounds
        rounds //= 4
    return 0


@compiled
def _earned_besides(rules: Rules, counts: Ints, lower: Floats, arm: int) -> float:
    total = 0.0
    for other in range(counts.size):
        if other != arm and counts[other] > 0:
            total += counts[other] * clipped(rules, lower[other])
    return total


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
    skip = baseline if conservative else -1
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
                margins[:] = certified
            choice, held = conclude(rules, ledger, upper, lower, margins, past, baseline, mean)
            arm = choice[ACTION]
            if held and moving:
                # Lower bounds fall with the round: later no margin is larger than it would be now.
                top = -math.inf
                for action in range(means.size):
                    if action != baseline:
                        top = max(top, certified[action])
                most = limit - ledger.rounds
                record_holds(ledger, held_rounds(rules, ledger, top, mean, most))
            elif held:
                top = awaited(rules.selection, upper, lower, certified, baseline, mean)
                most = limit - ledger.rounds
                record_holds(ledger, held_rounds(rules, ledger, top, mean, most))
                while ledger.rounds < limit and not would_be_safe(rules, ledger, top, mean):
                    record_decision(ledger, mean, True, 0.0)
            else:
                reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                record_reward(ledger, choice[PROMISE], reward)
                learn_mean(counts, sums, arm, reward)
                width = _width(rules, widths, counts[arm], ledger.rounds + 1)
                bound_mean(counts, sums, arm, width, upper, lower)
                # Every selection plays the most optimistic arm while it is safe.
                streak = choice[EVENT] == OPTIMISTIC_EVENT or not conservative
                rival = -1 if moving else most_optimistic(upper, arm, skip)
                bar = mean if conservative else -math.inf
                if rival >= 0:
                    bar = max(bar, upper[rival])
                leaps = kind == BERNOULLI and counts[arm] >= settled
                sure = 0
                pause = 0
                while streak and ledger.rounds < limit:
                    if not moving and not leads(upper, arm, rival):
                        break
                    most = limit - ledger.rounds
                    if conservative:
                        if not moving and mean > upper[arm]:
                            break
                        if sure == 0 and leaps:
                            sure = _sure_rounds(
                                rules, ledger, widths, boundaries, counts, sums, lower, means,
                                arm, mean, most,
                            )  # fmt: skip
                        if sure == 0:
                            if moving:
                                break
                            past = _past(rules, ledger, boundaries, counts, lower, means)
                            now = past_and_now(rules, past, lower, means, arm)
                            if not would_be_safe(rules, ledger, now, mean):
                                break
                            sure = 1
                        most = min(most, sure)
                    if leaps and most >= _LEAP and pause == 0:
                        leap = min(leap, most)
                        while leap >= _LEAP and not _stays_ahead(
                            rules, ledger, widths, counts, sums, arm, skip, bar, leap
                        ):
                            leap //= 2
                        if leap >= _LEAP:
                            earned = successes(means[arm], keys[arm], counts[arm], leap)
                            record_plays(ledger, leap, earned)
                            counts[arm] += leap
                            sums[arm] += earned
                            sure -= leap
                            width = _width(rules, widths, counts[arm], ledger.rounds + 1)
                            bound_mean(counts, sums, arm, width, upper, lower)
                            leap *= 2
                            continue
                        leap = _LEAP
                        pause = _LEAP // 2
                    if moving:
                        break
                    if pause > 0:
                        pause -= 1
                    sure -= 1
                    reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                    record_play(ledger, mean, reward)
                    learn_mean(counts, sums, arm, reward)
                    width = _width(rules, widths, counts[arm], 0)
                    bound_mean(counts, sums, arm, width, upper, lower)
            end_rounds(meter, ledger, counts, means, mean, arm, choice[EVENT], start, actions)
        record_fixed(meter, ledger, counts, means, mean, curve[point])
