"""What goes over the wire: requests and answers, typed; unknown fields are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

__all__ = [
    "Action",
    "Answer",
    "Answers",
    "ArmAnswer",
    "ArmRequest",
    "BudgetPoint",
    "BudgetView",
    "CheckpointAnswer",
    "CreateRequest",
    "DecideBatch",
    "DecideRequest",
    "DecisionPage",
    "DecisionView",
    "EstimatePoint",
    "EstimatesView",
    "FallbackAnswer",
    "Features",
    "Head",
    "Mean",
    "Mode",
    "ModeRequest",
    "PolicyPage",
    "PolicyView",
    "RewardAnswer",
    "RewardAnswers",
    "RewardBatch",
    "RewardRequest",
    "RewardStatus",
    "Whole",
]

Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**53) + 1, le=2**53 - 1)]
"""A whole number that every program reads from JSON as the same, and every log can hold."""
Action: TypeAlias = Whole | str
Mean: TypeAlias = float | tuple[float, float]
Features: TypeAlias = list[list[float]] | dict[str, list[float]]
"""One row per action, or one row per action's name."""
Mode: TypeAlias = Literal["live", "shadow", "paused"]
Event: TypeAlias = Literal["optimistic", "safe", "baseline"]
RewardStatus: TypeAlias = Literal[
    "learned", "waiting", "ignored", "repeated", "late", "conflict", "unknown"
]


class _Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """What a caller sends."""


class _Answer(msgspec.Struct, kw_only=True, gc=False):
    """What the service answers."""


class DecideRequest(_Request):
    """One round to be decided.

    Attributes
    ----------
    features : rows or mapping
        This round's actions; only for policies made with `dim`.
    proposal : int or str
        The action that the caller's own policy proposes; only for guards.
    baseline : int or str
        This round's baseline, where it is not the agreed one.
    baseline_mean : float or (float, float)
        Its mean reward this round, where it was not agreed on.
    idempotency_key : str
        Asking again with the same key gives the same answer.
    """

    features: Features | None = None
    proposal: Action | None = None
    baseline: Action | None = None
    baseline_mean: Mean | None = None
    idempotency_key: str | None = None


class DecideBatch(_Request):
    """Several rounds, decided in this order; all of them or none."""

    requests: list[DecideRequest]


class Answer(_Answer):
    """What to play, and why.

    Attributes
    ----------
    id : str
        The decision's id: rewards name it.
    round : int
        The round, counted from 1.
    action : int or str
        The action to play, as it was named.
    event : {"optimistic", "safe", "baseline"}
        The most optimistic action, another safe one, or the baseline.
    margin : float or None
        The certified margin if it is played; None for algorithms that promise nothing.
    reason : str
        Why, in one sentence.
    awaits_reward : bool
        Whether a reward of this decision will be used.
    repeated : bool
        Whether the decision was made before, under the same idempotency key.
    """

    id: str
    round: int
    action: Action
    event: Event
    margin: float | None
    reason: str
    awaits_reward: bool
    repeated: bool = False


class Answers(_Answer):
    """The answers to a batch, in its order."""

    decisions: list[Answer]


class RewardRequest(_Request):
    """The reward of one decision."""

    decision: str
    reward: float


class RewardBatch(_Request):
    """The rewards of several decisions; each gets an answer of its own."""

    rewards: list[RewardRequest]


class RewardAnswer(_Answer):
    """What became of a reward.

    Attributes
    ----------
    decision : str
        The decision's id.
    status : str
        "learned"; "waiting" until the decision's window closes; "ignored", a baseline round needs
        none; "repeated", the same reward was given before; "late", the window has closed and the
        reward was dropped; in a batch also "conflict", another value was given before, and
        "unknown", there is no such decision.
    detail : str
        The same as a sentence.
    """

    decision: str
    status: RewardStatus
    detail: str


class RewardAnswers(_Answer):
    """What became of a batch of rewards, in its order."""

    rewards: list[RewardAnswer]


class CreateRequest(_Request):
    """A policy to be made: a name, and the parameters of `handrail.make_policy`.

    Attributes
    ----------
    name : str
        The policy's name in paths: letters, digits, dots, dashes and underscores.
    algorithm : str
        A name from the catalogue.
    mode : {"live", "shadow", "paused"}
        "shadow" always answers the baseline and logs what it would have done; "paused" always
        answers the baseline.
    keep_candidates : bool
        Whether events hold all of a round's features, not only a digest of them.
    arms : int or list of str
        How many arms, or their names.
    features : rows or mapping
        Features of fixed arms, or the same by name.
    """

    name: str
    algorithm: str
    mode: Mode = "live"
    keep_candidates: bool = False
    arms: Whole | list[str] | None = None
    dim: Whole | None = None
    features: Features | None = None
    baseline: Action | None = None
    baseline_mean: float | tuple[float, float] | Literal["learned"] | None = None
    alpha: float | None = None
    delta: float | None = None
    noise: float | None = None
    reward_range: tuple[float, float] | None = None
    mean_range: tuple[float, float] | None = None
    theta_bound: float | None = None
    feature_bound: float | None = None
    ridge: float | str | None = None
    width: str | None = None
    cumulative: str | None = None
    accounting: str | None = None
    delta_weights: dict[str, float] | None = None
    tightest_at: float | None = None
    clip: str | None = None
    checkpoint_every: Whole | None = None
    checkpoints: list[Whole] | None = None
    checkpoint_gap: Whole | list[float] | dict[str, Any] | None = None
    baseline_lower: float | None = None
    baseline_delta: float | None = None
    learn_baseline: bool | str | None = None
    arms_ever: Whole | str | None = None
    true_means: list[float] | None = None
    window: Whole | None = None
    default_reward: float | None = None


class ModeRequest(_Request):
    """A change of mode."""

    mode: Mode


class ArmRequest(_Request):
    """An arm that comes: its name where arms have names, its features where they have some."""

    name: str | None = None
    features: list[float] | None = None


class Head(_Answer):
    """The last event of a log, and the hash that stands for all of it."""

    events: int
    hash: str


class PolicyView(_Answer):
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


class PolicyPage(_Answer):
    """Policies, in the order of their names."""

    policies: list[PolicyView]
    next: str | None = None
    """What to pass as `after` for the next page."""


class FallbackAnswer(_Answer):
    """What became of the report that the baseline was played after all.

    Attributes
    ----------
    decision : str
        The decision's id.
    status : {"baseline", "ignored", "late"}
        "baseline": the round counts as a baseline round from now on; "ignored": it was one; "late":
        its window has closed, and it stays as it was counted.
    detail : str
        The same as a sentence.
    """

    decision: str
    status: Literal["baseline", "ignored", "late"]
    detail: str


class CheckpointAnswer(_Answer):
    """How many checkpoints were reported."""

    checkpoints: int


class ArmAnswer(_Answer):
    """The arm that came or went."""

    arm: Action


class DecisionView(_Answer):
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
    would: Any
    """In shadow mode: what would have been played, its event and its margin."""
    digest: str | None


class DecisionPage(_Answer):
    """Decisions in the order of their rounds."""

    decisions: list[DecisionView]
    next: int | None
    """What to pass as `after` for the next page."""


class BudgetPoint(_Answer):
    """What was certified at a round."""

    round: int
    at: str
    event: Event
    margin: float | None


class BudgetView(_Answer):
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
        The certified margin of the latest round.
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


class EstimatePoint(_Answer):
    """What was known of the action that a round chose."""

    round: int
    at: str
    action: Action
    lower: float
    upper: float | None


class EstimatesView(_Answer):
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
