"""Runs of the multi-armed algorithms: round by round, and with exact shortcuts.

Both call the rules of the policies. The fast path rests on three facts: with a width that depends
on an arm's plays only, playing an arm moves that arm's bounds alone, so the most optimistic arm
stays so until it falls behind the runner-up; while the baseline is played no bound moves at all;
and widths can be tabulated. Every comparison is made on the same floating-point numbers as in the
plain path, so the actions are the same.
"""

from __future__ import annotations

import math

import numpy as np

from handrail.bounds.arm import arm_width
from handrail.compiled import compiled
from handrail.conservative.choice import ACTION, EVENT, PROMISE, conclude, would_be_safe
from handrail.conservative.ledger import record_decision, record_play, record_reward
from handrail.conservative.past import (
    MARTINGALE,
    NONE,
    boundary,
    past_and_now,
    past_of_arms,
    past_plus_now,
)
from handrail.conservative.selection import OPTIMISTIC_EVENT, awaited, leads, most_optimistic
from handrail.environments.rewards import draw
from handrail.estimators.means import bound_mean, learn_mean
from handrail.policies.arms import decide_arms, reward_arms
from handrail.records import Floats, Ints, Ledger, Record, Rules
from handrail.simulation.meter import PATIENCE, end_rounds, record_fixed

__all__ = ["run_arms", "run_arms_plain", "tabulate"]


@compiled
def tabulate(rules_: Record, widths: Floats, boundaries: Floats) -> None:
    """Fill in the width of an arm by its plays, and psi by the number of rewards."""
    rules = rules_[0]
    for plays in range(1, widths.size):
        widths[plays] = arm_width(
            rules.width, plays, 0, rules.arms, rules.noise, rules.estimator_level, rules.arm_rho
        )
    for count in range(boundaries.size):
        boundaries[count] = boundary(rules, count)


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


@compiled
def _past(
    rules: Rules, ledger: Ledger, boundaries: Floats, plays: Ints, lower: Floats, means: Floats
) -> float:
    psi = boundaries[ledger.rewards] if rules.past == MARTINGALE else 0.0
    return past_of_arms(rules, ledger, psi, plays, lower, means)


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
) -> None:
    """Play one run with shortcuts; not for widths that move with the round.

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
    widths, boundaries : numpy.ndarray
        From `tabulate`, up to the horizon.
    """
    rules = rules_[0]
    ledger = ledger_[0]
    meter = meter_[0]
    conservative = rules.past != NONE
    mean = means[baseline]
    skip = baseline if conservative else -1
    plays = np.zeros(means.size, np.int64)
    counts = np.zeros(means.size, np.int64)
    sums = np.zeros(means.size)
    upper = np.full(means.size, math.inf)
    lower = np.zeros(means.size)
    certified = np.zeros(means.size)
    margins = np.zeros(means.size)
    for point in range(grid.size):
        stop = grid[point]
        while ledger.rounds < stop:
            if halt[0] != 0:
                return
            start = ledger.rounds
            limit = min(stop, start + PATIENCE)
            past = 0.0
            if conservative:
                past = _past(rules, ledger, boundaries, plays, lower, means)
                past_plus_now(rules, past, lower, means, certified)
                margins[:] = certified
            choice, held = conclude(rules, ledger, upper, lower, margins, past, baseline, mean)
            arm = choice[ACTION]
            if held:
                top = awaited(rules.selection, upper, lower, certified, baseline, mean)
                while ledger.rounds < limit and not would_be_safe(rules, ledger, top, mean):
                    record_decision(ledger, mean, True, 0.0)
            else:
                plays[arm] += 1
                reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                record_reward(ledger, choice[PROMISE], reward)
                learn_mean(counts, sums, arm, reward)
                bound_mean(counts, sums, arm, widths[counts[arm]], upper, lower)
                # Every selection plays the most optimistic arm while it is safe.
                streak = choice[EVENT] == OPTIMISTIC_EVENT or not conservative
                rival = most_optimistic(upper, arm, skip)
                while streak and ledger.rounds < limit and leads(upper, arm, rival):
                    if conservative:
                        past = _past(rules, ledger, boundaries, plays, lower, means)
                        now = past_and_now(rules, past, lower, means, arm)
                        if mean > upper[arm] or not would_be_safe(rules, ledger, now, mean):
                            break
                    plays[arm] += 1
                    reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
                    record_play(ledger, mean, reward)
                    learn_mean(counts, sums, arm, reward)
                    bound_mean(counts, sums, arm, widths[counts[arm]], upper, lower)
            end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], start, actions)
        record_fixed(meter, ledger, plays, means, mean, curve[point])
