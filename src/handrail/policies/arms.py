"""The model of the multi-armed algorithms: one mean per arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import lean
from handrail.conservative.choice import ACTION, Choice, conclude
from handrail.conservative.ledger import record_reward
from handrail.conservative.past import MARTINGALE, boundary, past_of_arms, past_plus_now
from handrail.estimators.means import bound_means, learn_mean
from handrail.policies.model import Arrays, OpenRound
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Ints, Record, new_record

__all__ = ["ArmsModel", "decide_arms", "reward_arms"]


@lean
def decide_arms(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    truth: Floats,
    work: Floats,
    baseline: int,
    mean: float,
) -> Choice:
    """Decide one round over arms and count it: the means, any past that needs no model, choose."""
    rules = rules_[0]
    ledger = ledger_[0]
    upper, lower, certified = work[0], work[1], work[2]
    bound_means(rules, ledger, counts, sums, upper, lower)
    psi = boundary(rules, ledger.rewards) if rules.past == MARTINGALE else 0.0
    past = past_of_arms(rules, ledger, psi, plays, lower, truth)
    past_plus_now(rules, past, lower, truth, certified)
    choice, held = conclude(rules, ledger, upper, lower, certified, past, baseline, mean)
    if not held:
        plays[choice[ACTION]] += 1
    return choice


@lean
def reward_arms(
    ledger_: Record, counts: Ints, sums: Floats, arm: int, promise: float, reward: float
) -> None:
    """Take a reward into the ledger and the arm's mean."""
    record_reward(ledger_[0], promise, reward)
    learn_mean(counts, sums, arm, reward)


class ArmsModel:
    """Counts and sums per arm.

    Parameters
    ----------
    rules : numpy.ndarray
        What was agreed.
    arms : int
        K, the baseline included.
    """

    keeps_features = False

    def __init__(self, rules: NDArray[Any], arms: int) -> None:
        self.rules = rules
        self.ledger = new_record(LEDGER)
        self.plays = np.zeros(arms, np.int64)
        self.counts = np.zeros(arms, np.int64)
        self.sums = np.zeros(arms)
        self._work = np.empty((3, arms))

    def decide(self, given: Round) -> Choice:
        """Choose an arm and count the round."""
        return decide_arms(
            self.rules,
            self.ledger,
            self.plays,
            self.counts,
            self.sums,
            given.truth,
            self._work,
            given.baseline,
            given.mean,
        )

    def chosen(self, given: Round, action: int) -> None:
        """Return None: the arm's index says it all."""

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Learn from a reward."""
        reward_arms(
            self.ledger, self.counts, self.sums, open_round.action, open_round.promise, reward
        )

    def arrays(self) -> Arrays:
        """Return all state besides the ledger."""
        return {"plays": self.plays, "counts": self.counts, "sums": self.sums}
