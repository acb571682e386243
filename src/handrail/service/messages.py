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
    "CheckpointAnswer",
    "CreateRequest",
    "DecideBatch",
    "DecideRequest",
    "FallbackAnswer",
    "FallbackRequest",
    "Features",
    "Mean",
    "Mode",
    "ModeRequest",
    "Override",
    "PlayedAnswer",
    "PlayedAnswers",
    "PlayedBatch",
    "PlayedStatus",
    "RewardAnswer",
    "RewardAnswers",
    "RewardBatch",
    "RewardRequest",
    "RewardStatus",
    "Served",
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
Override: TypeAlias = Literal["baseline_mean", "baseline"]
PlayedStatus: TypeAlias = Literal["played", "ignored", "late", "fallback", "unknown"]
RewardStatus: TypeAlias = Literal[
    "learned", "waiting", "ignored", "repeated", "late", "conflict", "unknown"
]


class _Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """What a caller sends."""


class Served(msgspec.Struct, kw_only=True, gc=False):
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
        This round's baseline, where none was agreed on, or may be overridden.
    baseline_mean : float or (float, float)
        Its mean reward this round, likewise.
    idempotency_key : str
        Asking again with the same key gives the same answer.
    played : list of str
        Earlier decisions whose actions were played.
    """

    features: Features | None = None
    proposal: Action | None = None
    baseline: Action | None = None
    baseline_mean: Mean | None = None
    idempotency_key: str | None = None
    played: list[str] | None = None


class DecideBatch(_Request):
    """Several rounds, decided in this order; all of them or none."""

    requests: list[DecideRequest]
    played: list[str] | None = None


class Answer(Served):
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
        The certified margin if it is played; None for algorithms that promise nothing, and where
        the baseline was played after all.
    reason : str
        Why, in one sentence.
    awaits_reward : bool
        Whether a reward of this decision will be used.
    repeated : bool
        Whether the decision was made before, under the same idempotency key.
    say_played : bool
        Whether the round counts only if its action is said to be played.
    """

    id: str
    round: int
    action: Action
    event: Event
    margin: float | None
    reason: str
    awaits_reward: bool
    repeated: bool = False
    say_played: bool = False


class Answers(Served):
    """The answers to a batch, in its order."""

    decisions: list[Answer]


class RewardRequest(_Request):
    """The reward of one decision."""

    decision: str
    reward: float
    played: list[str] | None = None


class RewardBatch(_Request):
    """The rewards of several decisions; each gets an answer of its own."""

    rewards: list[RewardRequest]
    played: list[str] | None = None


class PlayedBatch(_Request):
    """Decisions whose actions were played; each gets an answer of its own."""

    decisions: list[str]


class PlayedAnswer(Served):
    """What became of the word that a decision's action was played.

    Attributes
    ----------
    decision : str
        The decision's id.
    status : str
        "played"; "ignored", the policy or this round does not ask for it; "late", the round was
        settled before; in a batch also "fallback", it was reported that the baseline was played,
        and "unknown", there is no such decision.
    detail : str
        The same as a sentence.
    """

    decision: str
    status: PlayedStatus
    detail: str


class PlayedAnswers(Served):
    """What became of each, in the order in which they were named."""

    played: list[PlayedAnswer]


class RewardAnswer(Served):
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


class RewardAnswers(Served):
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
    may_override : list
        What of the agreed a round may tell otherwise: "baseline_mean", "baseline". The promise
        then rests on what those with a decide key tell.
    confirm : true or "by-reward"
        What shows that a decision was carried out where a default_reward is declared: that it is
        said to be played, or, "by-reward", that a reward came.
    arms : int or list of str
        How many arms, or their names.
    features : rows or mapping
        Features of fixed arms, or the same by name.
    """

    name: str
    algorithm: str
    mode: Mode = "live"
    keep_candidates: bool = False
    may_override: list[Override] | None = None
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
    confirm: bool | Literal["by-reward"] | None = None


class ModeRequest(_Request):
    """A change of mode."""

    mode: Mode


class ArmRequest(_Request):
    """An arm that comes: its name where arms have names, its features where they have some."""

    name: str | None = None
    features: list[float] | None = None


class FallbackRequest(_Request):
    """Why the baseline was played after all: no answer came in time, or somebody chose it."""

    because: Literal["no-answer", "choice"] = "no-answer"


class FallbackAnswer(Served):
    """What became of the report that the baseline was played after all.

    Attributes
    ----------
    decision : str
        The decision's id.
    status : {"baseline", "choice", "ignored", "late"}
        "baseline": the round counts as a baseline round from now on; "choice": it stays a round of
        another action, and earns what the baseline earned in it; "ignored": it was a baseline
        round; "late": its window has closed, and it stays as it was counted.
    detail : str
        The same as a sentence.
    """

    decision: str
    status: Literal["baseline", "choice", "ignored", "late"]
    detail: str


class CheckpointAnswer(Served):
    """How many checkpoints were reported."""

    checkpoints: int


class ArmAnswer(Served):
    """The arm that came or went."""

    arm: Action
