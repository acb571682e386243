"""Commands: what changes a policy, one function each, on a session's book."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final

from handrail._version import __version__
from handrail.errors import InputError
from handrail.policies.identity import new_name, parse_id
from handrail.service.answers import answer, answer_fallen
from handrail.service.book import Book
from handrail.service.definition import (
    LOG_VERSION,
    check_length,
    check_names,
    define,
    index_of,
    parts_of,
)
from handrail.service.events import (
    Archived,
    ArmAdded,
    ArmRetired,
    Checkpoint,
    Closed,
    Created,
    ModeChanged,
)
from handrail.service.history import history, keyed_decision
from handrail.service.messages import Action, Answer, ArmRequest, CreateRequest, DecideRequest, Mode
from handrail.service.played import named_in, say_played
from handrail.service.problems import Problem, from_input
from handrail.service.rounds import Asked, ask, baseline_of, check, decide, fingerprint
from handrail.service.session import Session

__all__ = [
    "active",
    "add_arm",
    "archive",
    "change_mode",
    "create",
    "decide_all",
    "report_checkpoint",
    "retire_arm",
]

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
"""An arm's index in a path."""


def create(session: Session, request: CreateRequest) -> Book:
    """Create a policy."""
    for field, names in (("arms", request.arms), ("features", request.features)):
        if isinstance(names, list | dict):  # not in `define`: older logs may have longer ones
            check_length(field, names, session.limits)
    check_length("baseline", [request.baseline], session.limits)
    definition, made = define(request, session.limits)
    row = session.log.add_policy(request.name)
    if row is None:
        raise Problem(
            409,
            f"there is a policy {request.name!r} already",
            field="name",
            remedy="choose another name: archived policies keep theirs",
        )
    created = Created(
        at=session.now,
        policy=new_name(16),
        definition=definition,
        handrail=__version__,
        version=LOG_VERSION,
        parts=parts_of(made.policy),
        seed=secrets.randbits(53),
    )
    book = Book(created, made.policy)
    book.names, book.notes = made.names, made.notes
    session.open_book(row, book)
    session.write(book, created)
    return book


def active(book: Book) -> Book:
    """Return a policy's book if it may still change."""
    if book.archived:
        raise Problem(409, "the policy is archived", field="policy", remedy="create another one")
    return book


def change_mode(session: Session, book: Book, mode: Mode) -> Book:
    """Change a policy's mode."""
    if active(book).mode != mode:
        event = ModeChanged(at=session.time(book), mode=mode)
        book.apply(event)
        session.write(book, event)
    return book


def archive(session: Session, book: Book) -> Book:
    """Archive a policy; doing so twice is fine."""
    if not book.archived:
        event = Archived(at=session.time(book))
        book.apply(event)
        session.write(book, event)
    return book


def report_checkpoint(session: Session, book: Book) -> int:
    """Report that the round decided last was a checkpoint; return how many there were."""
    event = Checkpoint(at=session.time(active(book)))
    passed = book.policy.checkpoint()
    book.count(event)
    session.write(book, event)
    return passed


def add_arm(session: Session, book: Book, request: ArmRequest) -> Action:
    """Add an arm; return its name."""
    active(book)
    if (book.names is None) != (request.name is None):
        reason = "these arms have no names" if book.names is None else "is required"
        raise InputError("name", reason, "name new arms as those of the creation")
    if book.names is not None and request.name is not None:
        check_length("name", [request.name], session.limits)
        check_names([*book.names, request.name])
    event = ArmAdded(at=session.time(book), name=request.name, features=request.features)
    arm = book.policy.add_arm(request.features)
    book.count(event)
    session.write(book, event)
    return book.name_of(arm)


def retire_arm(session: Session, book: Book, arm: str) -> Action:
    """Retire an arm, by its name or its index."""
    active(book)
    named: Action = int(arm) if book.names is None and _INDEX.fullmatch(arm) else arm
    index = index_of("arm", named, book.names)
    if book.policy.is_retired(index):
        return book.name_of(index)
    event = ArmRetired(at=session.time(book), arm=index)
    book.policy.retire_arm(index)
    book.count(event)
    session.write(book, event)
    return book.name_of(index)


