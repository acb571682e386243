"""What the service shows of a policy: itself, its decisions, its budget, its estimates."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.service.messages import Action, Event, Mode, Override, Served

__all__ = [
    "BudgetPoint",
    "BudgetView",
    "DecisionPage",
    "DecisionView",
    "EstimatePoint",
    "EstimatesView",
    "Head",
    "PolicyPage",
    "PolicyView",
]


class Head(Served):
    """The last event of a log, and the hash that stands for all of it."""

    events: int
    hash: str


class PolicyView(Served):
    """A policy as it is now."""

    name: str
    algorithm: str
    mode: Mode
    archived: bool
    created_at: str
    parameters: dict[str, Any]
    actions: list[Action] | None
    baseline: Action | None
    round: int
    pending: int
    margin: float | None
    decisions: dict[str, int]
    """How many were optimistic, safe and the baseline."""
    failure_probability: float | None
    notes: list[str]
    """What voids the promise, or what it rests on."""
    head: Head
    may_override: list[Override] = msgspec.field(default_factory=list)
    """What of the agreed a round may tell otherwise; services of before do not say it."""


class PolicyPage(Served):
    """Policies, in the order of their names."""

    policies: list[PolicyView]
    unreadable: dict[str, str] = msgspec.field(default_factory=dict)
    """Policies that cannot be shown, and why: a log that is damaged."""
    next: str | None = None
    """What to pass as `after` for the next page."""


class DecisionView(Served):
    """A decision, and what became of it so far."""

    id: str
    round: int
    at: str
    action: Action
    event: Event
    margin: float | None
    upper: float | None
    lower: float
    mode: Mode
    reason: str
    reward: float | None
    rewarded_at: str | None
    fell_back: bool
    said_played: bool
    would: Any
    """In shadow mode: what would have been played, its event and its margin."""
    digest: str | None


class DecisionPage(Served):
    """Decisions in the order of their rounds."""

    decisions: list[DecisionView]
    next: int | None
    """What to pass as `after` for the next page."""


class BudgetPoint(Served):
    """What was certified at a round."""

    round: int
    at: str
    event: Event
    margin: float | None


class BudgetView(Served):
    """What was earned, what had to be, and what is certified, in the user's units above `low`.

    Attributes
    ----------
    baseline_earnings : float
        What the baseline would have earned in all rounds; where its mean is only known to lie in
        an interval, the lower end of rounds with the baseline and the upper end of the others.
    required : float
        (1 - alpha) of it.
    rewards : float
        The rewards that came of decisions other than the baseline.
    promised : float
        What unconfirmed decisions count until their rewards come.
    margin : float or None
        The certified margin of the latest round; with checkpoints it is that at the next one, if
        the baseline is played until then.
    points : list
        The margin over time.
    """

    policy: str
    alpha: float | None
    delta: float | None
    round: int
    baseline_rounds: int
    explored_rounds: int
    pending: int
    baseline_earnings: float
    required: float
    rewards: float
    promised: float
    low: float
    margin: float | None
    points: list[BudgetPoint]


class EstimatePoint(Served):
    """What was known of the action that a round chose."""

    round: int
    at: str
    action: Action
    lower: float
    upper: float | None


class EstimatesView(Served):
    """What is known of the actions now, and what was known of the chosen ones over time.

    Attributes
    ----------
    actions : list of dict
        Of fixed arms: action, plays, rewards, mean, lower, upper.
    theta : list of float or None
        The coefficients of a linear model over contexts.
    points : list
        The bounds of chosen actions over time.
    """

    policy: str
    round: int
    actions: list[dict[str, Any]] | None
    theta: list[float] | None
    points: list[EstimatePoint]
