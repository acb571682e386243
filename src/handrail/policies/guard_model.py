"""The model of a guard: none. Sums of rewards are all it knows."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handrail.bounds.arm import KL
from handrail.bounds.kl import kl_interval
from handrail.bounds.mixture import two_sided_mixture
from handrail.compiled import lean
from handrail.conservative.baseline import CONSTANT, FROM_REWARDS, allowance, held_margin, required
from handrail.conservative.choice import LEADER_MARGIN, Choice, count_decision
from handrail.conservative.ledger import record_earned
from handrail.conservative.past import NONE, current_boundary, martingale
from handrail.conservative.selection import BASELINE_EVENT, OPTIMISTIC_EVENT
from handrail.policies.model import Arrays, OpenRound
from handrail.policies.played import Played
from handrail.policies.rounds import Round
from handrail.records import LEDGER, Floats, Ledger, Record, Rules, new_record

__all__ = ["BASELINE", "PROPOSED", "GuardModel", "decide_guard", "replay_guard", "reward_guard"]

BASELINE: Final = 0
PROPOSED: Final = 1
"""A guard's two actions."""


@lean
def _learned(rules: Rules, ledger: Ledger) -> tuple[float, float]:
    """Return the interval of the baseline's mean from its own rewards, cut to [0, 1]."""
    count = ledger.lessons
    if count == 0:
        return 0.0, 1.0
    total = ledger.lesson + ledger.lesson_rest
    if rules.width == KL:
        return kl_interval(count, total, rules.baseline_level)
    variance = count * rules.noise * rules.noise
    width = two_sided_mixture(variance, rules.baseline_rho, rules.baseline_level) / count
    mean = total / count
    return max(min(mean - width, 1.0), 0.0), min(max(mean + width, 0.0), 1.0)


@lean
def decide_guard(rules_: Record, ledger_: Record, same: bool, floor: float, mean: float) -> Choice:
    """Answer a proposal: play it if that is safe, else the baseline; count the round.

    Parameters
    ----------
    rules_, ledger_ : numpy.ndarray
        The records.
    same : bool
        Whether the proposal is the baseline.
    floor, mean : float
        The baseline's mean lies between them.

    Returns
    -------
    tuple
        The choice: action 1 is the proposal, action 0 the baseline.

    Notes
    -----
    past_and_now = max(sum_S r - psi(s), 0) + 0: nothing is known of the proposal but that its mean
    is not below 0. r_i - E[r_i | past, context, action] is a martingale difference whatever made
    the proposal, so that no model is needed.
    """
    rules = rules_[0]
    ledger = ledger_[0]
    if rules.past == NONE:
        count_decision(rules, ledger, floor, mean, False, 0.0)
        event = BASELINE_EVENT if same else OPTIMISTIC_EVENT
        action = BASELINE if same else PROPOSED
        nan = math.nan
        return action, event, nan, 1.0, 0.0, 0.0, PROPOSED, nan, 1.0, 0.0, 0, floor, mean
    if rules.knowledge == CONSTANT and rules.learn_baseline == FROM_REWARDS:
        floor, mean = _learned(rules, ledger)
    past = martingale(rules, ledger, current_boundary(rules, ledger))
    extra = allowance(rules, ledger)
    needed = required(rules, ledger, floor, mean)
    margin = past + extra - needed
    if margin >= 0.0 and not same:
        count_decision(rules, ledger, floor, mean, False, 0.0)
        event, leader, safe = OPTIMISTIC_EVENT, PROPOSED, 1
        return PROPOSED, event, margin, 1.0, 0.0, 0.0, leader, margin, 1.0, 0.0, safe, floor, mean
    held = held_margin(rules, ledger, past, extra, needed, floor, mean, 0.0)
    count_decision(rules, ledger, floor, mean, True, 0.0)
    leader, event = BASELINE if same else PROPOSED, BASELINE_EVENT
    safe = 1 if margin >= 0.0 else 0
    return BASELINE, event, held, mean, floor, 0.0, leader, margin, 1.0, 0.0, safe, floor, mean


@lean
def replay_guard(
    rules_: Record, ledger_: Record, held: bool, floor: float, mean: float, promise: float
) -> None:
    """Count a round that was decided before."""
    count_decision(rules_[0], ledger_[0], floor, mean, held, promise)


@lean
def reward_guard(ledger_: Record, held: bool, promise: float, reward: float) -> None:
    """Take a reward into the ledger; held: it is a baseline round's."""
    record_earned(ledger_[0], held, promise, reward)


class GuardModel:
    """A ledger and nothing else.

    Parameters
    ----------
    rules : numpy.ndarray
        What was agreed.
    """

    keeps_features = False

    def __init__(self, rules: NDArray[Any]) -> None:
        self.rules = rules
        self.ledger = new_record(LEDGER)
        self.gone = np.zeros(0, np.int64)
        self._proposal = math.nan

    def decide(self, given: Round) -> Choice:
        """Answer a proposal and count the round."""
        assert given.names is not None
        same = given.hold or given.names[0] == given.names[1]
        choice = decide_guard(self.rules, self.ledger, same, given.floor, given.mean)
        self._proposal = choice[LEADER_MARGIN]
        return choice

    def replay(self, played: Played) -> None:
        """Count a round that was decided before."""
        replay_guard(
            self.rules, self.ledger, played.held, played.floor, played.mean, played.promise
        )

    def examined(self, action: int) -> tuple[float, float, float]:
        """Return margin, upper and lower bound of the proposal of the round decided last."""
        return self._proposal, 1.0, 0.0

    def chosen(self, given: Round, action: int) -> None:
        """Return None: rewards are summed whatever earned them."""

    def reward(self, open_round: OpenRound, reward: float) -> None:
        """Sum a reward."""
        reward_guard(self.ledger, open_round.held, open_round.promise, reward)

    def forget(self, open_round: OpenRound) -> None:
        """Do nothing: a guard counts no plays but the ledger's."""

    def grow(self, features: Floats | None) -> None:
        """Do nothing: any action may be proposed."""

    def arrays(self) -> Arrays:
        """Return nothing: the ledger is all."""
        return {}