# -- rounds --------------------------------------------------------------------------------


def decide_all(
    session: Session,
    book: Book,
    requests: list[DecideRequest],
    batch: bool = False,
    played: Sequence[str] = (),
) -> list[Answer]:
    """Decide rounds in their order: all of them, or none; problems of a batch say which."""
    active(book)
    # Before the rounds: their windows may close what is said to be played.
    say_played(session, book, named_in(played, requests), "played")
    if len(requests) == 1 and not batch:
        return [_decide(session, book, requests[0], None)]
    asked: list[Asked | None] = []
    marks: dict[str, str] = {}
    for position, request in enumerate(requests):
        try:
            _check_key(request, marks)
            repeated = _repeated(session, book, request)
            if repeated is None:
                each = ask(book, request, session.limits)
                check(book, each)
                asked.append(each)
            else:
                asked.append(None)
        except Problem as problem:
            raise problem.within(f"requests[{position}]") from None
        except InputError as error:
            raise from_input(error).within(f"requests[{position}]") from None
    try:
        return [
            _decide(session, book, request, each)
            for request, each in zip(requests, asked, strict=True)
        ]
    except (InputError, Problem) as error:  # half of the rounds are decided: undo them all
        raise RuntimeError("a round that was checked was refused") from error


def _check_key(request: DecideRequest, marks: dict[str, str]) -> None:
    """Refuse a key that another request of the same batch has."""
    key = request.idempotency_key
    if key is not None and marks.setdefault(key, fingerprint(request)) != fingerprint(request):
        raise _other_request()


def _other_request() -> Problem:
    return Problem(
        409,
        "was used for another request",
        field="idempotency_key",
        remedy="use a new key for every round",
    )


def _decide(session: Session, book: Book, request: DecideRequest, asked: Asked | None) -> Answer:
    key = request.idempotency_key
    mark = None
    if key is not None:
        repeated = _repeated(session, book, request)
        if repeated is not None:
            return repeated
        mark = fingerprint(request)
    if asked is None:
        asked = ask(book, request, session.limits)
    event = decide(book, asked, session.time(book), key, mark)
    row = session.write(book, event)
    if key is not None:
        session.remember(book, key, row.seq, event)
    _close_oldest(session, book)
    return answer(book, event)


def _close_oldest(session: Session, book: Book) -> None:
    """Stop waiting for the oldest rewards where too many rounds wait: memory has an end."""
    if "window" in book.policy.parameters:
        return  # whose end settles them, and which is no longer than that many rounds
    while book.policy.pending > session.limits.pending:
        event = Closed(at=session.time(book), round=book.policy.oldest_waiting())
        book.apply(event)
        session.write(book, event)


def _repeated(session: Session, book: Book, request: DecideRequest) -> Answer | None:
    """Return the answer that was given under a request's idempotency key."""
    key = request.idempotency_key
    if key is None:
        return None
    if not 0 < len(key) <= session.limits.key_length:
        raise InputError(
            "idempotency_key",
            f"has {len(key)} characters",
            f"use 1 to {session.limits.key_length}",
        )
    event = keyed_decision(session, book, key)
    if event is None:
        return None
    if event.request != fingerprint(request):
        raise _other_request()
    identity = parse_id(book.decision_id(event))
    past = history(session, book, identity)
    if past is None or past.fell_back is None:
        return answer(book, event, repeated=True)
    # It counts as the baseline: nobody may explore on it.
    baseline = baseline_of(book, event, request)
    if baseline is None:
        raise Problem(
            409,
            "the baseline was played under it",
            field="idempotency_key",
            remedy="use a new key for every round",
        )
    return answer_fallen(book, event, baseline, book.policy.waits(identity))
