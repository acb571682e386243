"""What to play, as the caller gets it; and one round of a batch, as the caller asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypedDict

from handrail.service.messages import Action, Answer, Event, Mean

__all__ = ["Ask", "Choice", "FeaturesLike", "answered", "fell_back"]


class _Array(Protocol):
    """An array of numbers, whoever made it."""

    def tolist(self) -> object:
        """Return it as lists."""


_Row: TypeAlias = Sequence[float] | _Array
FeaturesLike: TypeAlias = Sequence[_Row] | Mapping[str, _Row] | _Array
"""One row per action, or one row per action's name; arrays are welcome."""


class Ask(TypedDict, total=False):
    """One round of `decide_many`: the arguments of `decide`."""

    features: FeaturesLike | None
    proposal: Action | None
    baseline: Action | None
    baseline_mean: Mean | None
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class Choice:
    """What to play, and why.

    Attributes
    ----------
    policy : str
        The policy that was asked.
    action : int or str
        The action to play: the service's, or after a fallback the caller's baseline.
    event : {"optimistic", "safe", "baseline"}
        The most optimistic action, another safe one, or the baseline.
    reason : str
        Why, in one sentence.
    id : str or None
        The decision's id; None after a fallback.
    round : int or None
        The round, counted from 1; None after a fallback.
    margin : float or None
        The certified margin if it is played; None after a fallback, and for algorithms that promise
        nothing.
    awaits_reward : bool
        Whether a reward will be used.
    repeated : bool
        Whether the decision was made before, under the same idempotency key.
    say_played : bool
        Whether the round counts only if its action is said to be played; the client says so.
    fallback : bool
        Whether this is the caller's baseline because the service gave no answer.
    error : str or None
        Why it gave none.
    key : str
        The idempotency key that was sent.
    """

    policy: str
    action: Action
    event: Event
    reason: str
    id: str | None
    round: int | None
    margin: float | None
    awaits_reward: bool
    repeated: bool
    say_played: bool
    fallback: bool
    error: str | None
    key: str


def answered(policy: str, key: str, answer: Answer) -> Choice:
    """Return the service's choice."""
    return Choice(
        policy=policy,
        action=answer.action,
        event=answer.event,
        reason=answer.reason,
        id=answer.id,
        round=answer.round,
        margin=answer.margin,
        awaits_reward=answer.awaits_reward,
        repeated=answer.repeated,
        say_played=answer.say_played,
        fallback=False,
        error=None,
        key=key,
    )


def fell_back(policy: str, key: str, baseline: Action, error: str) -> Choice:
    """Return the caller's baseline, and why it is played."""
    return Choice(
        policy=policy,
        action=baseline,
        event="baseline",
        reason="The service gave no answer that could be used, so the baseline is played.",
        id=None,
        round=None,
        margin=None,
        awaits_reward=False,
        repeated=False,
        say_played=False,
        fallback=True,
        error=error,
        key=key,
    )
