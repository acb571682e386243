"""The model of the linear algorithms over fixed arms, in arm space."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import compiled
from handrail.conservative.choice import Choice, conclude
from handrail.conservative.ledger import record_reward
from handrail.conservative.past import (
    MARTINGALE,
    ORACLE,
    SELF_NORMALISED,
    martingale,
    oracle_sums,
    past_plus_now,
    self_normalised,
)
from handrail.estimators.fixed import bound_fixed, learn_fixed, play_fixed, rebuild_fixed
from handrail.policies.model import Arrays, OpenRound
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Ints, Record, new_record

__all__ = ["FixedModel", "decide_fixed", "reward_fixed"]

_REBUILD_EVERY: Final = 1 << 20
"""Rewards after which G is computed afresh: the drift of diag G stays below 1e-9 (K > d)."""


@compiled
def decide_fixed(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    mean_: Floats,
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
    upper, lower, certified = work[0], work[1], work[2]
    beta = bound_fixed(rules, ledger, mean_, gram, upper, lower)
    past = 0.0
    if rules.past == SELF_NORMALISED:
        centre = 0.0
        square = 0.0
        for arm in range(plays.size):
            centre += plays[arm] * mean_[arm]
            square += plays[arm] * cross[arm]
        past = self_normalised(rules, centre, square, beta)
        for arm in range(plays.size):
            certified[arm] = self_normalised(
                rules, centre + mean_[arm], square + 2.0 * cross[arm] + gram[arm, arm], beta
            )
    else:
        if rules.past == MARTINGALE:
            past = martingale(rules, ledger)
        elif rules.past == ORACLE:
            past = oracle_sums(plays, truth)
        past_plus_now(rules, past, lower, truth, certified)
    choice, held = conclude(rules, ledger, upper, lower, certified, past, baseline, mean)
    if not held:
        play_fixed(gram, plays, cross, choice[0])
    return choice


@compiled
def reward_fixed(
    ledger_: Record,
    mean: Floats,
    gram: Floats,
    cross: Floats,
    counts: Ints,
    sums: Floats,
    arm: int,
    promise: float,
    reward: float,
) -> int:
    """Take a reward into the ledger and the regression; return the rows learned so far."""
    ledger = ledger_[0]
    record_reward(ledger, promise, reward)
    learn_fixed(ledger, mean, gram, cross, arm, reward)
    counts[arm] += 1
    sums[arm] += reward
    return int(ledger.rows)


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
        self.mean = np.zeros(arms)
        self.gram = np.zeros((arms, arms))
        self.cross = np.zeros(arms)
        self._work = np.empty((3, arms))
        self._rebuild()

    def _rebuild(self) -> None:
        self.mean[:], self.gram[:], self.cross[:], self.ledger["log_det"][0] = rebuild_fixed(
            self.features, float(self.rules["ridge"][0]), self.plays, self.counts, self.sums
        )

    def decide(self, given: Round) -> Choice:
        """Choose an arm and count the round."""
        return decide_fixed(
            self.rules,
            self.ledger,
            self.plays,
            self.mean,
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
        rows = reward_fixed(
            self.ledger,
            self.mean,
            self.gram,
            self.cross,
            self.counts,
            self.sums,
            open_round.action,
            open_round.promise,
            reward,
        )
        if rows % _REBUILD_EVERY == 0:
            self._rebuild()

    def arrays(self) -> Arrays:
        """Return all state besides the ledger."""
        return {
            "plays": self.plays,
            "counts": self.counts,
            "sums": self.sums,
            "mean": self.mean,
            "gram": self.gram,
            "cross": self.cross,
        }
