"""Rounds: from a request to a decision on a book, and the event that says so."""

from __future__ import annotations

import hashlib
import math
from typing import Any, NamedTuple

import msgspec
import numpy as np

from handrail.conservative.choice import (
    ACTION,
    FLOOR,
    LEADER,
    LEADER_LOWER,
    LEADER_MARGIN,
    LEADER_UPPER,
    MEAN,
    PROMISE,
    SAFE,
)
from handrail.errors import InputError
from handrail.policies.decision import Decision
from handrail.policies.rounds import mean_of_round
from handrail.records import Floats
from handrail.service.book import Book
from handrail.service.definition import check_length, check_names, index_of
from handrail.service.events import Decided
from handrail.service.limits import Limits
from handrail.service.messages import Action, DecideRequest, Mean
from handrail.service.overrides import other_baseline, other_mean

__all__ = ["Asked", "ask", "baseline_of", "check", "decide", "digest_of", "fingerprint"]


class Asked(NamedTuple):
    """A request, ready for the policy."""

    given: dict[str, Any]
    """The arguments of `Policy.decide`."""
    names: list[str] | None
    """What this round's actions are called, where the round names them."""
    digest: str | None
    told: Mean | None
    """The baseline's mean, where the round tells it."""
    overrides: list[str] | None
    """What of the agreed the round tells otherwise."""


def fingerprint(request: DecideRequest) -> str:
    """Return a digest of all that a request says, for one that comes again with the same key."""
    # Only what is said: a field that a later version adds does not change it. What was played
    # before is no part of the question.
    fields = msgspec.structs.asdict(request).items()
    said = {name: value for name, value in fields if value is not None and name != "played"}
    return hashlib.sha256(msgspec.msgpack.encode(said)).hexdigest()[:16]


def ask(book: Book, request: DecideRequest, limits: Limits) -> Asked:
    """Turn a request into arguments for the policy."""
    given: dict[str, Any] = {}
    names, digest = None, None
    if request.features is not None:
        names, rows = _rows(request, limits)
        given["features"] = rows
        digest = digest_of(names, rows)
    if request.proposal is not None:
        given["proposal"] = _short("proposal", request.proposal, limits)
    baseline = request.baseline
    if baseline is None and isinstance(book.baseline, str) and book.varies:
        baseline = book.baseline
    if baseline is not None:
        if not book.guard:
            baseline = index_of("baseline", baseline, book.names if names is None else names)
        given["baseline"] = _short("baseline", baseline, limits)
    if request.baseline_mean is not None:
        given["baseline_mean"] = request.baseline_mean
    other_one = other_baseline(book, baseline, names)
    other = other_mean(book, request.baseline_mean)
    overrides = _allowed(book, {"baseline": other_one, "baseline_mean": other})
    settings = book.policy._settings
    named = book.varies and isinstance(book.baseline, str)
    if other_one and named and book.may_override is not None and book.conservative:
        # The agreed mean is the agreed baseline's. A policy sees to that itself, but it does not
        # know the baseline whose name was agreed on.
        mean_of_round(settings, request.baseline_mean, other=True)
    if settings.known.fixed and not other:
        given.pop("baseline_mean", None)  # what was agreed once for all rounds is told by none
    return Asked(given, names, digest, request.baseline_mean, overrides)


def _allowed(book: Book, told: dict[str, bool]) -> list[str] | None:
    """Return what of the agreed is told otherwise; refuse what may not be."""
    fields = [field for field, differs in told.items() if differs]
    for field in fields:
        if book.may_override is not None and field not in book.may_override:
            raise InputError(
                field,
                "was agreed on when the policy was made",
                "leave it out, or create a policy whose may_override names it",
            )
    return fields or None


def _rows(request: DecideRequest, limits: Limits) -> tuple[list[str] | None, Floats]:
    features = request.features
    assert features is not None
    names = None
    if isinstance(features, dict):
        names, features = list(features), list(features.values())
        check_names(names)
        check_length("features", names, limits)
    if len(features) > limits.candidates:
        raise InputError(
            "features",
            f"{len(features)} actions are too many",
            f"the service takes {limits.candidates} at most",
        )
    try:
        rows = np.array(features, dtype=np.float64)
    except ValueError:
        raise InputError(
            "features", "the rows differ in length", "pass one row per action"
        ) from None
    return names, rows


