"""Answers: what is said of a decision, read off the event that holds it."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from handrail.policies.reasons import Facts, sentence
from handrail.service.book import Book
from handrail.service.events import Decided
from handrail.service.messages import Action, Answer

__all__ = ["action_of", "answer", "answer_fallen", "moment", "reason"]


def moment(at: int) -> str:
    """Return a time in microseconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at / 1e6, UTC).isoformat(timespec="milliseconds")


def action_of(book: Book, event: Decided) -> Action:
    """Return the action of a decision as it was named."""
    return event.named if event.named is not None else book.name_of(event.action)


def reason(book: Book, event: Decided) -> str:
    """Say in one sentence why a decision was made."""
    units = book.units
    leader: Action | None = event.leader_named
    if leader is None and event.leader is not None:
        leader = book.name_of(event.leader)
    upper, leader_upper = event.upper, event.leader_upper
    return sentence(
        Facts(
            algorithm=book.algorithm,
            round=event.round,
            action=action_of(book, event),
            event=event.event,
            margin=event.margin,
            upper=math.inf if upper is None else upper,
            lower=event.lower,
            baseline=None,
            baseline_mean=units.outward(event.mean) if book.conservative else None,
            baseline_low=units.outward(event.floor) if event.floor < event.mean else None,
            leader=leader,
            leader_margin=event.leader_margin,
            leader_upper=math.inf if leader_upper is None else leader_upper,
            leader_lower=event.leader_lower or 0.0,
            safe_actions=event.safe,
            reward_above=units.low,
            held=event.mode != "live",
        )
    )


def answer(book: Book, event: Decided, repeated: bool = False) -> Answer:
    """Return what a decision is answered with, now or when it is asked for again."""
    return Answer(
        id=book.decision_id(event),
        round=event.round,
        action=action_of(book, event),
        event=event.event,  # type: ignore[arg-type]
        margin=event.margin,
        reason=reason(book, event),
        awaits_reward=book.awaits_reward(event.event),
        repeated=repeated,
        say_played=book.needs_word and book.awaits_reward(event.event),
    )


def answer_fallen(book: Book, event: Decided, baseline: Action, awaited: bool) -> Answer:
    """Return what a decision is answered with after the baseline was played in its round."""
    return Answer(
        id=book.decision_id(event),
        round=event.round,
        action=baseline,
        event="baseline",
        margin=None,  # the one in the log is of the action that was not played
        reason=(
            f"Action {baseline}, the baseline, is played: it was reported that it had been played "
            f"in this round instead of action {action_of(book, event)}."
        ),
        awaits_reward=awaited,
        repeated=True,
    )
