"""The model of the linear algorithms over fixed arms, in arm space."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import compiled, lean
from handrail.conservative.choice import ACTION, Choice, conclude
from handrail.conservative.ledger import record_reward
from handrail.conservative.past import (
    MARTINGALE,
    SELF_NORMALISED,
    boundary,
    past_of_arms,
    past_plus_now,
    self_normalised,
)
from handrail.estimators.fixed import (
    along_plays,
    bound_fixed,
    learn_fixed,
    play_fixed,
    rebuild_fixed,
)
from handrail.estimators.means import learn_mean
from handrail.policies.model import Arrays, OpenRound
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Ints, Ledger, Record, Rules, new_record

__all__ = ["FixedModel", "certify_fixed", "decide_fixed", "reward_fixed"]

REBUILD_EVERY: Final = 1 << 16
"""Rewards after which m, G and y are computed afresh."""


@lean
def certify_fixed(
    rules: Rules,
    ledger: Ledger,
    plays: Ints,
    means: Floats,
    gram: Floats,
    cross: Floats,
    truth: Floats,
    work: Floats,
) -> float:
    """Fill in upper, lower and past_and_now of each arm (rows of work); return the past alone."""
    upper, lower, certified = work[0], work[1], work[2]
    beta = bound_fixed(rules, ledger, means, gram, upper, lower)
    past = 0.0
    if rules.past == SELF_NORMALISED:
        centre, square = along_plays(plays, means, cross)
        past = self_normalised(rules, centre, square, beta)
        for arm in range(plays.size):
            certified[arm] = self_normalised(
                rules, centre + means[arm], square + 2.0 * cross[arm] + gram[arm, arm], beta
            )
    else:
        psi = boundary(rules, ledger.rewards) if rules.past == MARTINGALE else 0.0
        past = past_of_arms(rules, ledger, psi, plays, lower, truth)
        past_plus_now(rules, past, lower, truth, certified)
    return past


@lean
def decide_fixed(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    means: Floats,
    gram: Floats,
    cross: Floats,
    truth: Floats,
    work: Floats,
    baseline: int,
    mean: float,
) -> Choice:
    """Decide one round over fixed arms in arm space and count it."""
    rules = rules_[0]
    ledger = ledger_[0]
    past = certify_fixed(rules, ledger, plays, means, gram, cross, truth, work)
    choice, held = conclude(rules, ledger, work[0], work[1], work[2], past, baseline, mean)
    if not held:
        play_fixed(gram, plays, cross, choice[ACTION])
    return choice


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
    rebuild_every: int,
    arm: int,
    promise: float,
    reward: float,
) -> None:
    """Take a reward into the ledger and the regression, computed afresh now and then."""
    ledger = ledger_[0]
    record_reward(ledger, promise, reward)
    learn_mean(counts, sums, arm, reward)
    learn_fixed(ledger, means, gram, cross, arm, reward)
    if ledger.rows % rebuild_every == 0:
        log_det = rebuild_fixed(features, rules_[0].ridge, plays, counts, sums, means, gram, cross)
        if not math.isnan(log_det):
            ledger.log_det = log_det


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
        self.means = np.zeros(arms)
        self.gram = np.zeros((arms, arms))
        self.cross = np.zeros(arms)
        self._work = np.empty((3, arms))
        ridge = float(rules["ridge"][0])
        rebuild_fixed(
            features, ridge, self.plays, self.counts, self.sums, self.means, self.gram, self.cross
        )

    def decide(self, given: Round) -> Choice:
        """Choose an arm and count the round."""
        return decide_fixed(
            self.rules,
            self.ledger,
            self.plays,
            self.means,
            self.gram,
            self.cross,
            given.truth,
            self._work,
            given.baseline,
            given.mean,
        )

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
            REBUILD_EVERY,
            open_round.action,
            open_round.promise,
            reward,
        )

    def arrays(self) -> Arrays:
        """Return all state besides the ledger."""
        return {
            "plays": self.plays,
            "counts": self.counts,
            "sums": self.sums,
            "means": self.means,
            "gram": self.gram,
            "cross": self.cross,
        }
