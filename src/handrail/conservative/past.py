"""Past bounds: lower bounds on the reward of the rounds in S, alone and with one more action.

`arm-sums`, `martingale` and `oracle` are a past plus the action's own lower bound (or true
mean); `self-normalised` bounds both in one, along the summed features.

References
----------
Y. Wu et al. (2016), Conservative bandits (`arm-sums`). A. Kazerouni et al. (2017), Conservative
contextual linear bandits (`self-normalised`). E. Garcelon et al. (2020), Improved algorithms for
conservative exploration in bandits, Eqs. (6), (7) and (12) (`martingale`).

Notes
-----
`larger` rests on the events of both bounds. An algorithm with a martingale past pays for both
already, since the action's own lower bound rests on the estimator: taking the larger is free.
"""

from __future__ import annotations

import math
from typing import Final

from handrail.bounds.bernstein import bernstein
from handrail.bounds.cumulative import BERNSTEIN, cumulative
from handrail.compiled import inlined, lean
from handrail.records import Floats, Ints, Ledger, Rules
from handrail.vectors import LANES, larger, load, root, splat, store

__all__ = [
    "ARM_SUMS",
    "CLIPS",
    "LARGER",
    "MARTINGALE",
    "NONE",
    "ORACLE",
    "PASTS",
    "SELF_NORMALISED",
    "arm_sums",
    "bound_lanes",
    "boundary",
    "clipped",
    "counts_now",
    "current_boundary",
    "martingale",
    "oracle_sums",
    "past_and_now",
    "past_of_arms",
    "past_plus_now",
    "self_normalised",
    "self_normalised_lanes",
    "sums_features",
    "sums_rewards",
    "unconfirmed",
]

NONE: Final = 0
ARM_SUMS: Final = 1
SELF_NORMALISED: Final = 2
MARTINGALE: Final = 3
ORACLE: Final = 4
LARGER: Final = 5
"""The larger of `martingale` and `arm-sums` or `self-normalised`: both hold at once."""

PASTS: Final = {
    "none": NONE,
    "arm-sums": ARM_SUMS,
    "self-normalised": SELF_NORMALISED,
    "martingale": MARTINGALE,
    "oracle": ORACLE,
    "larger": LARGER,
}

CLIPS: Final = {"none": 0, "zero": 1}


@lean
def clipped(rules: Rules, value: float) -> float:
    """Cut a past term at 0, below which no sum of means >= 0 can lie, unless told otherwise."""
    return max(value, 0.0) if rules.clip_zero == 1 else value


@inlined
def arm_sums(rules: Rules, plays: Ints, lower: Floats) -> float:
    """Return sum_k N_k max(lower_k, 0), N_k the plays of arm k in S that are counted."""
    total = 0.0
    for arm in range(plays.size):
        if plays[arm] > 0:
            total += plays[arm] * clipped(rules, lower[arm])
    return total


@inlined
def oracle_sums(plays: Ints, truth: Floats) -> float:
    """Return sum_k N_k mu_k."""
    total = 0.0
    for arm in range(plays.size):
        total += plays[arm] * truth[arm]
    return total


@lean
def boundary(rules: Rules, count: int) -> float:
    """Return psi of so many rewards, as agreed."""
    return cumulative(
        rules.cumulative, count, rules.noise, rules.martingale_level, rules.cumulative_rho
    )


@lean
def sums_rewards(rules: Rules) -> bool:
    """Say whether the past bound is, also, a martingale's."""
    return rules.past in (MARTINGALE, LARGER)


@lean
def sums_features(rules: Rules) -> bool:
    """Say whether a linear past bound is, also, taken along the summed features."""
    return rules.past in (SELF_NORMALISED, LARGER)


@lean
def current_boundary(rules: Rules, ledger: Ledger) -> float:
    """Return psi as of now; 0 where the past is no martingale."""
    if not sums_rewards(rules):
        return 0.0
    if rules.cumulative == BERNSTEIN:
        return bernstein(ledger.variation, rules.martingale_level) if ledger.rewards > 0 else 0.0
    return boundary(rules, ledger.rewards)


