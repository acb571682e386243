"""The model of the multi-armed algorithms: one mean per arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import lean
from handrail.conservative.baseline import CONSTANT, FROM_REWARDS
from handrail.conservative.choice import ACTION, Choice, conclude, count_decision
from handrail.conservative.ledger import record_earned
from handrail.conservative.past import ORACLE, current_boundary, past_of_arms, past_plus_now
from handrail.estimators.means import bound_means, learn_mean
from handrail.policies.model import Arrays, OpenRound, retire, rules_of
from handrail.policies.played import Played
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Ints, Record, Rules, new_record

__all__ = ["ArmsModel", "decide_arms", "replay_arms", "reward_arms"]


@lean
def decide_arms(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    stamps: Ints,
    gone: Ints,
    truth: Floats,
    work: Floats,
    baseline: int,
    floor: float,
    mean: float,
) -> Choice:
    """Decide one round over arms and count it: the means, any past that needs no model, choose.

    The baseline's mean lies between floor and mean, and within its arm's own bounds where it is
    learned.
    """
    rules = rules_[0]
    ledger = ledger_[0]
    upper, lower, certified = work[0], work[1], work[2]
    bound_means(rules, ledger, counts, sums, stamps, upper, lower)
    if rules.knowledge == CONSTANT and rules.learn_baseline == FROM_REWARDS:
        floor = max(floor, min(lower[baseline], 1.0))
        mean = min(mean, max(upper[baseline], 0.0))
    psi = current_boundary(rules, ledger)
    past = past_of_arms(rules, ledger, psi, plays, lower, truth)
    past_plus_now(rules, past, lower, truth, certified)
    retire(gone, upper, certified)
    choice, held = conclude(
        rules, ledger, upper, lower, certified, past, baseline, floor, mean, truth
    )
    _play(rules, plays, choice[ACTION], held)
    return choice


@lean
def _play(rules: Rules, plays: Ints, arm: int, held: bool) -> None:
    if not held and rules.confirm == 0:
        plays[arm] += 1


@lean
def replay_arms(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    arm: int,
    held: bool,
    floor: float,
    mean: float,
    promise: float,
) -> None:
    """Count a round that was decided before."""
    count_decision(rules_[0], ledger_[0], floor, mean, held, promise)
    _play(rules_[0], plays, arm, held)


@lean
def reward_arms(
    rules_: Record,
    ledger_: Record,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    arm: int,
    held: bool,
    promise: float,
    reward: float,
) -> None:
    """Take a reward into the ledger and the arm's mean; held: it is a baseline round's."""
    record_earned(ledger_[0], held, promise, reward)
    if rules_[0].confirm == 1 and not held:
        plays[arm] += 1
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
        self.gone = np.zeros(arms, np.int64)
        self._fresh()

    def _fresh(self) -> None:
        """Make room for bounds, none of them computed yet."""
        self._stamps = np.full(self.plays.size, -1)
        self._work = np.empty((3, self.plays.size))

    def decide(self, given: Round) -> Choice:
        """Choose an arm and count the round."""
        return decide_arms(
            rules_of(self, given),
            self.ledger,
            self.plays,
            self.counts,
            self.sums,
            self._stamps,
            self.gone,
            given.truth,
            self._work,
            given.baseline,
            given.floor,
            given.mean,
        )

    def replay(self, played: Played) -> None:
        """Count a round that was decided before."""
        replay_arms(
            self.rules,
            self.ledger,
            self.plays,
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
        reward_arms(
            self.rules,
            self.ledger,
            self.plays,
            self.counts,
            self.sums,
            open_round.action,
            open_round.held,
            open_round.promise,
            reward,
        )

    def forget(self, open_round: OpenRound) -> None:
        """Take a play whose reward never came out of N_k."""
        if self.rules["confirm"][0] == 0 and self.rules["past"][0] != ORACLE:
            self.plays[open_round.action] -= 1

    def grow(self, features: Floats | None) -> None:
        """Make room for one more arm, never played."""
        self.plays = np.append(self.plays, 0)
        self.counts = np.append(self.counts, 0)
        self.sums = np.append(self.sums, 0.0)
        self.gone = np.append(self.gone, 0)
        self._fresh()

    def arrays(self) -> Arrays:
        """Return all state besides the ledger."""
        return {"plays": self.plays, "counts": self.counts, "sums": self.sums, "gone": self.gone}
