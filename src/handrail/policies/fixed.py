"""The model of the linear algorithms over fixed arms, in arm space."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handrail.bounds.ellipsoid import INTERSECTION
from handrail.compiled import compiled, lean
from handrail.conservative.baseline import WITHIN
from handrail.conservative.choice import ACTION, Choice, conclude, count_decision
from handrail.conservative.ledger import record_earned
from handrail.conservative.past import (
    LARGER,
    MARTINGALE,
    ORACLE,
    SELF_NORMALISED,
    counts_now,
    current_boundary,
    martingale,
    past_of_arms,
    past_plus_now,
    self_normalised,
    sums_features,
    unconfirmed,
)
from handrail.estimators.fixed import (
    along_plays,
    bound_fixed,
    intersect_means,
    learn_fixed,
    play_fixed,
    rebuild_fixed,
    worn,
)
from handrail.estimators.means import learn_mean
from handrail.policies.model import Arrays, OpenRound, retire, rules_of
from handrail.policies.played import Played
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Ints, Ledger, Record, Rules, new_record

__all__ = ["FixedModel", "certify_fixed", "decide_fixed", "replay_fixed", "reward_fixed"]

REBUILD_EVERY: Final = 1 << 16
"""Rewards after which m, G and y are computed afresh, if they were not before."""


_ROUNDING: Final = 2.0**-50
"""Of a squared norm that is a difference, as a share of the square of its terms' norms."""


@lean
def certify_fixed(
    rules: Rules,
    ledger: Ledger,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    means: Floats,
    gram: Floats,
    cross: Floats,
    truth: Floats,
    work: Floats,
) -> float:
    """Fill in upper, lower and past_and_now of each arm (rows of work); return the past alone."""
    upper, lower, certified = work[0], work[1], work[2]
    beta = bound_fixed(rules, ledger, means, gram, upper, lower)
    if rules.width == INTERSECTION:
        intersect_means(rules, counts, sums, upper, lower)
    past = 0.0
    psi = current_boundary(rules, ledger)
    if rules.past == LARGER:
        past = martingale(rules, ledger, psi)
        past_plus_now(rules, past, lower, truth, certified)
    if sums_features(rules):
        centre, square = along_plays(plays, means, cross)
        beside = unconfirmed(rules, ledger)
        along = self_normalised(rules, centre, square, beta) + beside
        past = max(past, along) if rules.past == LARGER else along
        now = counts_now(rules)
        for arm in range(plays.size):
            summed = along
            if now:
                length = square + 2.0 * cross[arm] + gram[arm, arm]
                summed = self_normalised(rules, centre + means[arm], length, beta) + beside
            both = rules.past == LARGER and certified[arm] > summed
            certified[arm] = certified[arm] if both else summed
    else:
        past = past_of_arms(rules, ledger, psi, plays, lower, truth)
        past_plus_now(rules, past, lower, truth, certified)
    return past


@lean
def _norm(square: float, parts: float) -> float:
    """Return a norm from its square, no smaller than what rounding leaves of the terms' norms."""
    return math.sqrt(max(square, _ROUNDING * parts * parts))


