"""A decision: what to do this round, and why."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from handrail.conservative.choice import (
    ACTION,
    EVENT,
    FLOOR,
    LEADER,
    LEADER_LOWER,
    LEADER_MARGIN,
    LEADER_UPPER,
    LOWER,
    MARGIN,
    MEAN,
    SAFE,
    UPPER,
    Choice,
)
from handrail.conservative.selection import BASELINE_EVENT, EVENTS
from handrail.policies.algorithm import Algorithm
from handrail.policies.identity import Identity, decision_id
from handrail.policies.names import Action
from handrail.policies.reasons import Facts, sentence
from handrail.policies.rounds import Round
from handrail.policies.units import Units

__all__ = ["Decision", "Origin"]


class Origin(NamedTuple):
    """What all decisions of one policy have in common."""

    policy: str
    algorithm: Algorithm
    units: Units
    learns_baseline: bool = False


def _given(value: float, units: Units) -> float | None:
    return None if math.isnan(value) else value * units.scale


class Decision:
    """What to do this round, in the user's units.

    Attributes
    ----------
    round : int
        The round, counted from 1.
    action : int or str
        The action to play; for a guard the proposal or the baseline, as they were named.
    event : {"optimistic", "safe", "baseline"}
        Whether it is the most optimistic action, another safe one, or the baseline.
    margin : float or None
        The certified margin if the action is played; None for UCB and LinUCB, which have none.
    upper, lower : float
        Confidence bounds of the action's mean; for the baseline, its mean.
    awaits_reward : bool
        False for a baseline round of a conservative algorithm that does not learn from it.

    Notes
    -----
    `id`, `reason` and `explanation` are made when asked for.
    """

    __slots__ = (
        "_baseline",
        "_choice",
        "_copy",
        "_hold",
        "_low",
        "_mean",
        "_names",
        "_origin",
        "action",
        "awaits_reward",
        "event",
        "lower",
        "margin",
        "round",
        "upper",
    )

    def __init__(
        self,
        origin: Origin,
        copy: str | None,
        number: int,
        choice: Choice,
        given: Round,
    ) -> None:
        units = origin.units
        scale, low = units.scale, units.low
        margin = choice[MARGIN]
        self._origin = origin
        self._copy = copy
        self._choice = choice
        self._baseline = given.baseline
        self._mean, self._low = choice[MEAN], choice[FLOOR]
        self._names = given.names
        self._hold = given.hold
        held = choice[EVENT] == BASELINE_EVENT and origin.algorithm.past != "none"
        self.awaits_reward = not held or origin.learns_baseline
        self.round = number
        names = given.names
        self.action: Any = choice[ACTION] if names is None else names[choice[ACTION]]
        self.event = EVENTS[choice[EVENT]]
        self.margin = None if margin != margin else margin * scale  # noqa: PLR0124
        self.upper = choice[UPPER] * scale + low
        self.lower = choice[LOWER] * scale + low

    @property
    def identity(self) -> Identity | None:
        """What `id` says, taken apart."""
        if self._copy is None:
            return None
        return Identity(self._origin.policy, self._copy, self.round, self.awaits_reward)

    @property
    def choice(self) -> Choice:
        """The numbers of the choice in inner units, as `handrail.conservative.choice` has them."""
        return self._choice

    @property
    def id(self) -> str:
        """Unique across policies, processes and copies; empty for what `explain` returns."""
        identity = self.identity
        return "" if identity is None else decision_id(identity)

    @property
    def facts(self) -> Facts:
        """The numbers the decision rests on."""
        units = self._origin.units
        choice = self._choice
        leader, margin = choice[LEADER], choice[LEADER_MARGIN]
        if choice[LEADER_UPPER] == -math.inf:  # only retired arms are left beside the baseline
            leader = -1
        return Facts(
            algorithm=self._origin.algorithm,
            round=self.round,
            action=self.action,
            event=self.event,
            margin=self.margin,
            upper=self.upper,
            lower=self.lower,
            baseline=None if self._baseline < 0 else self.called(self._baseline),
            baseline_mean=(
                units.outward(self._mean) if self._origin.algorithm.conservative else None
            ),
            baseline_low=units.outward(self._low) if self._low < self._mean else None,
            leader=None if leader < 0 else self.called(leader),
            leader_margin=_given(margin, units),
            leader_upper=units.outward(choice[LEADER_UPPER]),
            leader_lower=units.outward(choice[LEADER_LOWER]),
            safe_actions=choice[SAFE],
            reward_above=units.low,
            held=self._hold,
        )

    def called(self, action: int) -> Action:
        """Return an action's name; of a guard 0 is the baseline and 1 the proposal."""
        return action if self._names is None else self._names[action]

    @property
    def reason(self) -> str:
        """Why, in one sentence for a person."""
        return sentence(self.facts)

    @property
    def explanation(self) -> dict[str, Any]:
        """Why, as data that JSON can hold: an unbounded upper bound is None."""
        return self.facts.data()

    def __repr__(self) -> str:
        """Return the decision on one line."""
        margin = "None" if self.margin is None else f"{self.margin:.4g}"
        return (
            f"Decision(round={self.round}, action={self.action}, event={self.event!r}, "
            f"margin={margin}, upper={self.upper:.4g}, lower={self.lower:.4g})"
        )
