"""What the log says of one round: its decision, and what came of it."""

from __future__ import annotations

from typing import NamedTuple

from handrail.policies.identity import Identity
from handrail.service.book import Book
from handrail.service.events import Decided, FellBack, Rewarded, decode
from handrail.service.session import Session

__all__ = ["Past", "history", "keyed_decision"]


class Past(NamedTuple):
    """A round's decision, its reward, and why the baseline was played after all, if it was."""

    decided: Decided
    given: float | None
    fell_back: str | None


def history(session: Session, book: Book, identity: Identity) -> Past | None:
    """Return what the log says of a round; None if it has no decision of this id."""
    session.flush()
    rows = session.log.rounds(session.number(book), identity.round, identity.round)
    decided: Decided | None = None
    given: float | None = None
    fell_back: str | None = None
    for row in rows:
        match decode(row.body):
            case Decided() as event if event.token == identity.copy:
                decided = event
            case Rewarded() as event:
                given = event.reward
            case FellBack() as event:
                fell_back = event.because or "no-answer"
    return None if decided is None else Past(decided, given, fell_back)


def keyed_decision(session: Session, book: Book, key: str) -> Decided | None:
    """Return the decision that was made under an idempotency key, if it is still kept.

    Where a restore removed the event, the decision is lost, as it is with its key.
    """
    event = session.keyed(book, key)
    oldest = session.now - int(session.limits.idempotency_seconds * 1e6)
    return None if event is None or event.at < oldest else event
