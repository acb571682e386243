"""Streaks of one arm in a contest: its own numbers in closed form, those of all others bounded."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from handrail.bounds.ellipsoid import DETERMINANT
from handrail.compiled import compiled, inlined
from handrail.conservative.choice import would_be_safe
from handrail.conservative.ledger import add, record_plays
from handrail.conservative.past import NONE, ORACLE, SELF_NORMALISED, martingale, self_normalised
from handrail.conservative.selection import SAFE_EVENT
from handrail.counter import normals
from handrail.environments.rewards import BERNOULLI, draw
from handrail.estimators.contest import CROSSES, MEANS, MOST, add_streak
from handrail.records import Floats, Ints, Ledger, Rules
from handrail.simulation.meter import Meter, end_streak, record_fixed, trace
from handrail.simulation.radii import tabulated_psi, tabulated_radius
from handrail.simulation.standing import AHEAD, REACH, Standing

__all__ = ["DRAWN", "certified", "play_streak"]

DRAWN: Final = 64
"""Rewards of an arm that are drawn at a time."""


@compiled
def _draw_more(
    kind: int, mean: float, noise: float, key: np.uint64, first: int, rewards: Floats, arm: int
) -> None:
    """Draw an arm's next rewards."""
    if kind == BERNOULLI:
        for i in range(DRAWN):
            rewards[arm, i] = draw(kind, mean, noise, key, first + i)
        return
    normals(key, first, rewards[arm])
    for i in range(DRAWN):
        rewards[arm, i] = mean + noise * rewards[arm, i]


@inlined
def certified(
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
def play_streak(
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
        slot = (played + count) % DRAWN
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
            worth = certified(
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
            if mean > now + width or not would_be_safe(rules, ledger, worth, mean):
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
