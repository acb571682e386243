"""What was played: the word of callers that decisions were carried out, apart from rewards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from handrail.errors import InputError
from handrail.policies.identity import Identity, parse_id
from handrail.service.book import Book
from handrail.service.events import SaidPlayed
from handrail.service.history import history
from handrail.service.messages import DecideRequest, PlayedAnswer, PlayedStatus, RewardRequest
from handrail.service.session import Session

__all__ = ["named_in", "say_played"]

_SAID: Final[dict[PlayedStatus, str]] = {
    "played": "The action was played: its reward, or the default, will count.",
    "ignored": "This policy, or this round, does not ask whether the action was played.",
    "late": "The round was settled before, without this word or after it.",
    "fallback": "It was reported that the baseline was played.",
    "unknown": "There is no such decision.",
}


def named_in(played: Sequence[str], requests: Iterable[DecideRequest | RewardRequest]) -> list[str]:
    """Return all decisions that a request says were played, also within its parts."""
    return [*played, *(each for request in requests for each in request.played or ())]


def say_played(
    session: Session, book: Book, decisions: Sequence[str], field: str
) -> list[PlayedAnswer]:
    """Take in which actions were played; each gets an answer, but an id that is none refuses all.

    Word of a round that is settled, or not asked for, changes nothing and is no mistake: callers
    send it with whatever they ask next, and may send it twice.
    """
    if len(decisions) > session.limits.batch:
        raise InputError(
            field, f"has {len(decisions)} entries", f"name {session.limits.batch} at most"
        )
    named = []
    for position, decision in enumerate(decisions):
        try:
            named.append(parse_id(decision))
        except InputError as error:
            raise InputError(f"{field}[{position}]", error.reason, error.remedy) from None
    return [
        _answer(decision, _say(session, book, identity))
        for decision, identity in zip(decisions, named, strict=True)
    ]


def _answer(decision: str, status: PlayedStatus) -> PlayedAnswer:
    return PlayedAnswer(decision=decision, status=status, detail=_SAID[status])


def _say(session: Session, book: Book, identity: Identity) -> PlayedStatus:
    policy = book.policy
    if identity.policy != book.identity or identity.round > policy.round:
        return "unknown"
    if not book.needs_word or not identity.awaits_reward:
        return "ignored"
    if not policy.waits(identity):
        past = history(session, book, identity)
        if past is None:
            return "unknown"
        return "late" if past.fell_back is None else "fallback"
    if policy.fell_back(identity.round):
        return "fallback"
    if not policy.said_played(identity.round):
        event = SaidPlayed(at=session.time(book), round=identity.round)
        book.apply(event)
        session.write(book, event)
    return "played"