@lean
def martingale(rules: Rules, ledger: Ledger, psi: float) -> float:
    """Return max(sum r - psi, 0) over the rewards that came, plus the promises of the others.

    psi is the boundary of so many rewards. A round without a reward counts max(lower, 0) as of
    its decision.
    """
    earned = clipped(rules, ledger.reward + ledger.reward_rest - psi)
    promised = ledger.promised + ledger.promised_rest
    return earned + promised + ledger.waived + ledger.waived_rest


@lean
def unconfirmed(rules: Rules, ledger: Ledger) -> float:
    """Return what rounds without a reward count beside arm sums and summed features.

    Notes
    -----
    Nothing, where every round is held to have been played as decided: then N_k and x have it. Where
    rounds have to be confirmed, N_k and x have those whose reward came, and each of the others
    counts its promise (`promised`).
    """
    if rules.confirm == 0:
        return 0.0
    return ledger.promised + ledger.promised_rest + ledger.waived + ledger.waived_rest


@inlined
def past_of_arms(
    rules: Rules, ledger: Ledger, psi: float, plays: Ints, lower: Floats, truth: Floats
) -> float:
    """Return the past bound of S alone over fixed arms, where no features are summed."""
    if rules.past == ARM_SUMS:
        return arm_sums(rules, plays, lower) + unconfirmed(rules, ledger)
    if rules.past == MARTINGALE:
        return martingale(rules, ledger, psi)
    if rules.past == ORACLE:
        return oracle_sums(plays, truth) + unconfirmed(rules, ledger)
    if rules.past == LARGER:
        sums = arm_sums(rules, plays, lower) + unconfirmed(rules, ledger)
        return max(martingale(rules, ledger, psi), sums)
    return 0.0


@lean
def self_normalised(rules: Rules, centre: float, square: float, beta: float) -> float:
    """Return max(<theta_hat, x> - beta ||x||_{V^-1}, 0), given the product and the squared norm."""
    return clipped(rules, centre - beta * math.sqrt(max(square, 0.0)))


@lean
def counts_now(rules: Rules) -> bool:
    """Say whether the reward of the action at hand counts: not where its decision may be lost.

    It is then a round like the others that are not confirmed. Edition 1 counted it.
    """
    return rules.confirm == 0 or rules.credit == 1


@inlined
def past_and_now(rules: Rules, past: float, lower: Floats, truth: Floats, action: int) -> float:
    """Return past + max(lower_a, 0), or past + mu_a for an oracle."""
    now: float = truth[action] if rules.past == ORACLE else max(lower[action], 0.0)
    return past + now


@inlined
def past_plus_now(
    rules: Rules, past: float, lower: Floats, truth: Floats, certified: Floats
) -> None:
    """Fill in past_and_now(a) of every action."""
    # Asked once: the compiler cannot know that the loops leave the rules alone.
    if not counts_now(rules):
        for action in range(lower.size):
            certified[action] = past
    elif rules.past == ORACLE:
        for action in range(lower.size):
            certified[action] = past + truth[action]
    else:
        for action in range(lower.size):
            certified[action] = past + max(lower[action], 0.0)


@inlined
def self_normalised_lanes(
    rules: Rules,
    centre: float,
    beta: float,
    means: Floats,
    lengths: Floats,
    certified: Floats,
) -> None:
    """Fill in `self_normalised` of x + phi for every lane."""
    least = 0.0 if rules.clip_zero == 1 else -math.inf
    bound_lanes(centre, beta, means, lengths, least, certified)


@inlined
def bound_lanes(
    centre: float,
    beta: float,
    means: Floats,
    lengths: Floats,
    smallest: float,
    certified: Floats,
) -> None:
    """Fill in the lower bound of <theta, x + phi> over the ellipsoid, but no less than smallest.

    <theta_hat, x + phi> is centre + mean; lengths are ||x + phi||^2_{V^-1}.
    """
    least = splat(smallest)
    for lane in range(0, means.size, LANES):
        reach = beta * root(load(lengths, lane))
        store(larger(centre + load(means, lane) - reach, least), certified, lane)
