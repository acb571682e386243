"""How many rounds can be taken in one leap, because their decisions are certain beforehand.

Every answer here is a lower bound: a leap ends a little before the decision may change, by a guard
that is far above rounding, and the round it lands on is decided by the rules themselves.
"""

from __future__ import annotations

from typing import Final

from handrail.compiled import inlined, lean
from handrail.conservative.ledger import constant_need
from handrail.conservative.past import ARM_SUMS, MARTINGALE, clipped, martingale
from handrail.conservative.schedule import CHECKPOINTS, next_checkpoint, slack
from handrail.records import Ledger, Rules

__all__ = ["GUARD", "held_rounds", "stays_safe"]

GUARD: Final = 1e-6
"""Margins are taken as certain when they are this far from 0, for every 10^7 rounds begun.

They are sums of as many terms in [0, 1] as there were rounds, rounded at most once an arm: 1e-9
after 10^7 rounds.
"""


@inlined
def _guard(rounds: int) -> float:
    return GUARD * (1 + rounds // 10_000_000)


@lean
def held_rounds(rules: Rules, ledger: Ledger, top: float, mean: float, most: int) -> int:
    """Return in how many coming rounds an action is certainly not safe while nothing is learned.

    Notes
    -----
    In a baseline round the need falls by alpha mu_b and, until the next checkpoint, the slack by
    alpha mu_l; the slack is never above alpha mu_l (T - 1). `top` is the action's past_and_now.
    """
    required = constant_need(rules, ledger.plays + 1, ledger.rounds + 1, mean)
    missing = required - top - _guard(ledger.rounds + most)
    fall = rules.alpha * mean
    if rules.schedule != CHECKPOINTS:
        return _rounds(missing, fall, most)
    share = rules.alpha * rules.baseline_lower
    now = ledger.rounds + 1
    left = next_checkpoint(rules, now) - ledger.rounds
    across = _rounds(missing - share * (rules.checkpoint_every - 1), fall, most)
    within = _rounds(missing - slack(rules, now), fall - share, min(left, most))
    return max(across, within)


@lean
def _rounds(missing: float, fall: float, most: int) -> int:
    """Return for how many rounds something stays missing that falls by so much a round."""
    if not missing > 0.0:
        return 0
    if not fall * most > missing:
        return most
    return int(missing / fall)


@lean
def stays_safe(
    rules: Rules,
    ledger: Ledger,
    rounds: int,
    mean: float,
    others: float,
    own: float,
    truth: float,
    psi: float,
) -> bool:
    """Say whether an action is certainly safe in so many coming rounds, played in all of them.

    Parameters
    ----------
    rules, ledger : records
        As of now.
    rounds : int
        How many, at least 1.
    mean : float
        mu_b.
    others : float
        `arm-sums`: what the other arms' plays are certain to have earned in all these rounds.
        `oracle`: sum_k N_k mu_k now.
    own : float
        `arm-sums`: the least that N_a lower_a can be in any of these rounds.
    truth : float
        `oracle`: mu_a.
    psi : float
        `martingale`: the boundary after these rounds, not below that in any of them.

    Notes
    -----
    Rewards are not below 0. Then the need, which grows by (1 - alpha) mu_b a round, is largest in
    the last round, and the past is at least what it is if all rewards are 0. The slack is smallest
    in the last round too, unless there is a checkpoint on the way: then it is not below 0.
    """
    first = ledger.rounds + 1
    last = ledger.rounds + rounds
    guard = _guard(last)
    extra = 0.0
    if next_checkpoint(rules, first) == next_checkpoint(rules, last):
        extra = slack(rules, last)
    required = constant_need(rules, ledger.plays + rounds, last, mean)
    if rules.past == MARTINGALE:
        past = martingale(rules, ledger, psi)
    elif rules.past == ARM_SUMS:
        past = others + clipped(rules, own)
    else:
        # mu_a may be more than a round costs: then the first round is the one to look at.
        begin = constant_need(rules, ledger.plays + 1, first, mean)
        if not others + truth + extra - begin > guard:
            return False
        past = others + rounds * truth
    return past + extra - required > guard
