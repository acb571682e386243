"""Views: a policy, its decisions, its budget and its estimates, as they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from handrail.policies.inspection import accounts, estimates, theta
from handrail.service.answers import action_of, answer, moment
from handrail.service.book import Book
from handrail.service.definition import leave
from handrail.service.events import Decided, FellBack, Rewarded, SaidPlayed, decode
from handrail.service.messages import Action
from handrail.service.shelf import page_after
from handrail.service.shown import (
    BudgetPoint,
    BudgetView,
    DecisionPage,
    DecisionView,
    EstimatePoint,
    EstimatesView,
    Head,
    PolicyView,
)
from handrail.service.store.protocol import Reader, Row

__all__ = [
    "budget_view",
    "decided",
    "decision_page",
    "estimates_view",
    "policy_view",
    "spaced",
]

_FEW: Final = 20
_MANY: Final = 500
"""Rounds that are read at once: at first, and at most."""
_PAGE_BYTES: Final = 8 * 2**20


def policy_view(book: Book) -> PolicyView:
    """Return a policy as it is now."""
    actions: list[Action] | None = None
    if not book.varies and not book.guard:
        arms = book.policy.actions or 0
        actions = [book.name_of(arm) for arm in range(arms)]
    baseline = book.baseline
    if isinstance(baseline, int) and not book.guard:
        baseline = book.name_of(baseline)
    return PolicyView(
        name=book.definition["name"],
        algorithm=book.definition["algorithm"],
        mode=book.mode,  # type: ignore[arg-type]
        archived=book.archived,
        created_at=moment(book.created_at),
        parameters=book.definition["parameters"],
        actions=actions,
        baseline=baseline,
        round=book.policy.round,
        pending=book.policy.pending,
        margin=book.margin,
        decisions=dict(book.decisions),
        failure_probability=book.policy.failure_probability,
        notes=list(book.notes),
        head=Head(events=book.seq, hash=book.head.hex()),
        may_override=_may_override(book),  # type: ignore[arg-type]
    )


def _may_override(book: Book) -> list[str]:
    """Return the leave as it was given; policies of version 1 have all that there is."""
    named = book.may_override
    return leave(book.policy, book.definition) if named is None else sorted(named)


def decision_page(book: Book, reader: Reader, number: int, after: int, limit: int) -> DecisionPage:
    """Return decisions of rounds after one, up to a limit, and what came of each.

    A page ends early where rounds are large (they may hold all of their candidates), so that
    reading it takes little memory.
    """
    views: list[DecisionView] = []
    page, size = _FEW, 0
    while len(views) < limit and size < _PAGE_BYTES:
        first = after + len(views) + 1
        rows = reader.rounds(number, first, first + min(page, limit - len(views)) - 1)
        if not rows:
            break
        views += _decisions(book, rows)
        size += sum(len(row.body) for row in rows)
        page = page_after(rows, _MANY)
    more = bool(views) and views[-1].round < book.policy.round
    return DecisionPage(decisions=views, next=views[-1].round if more else None)


def _decisions(book: Book, rows: Iterable[Row]) -> list[DecisionView]:
    """Return decisions from the rows of their rounds; what came of each may follow much later."""
    decided: dict[int, Decided] = {}
    rewards: dict[int, Rewarded] = {}
    fell_back: set[int] = set()
    said: set[int] = set()
    for row in rows:
        match decode(row.body):
            case Decided() as event:
                decided[event.round] = event
            case Rewarded() as event:
                rewards[event.round] = event
            case FellBack() as event:
                fell_back.add(event.round)
            case SaidPlayed() as event:
                said.add(event.round)
    return [
        _decision(book, event, rewards.get(number), number in fell_back, number in said)
        for number, event in decided.items()
    ]


def _decision(
    book: Book, event: Decided, reward: Rewarded | None, fell_back: bool, said_played: bool
) -> DecisionView:
    said = answer(book, event)
    return DecisionView(
        id=said.id,
        round=said.round,
        at=moment(event.at),
        action=said.action,
        event=said.event,
        margin=said.margin,
        upper=event.upper,
        lower=event.lower,
        mode=event.mode,  # type: ignore[arg-type]
        reason=said.reason,
        reward=None if reward is None else reward.reward,
        rewarded_at=None if reward is None else moment(reward.at),
        fell_back=fell_back,
        said_played=said_played,
        would=event.would,
        digest=event.digest,
    )


def spaced(first: int, last: int, points: int) -> list[Sequence[int]]:
    """Return rounds evenly spaced from first to last, the last one among them, in short pieces.

    Each is read by itself: what is written while somebody reads cannot leave the write-ahead log.
    """
    rounds: Sequence[int] = range(first, last + 1)
    if len(rounds) > points:
        step = (len(rounds) - 1) / max(points - 1, 1)
        rounds = sorted({last - round(i * step) for i in range(points)})
    return [rounds[start : start + _MANY] for start in range(0, len(rounds), _MANY)]


def decided(reader: Reader, number: int, rounds: Iterable[int]) -> list[Decided]:
    """Return the decisions of rounds, without their features."""
    found = []
    for each in rounds:
        for row in reader.rounds(number, each, each):
            event = decode(row.body)
            if isinstance(event, Decided):
                slim = msgspec.structs.replace(event, features=None, base=None, candidates=None)
                found.append(slim)
    return found


def budget_view(book: Book, decisions: Sequence[Decided]) -> BudgetView:
    """Return what was earned and what is certified, with the margin over time."""
    parameters = book.definition["parameters"]
    ledger = accounts(book.policy)
    scale = book.units.scale
    explored = int(ledger["plays"])
    alpha = parameters.get("alpha")
    earnings = (ledger["spared"] + ledger["forgone"]) * scale
    return BudgetView(
        policy=book.definition["name"],
        alpha=alpha,
        delta=parameters.get("delta"),
        round=book.policy.round,
        baseline_rounds=book.policy.round - explored,
        explored_rounds=explored,
        pending=book.policy.pending,
        baseline_earnings=earnings,
        required=(1.0 - (alpha or 0.0)) * earnings,
        rewards=ledger["reward"] * scale,
        promised=(ledger["promised"] + ledger["waived"]) * scale,
        low=book.units.low,
        margin=book.margin,
        points=[
            BudgetPoint(
                round=each.round,
                at=moment(each.at),
                event=each.event,  # type: ignore[arg-type]
                margin=each.margin,
            )
            for each in decisions
        ],
    )


def estimates_view(book: Book, decisions: Sequence[Decided]) -> EstimatesView:
    """Return what is known of the actions, with the bounds of chosen ones over time."""
    known = estimates(book.policy)
    actions = None
    if known is not None:
        actions = [{"action": book.name_of(arm), **each} for arm, each in enumerate(known)]
    return EstimatesView(
        policy=book.definition["name"],
        round=book.policy.round,
        actions=actions,
        theta=theta(book.policy) if book.varies else None,
        points=[
            EstimatePoint(
                round=each.round,
                at=moment(each.at),
                action=action_of(book, each),
                lower=each.lower,
                upper=each.upper,
            )
            for each in decisions
        ],
    )
