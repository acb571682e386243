"""Outcomes: rewards and fallbacks, and what is answered to those that come again or too late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from handrail.errors import InputError
from handrail.policies.identity import Identity, parse_id
from handrail.policies.outcomes import Because
from handrail.service.book import Book
from handrail.service.commands import active
from handrail.service.events import FellBack, Rewarded
from handrail.service.history import history, keyed_decision
from handrail.service.messages import (
    FallbackAnswer,
    PlayedAnswer,
    RewardAnswer,
    RewardRequest,
    RewardStatus,
)
from handrail.service.played import named_in, say_played
from handrail.service.problems import Problem
from handrail.service.session import Session

__all__ = ["fall_back", "played", "played_all", "reward_all"]

_SAID: dict[str, str] = {
    "learned": "The reward was learned from.",
    "waiting": "The reward waits until the decision's window closes, or it is said to be played.",
    "ignored": "The baseline was played, which needs no reward.",
    "repeated": "The same reward was given before.",
    "late": "The round was settled without this reward: its window has closed.",
    "conflict": "Another reward was given before.",
    "unknown": "There is no such decision.",
}


def reward_all(
    session: Session,
    book: Book,
    requests: list[RewardRequest],
    batch: bool,
    played: Sequence[str] = (),
) -> list[RewardAnswer]:
    """Take rewards in; each gets an answer of its own, but bad input refuses them all."""
    active(book)
    # Before the rewards are looked at: what was played must not depend on them.
    say_played(session, book, named_in(played, requests), "played")
    named = []
    for position, request in enumerate(requests):
        try:
            named.append(parse_id(request.decision))
            book.units.reward("reward", request.reward)
        except InputError as error:
            place = f"rewards[{position}].{error.field}" if batch else error.field
            raise InputError(place, error.reason, error.remedy) from None
    answers = [
        _reward(session, book, identity, request)
        for identity, request in zip(named, requests, strict=True)
    ]
    if not batch:
        _raise(answers[0])
    return answers


def _raise(answer: RewardAnswer) -> None:
    if answer.status == "conflict":
        raise Problem(409, "another one was given before", field="reward", remedy="give it once")
    if answer.status == "unknown":
        raise _unknown()


def _unknown() -> Problem:
    return Problem(404, "there is none of this id", field="decision", remedy="pass one's id")


def _reward(
    session: Session, book: Book, identity: Identity, request: RewardRequest
) -> RewardAnswer:
    status = _status(session, book, identity, request.reward)
    return RewardAnswer(decision=request.decision, status=status, detail=_SAID[status])


def _status(session: Session, book: Book, identity: Identity, reward: float) -> RewardStatus:
    policy = book.policy
    if identity.policy != book.identity or identity.round > policy.round:
        return "unknown"
    if not identity.awaits_reward:
        return "ignored"
    if not policy.waits(identity):
        return _settled(session, book, identity, reward)
    before = policy.waiting_reward(identity.round)
    if before is not None:
        return "repeated" if before == book.units.reward("reward", reward) else "conflict"
    event = Rewarded(at=session.time(book), round=identity.round, reward=reward)
    status = policy.learn(identity, reward)
    book.count(event)
    session.write(book, event)
    return "waiting" if status == "waiting" else "learned"


def _settled(session: Session, book: Book, identity: Identity, reward: float) -> RewardStatus:
    """Say what became of a round that does not wait any longer."""
    past = history(session, book, identity)
    if past is None:
        return "unknown"
    decided, given, fell_back = past
    if given is not None:
        return "repeated" if given == reward else "conflict"
    if fell_back is not None or not book.awaits_reward(decided.event):
        return "ignored"
    return "late"


# -- fallbacks -----------------------------------------------------------------------------


def played(session: Session, book: Book, decision: str) -> PlayedAnswer:
    """Take in that a decision's action was played; `key:...` names a decision by key."""
    active(book)
    decision = _keyed(session, book, decision)
    parse_id(decision)  # if it is none, "decision" is refused, not the first one of a list
    (answer,) = say_played(session, book, [decision], "decision")
    if answer.status == "unknown":
        raise _unknown()
    if answer.status == "fallback":
        raise Problem(409, "it was reported that the baseline was played", field="decision")
    return answer


def played_all(session: Session, book: Book, decisions: list[str]) -> list[PlayedAnswer]:
    """Take in which decisions' actions were played."""
    return say_played(session, active(book), decisions, "decisions")


def _keyed(session: Session, book: Book, decision: str) -> str:
    """Return a decision's id, also of one that is named by its idempotency key."""
    if not decision.startswith("key:"):
        return decision
    event = keyed_decision(session, book, decision.removeprefix("key:"))
    if event is None:
        raise Problem(404, "no decision was made under this key", field="decision")
    return book.decision_id(event)


def fall_back(
    session: Session, book: Book, decision: str, because: Because = "no-answer"
) -> FallbackAnswer:
    """Take in that the caller played the baseline after all; `key:...` names a decision by key."""
    active(book)
    unanswered = decision.startswith("key:") and because == "no-answer"
    decision = _keyed(session, book, decision)
    status = _fall_back(session, book, parse_id(decision), because, unanswered)
    said = {
        "baseline": "The round counts as a baseline round.",
        "choice": "The round earns what the baseline earned in it; report that as its reward.",
        "ignored": "The round was a baseline round from the start.",
        "late": "The round's window has closed: it stays as it was counted.",
    }
    return FallbackAnswer(decision=decision, status=status, detail=said[status])


def _fall_back(
    session: Session, book: Book, identity: Identity, because: Because, unanswered: bool
) -> Literal["baseline", "choice", "ignored", "late"]:
    """Count a fallback; `unanswered` where it is of somebody who never saw the decision."""
    if identity.policy != book.identity or identity.round > book.policy.round:
        raise _unknown()
    past = history(session, book, identity)
    if past is None:
        raise _unknown()
    decided, given, fell_back = past
    settings = book.policy._settings
    stays = settings.one_mean and book.conservative
    kind: Literal["baseline", "choice"] = "choice" if because == "choice" and stays else "baseline"
    if fell_back is not None:
        if stays and fell_back != because:
            raise Problem(409, "another reason was given before", field="because")
        return kind
    if given is not None:
        raise Problem(409, "a reward was given: the decision was played", field="decision")
    if decided.event == "baseline":
        return "ignored"
    if not book.policy.waits(identity):
        return "late"
    if unanswered and book.policy.said_played(identity.round):
        # Who got no answer cannot know that somebody else got it under the same key and played
        # it. Asked here and not where logs are folded: older ones may hold such fallbacks.
        raise Problem(
            409,
            "it was said to be played, by somebody who got the answer",
            field="decision",
            remedy="if it was not played after all, name it by its id",
        )
    event = FellBack(at=session.time(book), round=identity.round, because=because)
    book.apply(event)
    session.write(book, event)
    return kind