@lean
def certify_unknown(
    rules: Rules,
    ledger: Ledger,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    means: Floats,
    gram: Floats,
    cross: Floats,
    work: Floats,
    baseline: int,
) -> None:
    """Fill in upper, lower and certified margin of each arm where the baseline's mean is learned.

    Notes
    -----
    With n_b baseline rounds before round t, the budget of playing arm a is <theta, z>, z = phi_a +
    sum_S phi + (n_b - (1 - alpha) t) phi_b, which the ellipsoid bounds from below; or the rewards
    of S, less psi, plus <theta, w>, w = phi_a + (alpha n_b - (1 - alpha) (s + 1)) phi_b. Both are
    differences: nothing is cut at 0 but the rewards of S. Rounds that are not confirmed are in
    neither sum and add what they promise; where rounds may be lost, phi_a is in neither.
    """
    upper, lower, certified = work[0], work[1], work[2]
    now = counts_now(rules)
    beta = bound_fixed(rules, ledger, means, gram, upper, lower)
    if rules.width == INTERSECTION:
        intersect_means(rules, counts, sums, upper, lower)
    keep = 1.0 - rules.alpha
    held = ledger.rounds - ledger.plays
    long = held - keep * (ledger.rounds + 1)
    short = rules.alpha * held - keep * (ledger.plays + 1)
    earned = martingale(rules, ledger, current_boundary(rules, ledger))
    beside = unconfirmed(rules, ledger)
    centre, square = along_plays(plays, means, cross)
    own = gram[baseline, baseline]
    size = 0.0
    for arm in range(plays.size):
        size += plays[arm] * math.sqrt(gram[arm, arm])
    for arm in range(plays.size):
        # Of the baseline's own features there are 1 + long, or 1 + short: one number, which may
        # be 0. Of another arm's there is one, if it counts at all.
        mine = 1.0 if arm == baseline else 0.0
        other = 1.0 - mine if now else 0.0
        all_of, now_of = long + mine, short + mine
        both = other * gram[arm, baseline]
        alone = other * gram[arm, arm]
        most = -math.inf
        if rules.past != MARTINGALE:
            length = square + 2.0 * other * cross[arm] + alone
            length += 2.0 * all_of * (cross[baseline] + both) + all_of * all_of * own
            value = centre + other * means[arm] + all_of * means[baseline]
            parts = size + math.sqrt(alone) + abs(all_of) * math.sqrt(own)
            most = value - beta * _norm(length, parts) + beside
        if rules.past != SELF_NORMALISED:
            length = alone + 2.0 * now_of * both + now_of * now_of * own
            value = other * means[arm] + now_of * means[baseline]
            parts = math.sqrt(alone) + abs(now_of) * math.sqrt(own)
            most = max(most, earned + value - beta * _norm(length, parts))
        certified[arm] = most


@lean
def decide_fixed(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    means: Floats,
    gram: Floats,
    cross: Floats,
    gone: Ints,
    truth: Floats,
    work: Floats,
    baseline: int,
    floor: float,
    mean: float,
) -> Choice:
    """Decide one round over fixed arms in arm space and count it."""
    rules = rules_[0]
    ledger = ledger_[0]
    upper, lower, certified = work[0], work[1], work[2]
    past = 0.0
    if rules.knowledge == WITHIN:
        certify_unknown(rules, ledger, plays, counts, sums, means, gram, cross, work, baseline)
        floor, mean = max(lower[baseline], 0.0), min(upper[baseline], 1.0)
    else:
        past = certify_fixed(rules, ledger, plays, counts, sums, means, gram, cross, truth, work)
    retire(gone, upper, certified)
    choice, held = conclude(
        rules, ledger, upper, lower, certified, past, baseline, floor, mean, truth
    )
    if not held and rules.confirm == 0:
        play_fixed(gram, plays, cross, choice[ACTION])
    return choice


@lean
def replay_fixed(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    gram: Floats,
    cross: Floats,
    arm: int,
    held: bool,
    floor: float,
    mean: float,
    promise: float,
) -> None:
    """Count a round that was decided before."""
    count_decision(rules_[0], ledger_[0], floor, mean, held, promise)
    if not held and rules_[0].confirm == 0:
        play_fixed(gram, plays, cross, arm)


@compiled
def reward_fixed(
    rules_: Record,
    ledger_: Record,
    features: Floats,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    means: Floats,
    gram: Floats,
    cross: Floats,
    floors: Floats,
    rebuild_every: int,
    arm: int,
    held: bool,
    promise: float,
    reward: float,
) -> None:
    """Take a reward into the ledger and the regression, computed afresh now and then."""
    ledger = ledger_[0]
    record_earned(ledger, held, promise, reward)
    if rules_[0].confirm == 1 and not held:
        play_fixed(gram, plays, cross, arm)
    learn_mean(counts, sums, arm, reward)
    learn_fixed(ledger, means, gram, cross, arm, reward)
    if ledger.rows % rebuild_every == 0 or worn(gram, floors):
        ledger.log_det = rebuild_fixed(
            features, rules_[0].ridge, plays, counts, sums, means, gram, cross, floors
        )