def digest_of(names: list[str] | None, rows: Floats) -> str:
    """Return a digest of a round's candidates: their names, where they have some, and features."""
    digest = hashlib.sha256(rows.tobytes())
    if names is not None:
        digest.update("\0".join(names).encode())
    return digest.hexdigest()[:32]


def _short(field: str, action: Action, limits: Limits) -> Action:
    if isinstance(action, str) and len(action) > limits.key_length:
        raise InputError(field, "is too long a name", f"use {limits.key_length} characters at most")
    return action


def check(book: Book, asked: Asked) -> None:
    """Refuse what `decide` would refuse, and change nothing; a shadow has to know its wish too."""
    book.policy.check(**asked.given, hold=book.mode == "paused")


def decide(
    book: Book, asked: Asked, at: int, key: str | None = None, request: str | None = None
) -> Decided:
    """Decide a round and return the event; the book counts it."""
    hold = book.mode != "live"
    would = None
    if book.mode == "shadow":
        wish = book.policy.explain(**asked.given)
        would = (_named(book, asked, wish, wish.choice[ACTION]), wish.event, wish.margin)
    decision = book.policy.decide(**asked.given, hold=hold)
    event = _event(book, asked, decision, at, key, request, would)
    book.count(event)
    return event


def _event(
    book: Book,
    asked: Asked,
    decision: Decision,
    at: int,
    key: str | None,
    request: str | None,
    would: tuple[Action, str, float | None] | None,
) -> Decided:
    choice = decision.choice
    units = book.units
    scale, low = units.scale, units.low
    action, leader, leader_margin = choice[ACTION], choice[LEADER], choice[LEADER_MARGIN]
    leader_upper = choice[LEADER_UPPER]
    if leader >= 0 and (leader_upper == -math.inf or math.isnan(leader_upper)):
        leader = -1  # only retired arms are left beside the baseline
    identity = decision.identity
    assert identity is not None
    features = base = None
    candidates: Any = None
    rows = asked.given.get("features")
    if rows is not None:
        features = rows[action].tolist()
        if book.needs_base and decision.event != "baseline":
            base = rows[_baseline(book, asked)].tolist()
        if book.definition["keep_candidates"]:
            listed = rows.tolist()
            named = asked.names
            candidates = listed if named is None else dict(zip(named, listed, strict=True))
    own_names = book.guard or asked.names is not None
    return Decided(
        at=at,
        round=decision.round,
        token=identity.copy,
        action=action,
        event=decision.event,
        margin=decision.margin,
        upper=_finite(decision.upper),
        lower=decision.lower,
        floor=choice[FLOOR],
        mean=choice[MEAN],
        promise=choice[PROMISE],
        safe=choice[SAFE],
        leader=None if leader < 0 else leader,
        leader_margin=None if leader < 0 or math.isnan(leader_margin) else leader_margin * scale,
        leader_upper=None if leader < 0 else _finite(leader_upper * scale + low),
        leader_lower=None if leader < 0 else choice[LEADER_LOWER] * scale + low,
        named=_named(book, asked, decision, action) if own_names else None,
        leader_named=_named(book, asked, decision, leader) if own_names and leader >= 0 else None,
        baseline=asked.given.get("baseline"),
        features=features,
        base=base,
        digest=asked.digest,
        candidates=candidates,
        key=key,
        request=request,
        mode=book.mode,
        would=would,
        told=asked.told,
        overrides=asked.overrides,
        proposal=asked.given.get("proposal"),
    )


def _baseline(book: Book, asked: Asked) -> int:
    """Return the index of a round's baseline among its rows."""
    told = asked.given.get("baseline", book.baseline)
    assert isinstance(told, int)
    return told


def baseline_of(book: Book, event: Decided, request: DecideRequest) -> Action | None:
    """Return what the baseline of a round is called that was decided on this request, if any."""
    told = book.baseline if event.baseline is None else event.baseline
    if book.guard or not isinstance(told, int):
        return told
    if isinstance(request.features, dict):  # the log has the digest of the names, not all of them
        return list(request.features)[told]
    return book.name_of(told)


def _named(book: Book, asked: Asked, decision: Decision, action: int) -> Action:
    """Return what an action is called in this round."""
    if book.guard:
        return decision.called(action)
    if asked.names is not None:
        return asked.names[action]
    return book.name_of(action)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