class FixedModel:
    """Ridge regression seen from the arms.

    Parameters
    ----------
    rules : numpy.ndarray
        What was agreed.
    features : numpy.ndarray
        Phi, (K, d).
    """

    keeps_features = False

    def __init__(self, rules: NDArray[Any], features: Floats) -> None:
        arms = len(features)
        self.rules = rules
        self.ledger = new_record(LEDGER)
        self.features = features
        self.plays = np.zeros(arms, np.int64)
        self.counts = np.zeros(arms, np.int64)
        self.sums = np.zeros(arms)
        self.gone = np.zeros(arms, np.int64)
        self.rebuild()

    def rebuild(self) -> None:
        """Compute m, G and y from counts, for as many arms as there are."""
        arms = len(self.features)
        self.means = np.zeros(arms)
        self.gram = np.zeros((arms, arms))
        self.cross = np.zeros(arms)
        self.floors = np.zeros(arms)
        self._work = np.empty((3, arms))
        self.ledger["log_det"] = rebuild_fixed(
            self.features,
            float(self.rules["ridge"][0]),
            self.plays,
            self.counts,
            self.sums,
            self.means,
            self.gram,
            self.cross,
            self.floors,
        )

    def decide(self, given: Round) -> Choice:
        """Choose an arm and count the round."""
        return decide_fixed(
            rules_of(self, given),
            self.ledger,
            self.plays,
            self.counts,
            self.sums,
            self.means,
            self.gram,
            self.cross,
            self.gone,
            given.truth,
            self._work,
            given.baseline,
            given.floor,
            given.mean,
        )

    def replay(self, played: Played) -> None:
        """Count a round that was decided before."""
        replay_fixed(
            self.rules,
            self.ledger,
            self.plays,
            self.gram,
            self.cross,
            played.action,
            played.held,
            played.floor,
            played.mean,
            played.promise,
        )

    def examined(self, action: int) -> tuple[float, float, float]:
        """Return margin, upper and lower bound of an arm, as of the round decided last."""
        upper, lower, certified = self._work[:, action]
        return float(certified), float(upper), float(lower)

    def chosen(self, given: Round, action: int) -> None:
        """Return None: the arm's index says it all."""

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Learn from a reward."""
        reward_fixed(
            self.rules,
            self.ledger,
            self.features,
            self.plays,
            self.counts,
            self.sums,
            self.means,
            self.gram,
            self.cross,
            self.floors,
            REBUILD_EVERY,
            open_round.action,
            open_round.held,
            open_round.promise,
            reward,
        )

    def forget(self, open_round: OpenRound) -> None:
        """Take a play whose reward never came out of N_k and y."""
        if self.rules["confirm"][0] == 0 and self.rules["past"][0] != ORACLE:
            self.plays[open_round.action] -= 1
            self.cross -= self.gram[open_round.action]

    def grow(self, features: Floats | None) -> None:
        """Take in the features of one more arm; the regression does not change."""
        assert features is not None
        self.features = np.vstack([self.features, features])
        self.plays = np.append(self.plays, 0)
        self.counts = np.append(self.counts, 0)
        self.sums = np.append(self.sums, 0.0)
        self.gone = np.append(self.gone, 0)
        self.rebuild()

    def arrays(self) -> Arrays:
        """Return all state besides the ledger."""
        return {
            "plays": self.plays,
            "counts": self.counts,
            "sums": self.sums,
            "gone": self.gone,
            "means": self.means,
            "gram": self.gram,
            "cross": self.cross,
            "floors": self.floors,
        }
