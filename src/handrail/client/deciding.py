"""Decide: one answer or the caller's baseline, whatever happens."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from handrail.client.choice import Ask, Choice, answered, fell_back
from handrail.client.core import Core
from handrail.client.errors import NoAnswer, ServiceError
from handrail.client.reading import cause_of, read, write
from handrail.client.settings import seconds, segment
from handrail.client.steps import Cause, Outcome, Reply, Request, Talk
from handrail.client.unsaid import HandOut, Taken
from handrail.errors import InputError
from handrail.service.limits import Limits
from handrail.service.messages import Action, Answer, Answers

__all__ = ["decide", "decide_many"]

_KEY_LENGTH: Final = Limits.key_length
_OUTAGES: Final = ("unreachable", "timeout", "broken", "failed", "unreadable")
"""Causes that say something about the service, not about the request."""


@dataclass(frozen=True, slots=True)
class _Round:
    """One round that is asked for: what to play if there is no answer, and its key."""

    ask: Ask
    baseline: Action
    key: str
    given: bool
    """Whether the key is the caller's own."""


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why there is no answer; `doubt` where the decision may have been committed."""

    cause: Cause
    error: Exception
    doubt: bool


def decide(
    core: Core,
    policy: str,
    ask: Ask,
    baseline: Action | None,
    timeout: float | None,
    out: HandOut,
) -> Talk[Choice]:
    """Ask for one round.

    Parameters
    ----------
    core : Core
        The client's core.
    policy : str
        The policy's name.
    ask : Ask
        The arguments of the round.
    baseline : int or str or None
        What to play without an answer, where the round does not say.
    timeout : float or None
        Seconds in total.
    out : HandOut
        Takes note of what is returned: it counts once the caller has it.

    Returns
    -------
    Talk
        Returns the choice.
    """
    rounds = [_round(core, policy, ask, baseline, "baseline")]
    (choice,) = yield from _decide(core, rounds, _one, timeout, out)
    return choice


def decide_many(
    core: Core,
    policy: str,
    asks: Sequence[Ask],
    baseline: Action | None,
    timeout: float | None,
    out: HandOut,
) -> Talk[list[Choice]]:
    """Ask for several rounds: all of them are answered, or all fall back."""
    rounds = [
        _round(core, policy, ask, baseline, f"requests[{place}].baseline")
        for place, ask in enumerate(asks)
    ]
    if not rounds:
        return []
    return (yield from _decide(core, rounds, _many, timeout, out))


def _round(core: Core, policy: str, ask: Ask, baseline: Action | None, field: str) -> _Round:
    """Return a round with all that a fallback needs; without a baseline there is no fallback."""
    played = ask.get("baseline")
    if played is None:
        played = baseline
    if played is None:
        played = core.settings.baselines.get(policy)
    if played is None:
        raise InputError(
            field,
            f"what policy {policy!r} falls back to is not known",
            "pass baseline=, or baselines={policy: action} to the client",
        )
    key = ask.get("idempotency_key")
    return _Round(ask, played, uuid.uuid4().hex if key is None else key, key is not None)


def _decide(
    core: Core,
    rounds: list[_Round],
    body_of: Callable[[list[_Round], list[str]], bytes],
    timeout: float | None,
    out: HandOut,
) -> Talk[list[Choice]]:
    """Ask for what was not answered before under a key the caller gave.

    What was answered under a key stays the answer: it may have been played already.
    """
    began = core.clock()
    core.tally.decided(len(rounds))
    known = [core.known(out.policy, each.key, out) if each.given else None for each in rounds]
    rest = [each for each, choice in zip(rounds, known, strict=True) if choice is None]
    new = iter((yield from _decide_new(core, rest, body_of, timeout, began, out)) if rest else ())
    core.expect(out)
    return [next(new) if choice is None else replace(choice, repeated=True) for choice in known]


def _decide_new(
    core: Core,
    rounds: list[_Round],
    body_of: Callable[[list[_Round], list[str]], bytes],
    timeout: float | None,
    began: float,
    out: HandOut,
) -> Talk[list[Choice]]:
    policy = out.policy
    taken = Taken(core.unsaid, policy)
    try:
        taken.take(len(rounds))
        try:
            span = core.settings.timeout if timeout is None else seconds("timeout", timeout)
            path = f"/v1/policies/{segment('policy', policy)}/decide"
            body = body_of(rounds, taken.ids)
        except Exception as error:  # features of any kind may come: the page must not go down
            return _fallback(core, rounds, _Trouble("input", error, doubt=False), out)
        if not core.breaker.allows(began):
            rests = NoAnswer(None, "not asked, the service failed several times in a row")
            return _fallback(core, rounds, _Trouble("resting", rests, doubt=False), out)
        outcome, doubt = yield from _ask(Request("POST", path, body, began + span))
        try:
            alone = body_of is _one
            answers = [read(outcome, Answer)] if alone else read(outcome, Answers).decisions
            if len(answers) != len(rounds):
                raise NoAnswer(None, f"{len(answers)} answers to {len(rounds)} rounds")
        except Exception as error:
            if isinstance(error, ServiceError) and error.field.startswith("played"):
                core.refuse_words(policy, taken, error)  # the next round is refused no more
            trouble = _trouble(core, policy, outcome, error, doubt)
            return _fallback(core, rounds, trouble, out)
        taken.heard()
    finally:
        taken.over = True
    core.breaker.succeeded()
    choices = [
        _accept(core, each, answer, out) for each, answer in zip(rounds, answers, strict=True)
    ]
    for choice in choices:
        core.note(choice, out)
    return choices


def _trouble(core: Core, policy: str, outcome: Outcome, error: Exception, doubt: bool) -> _Trouble:
    """Return why there is no answer, and take note of what it says about the service."""
    cause = cause_of(outcome)
    if cause not in _OUTAGES:
        core.breaker.succeeded()
    elif core.breaker.failed(core.clock()):
        said = f"resting for {core.settings.rest:g} s after failures in a row"
        core.tally.warn("resting", policy, said, core.clock())
    unknown = isinstance(outcome, Reply) and cause in ("failed", "unreadable")
    return _Trouble(cause, error, doubt or unknown)


def _ask(request: Request) -> Talk[tuple[Outcome, bool]]:
    """Ask, and once more if the connection broke: the key makes it the same decision."""
    outcome = yield request
    if isinstance(outcome, Reply):
        return outcome, False
    doubt = outcome.sent
    if outcome.cause == "broken":
        outcome = yield request
    return outcome, doubt


def _accept(core: Core, asked: _Round, answer: Answer, out: HandOut) -> Choice:
    """Return the service's choice."""
    policy = out.policy
    choice = answered(policy, asked.key, answer)
    if answer.event == "baseline" and answer.action != asked.baseline:
        wrong = InputError(
            "baseline",
            f"the policy's is {answer.action!r}, the caller's {asked.baseline!r}",
            "let both be the same: a fallback plays the caller's",
        )
        core.strangers.add(policy)
        if core.settings.strict:
            raise wrong
        core.tally.warn("baseline", policy, str(wrong), core.clock())
    return core.know(choice, out) if asked.given else choice


def _fallback(core: Core, rounds: list[_Round], trouble: _Trouble, out: HandOut) -> list[Choice]:
    """Return the caller's baselines, and note what the service may have decided."""
    policy = out.policy
    if core.settings.strict:
        raise trouble.error
    now = core.clock()
    core.tally.fell_back(trouble.cause, len(rounds))
    error = f"{trouble.cause}: {trouble.error}"
    if trouble.cause != "resting":  # said when the rest began
        core.tally.warn(trouble.cause, policy, f"fell back to the baseline: {error}", now)
    choices = []
    for each in rounds:
        choice = fell_back(policy, each.key, each.baseline, error)
        if each.given:
            # Under this key another thread may have got an answer by now. So may another process,
            # and have played it: a report would make a baseline round of that.
            known = core.know(choice, out) if trouble.doubt else core.known(policy, each.key, out)
            if known is not None:
                choice = known
        elif trouble.doubt and policy not in core.strangers:
            out.lost.append(each.key)
        choices.append(choice)
    return choices


def _one(rounds: list[_Round], played: list[str]) -> bytes:
    return write({**_document(rounds[0]), "played": played or None})


def _many(rounds: list[_Round], played: list[str]) -> bytes:
    return write({"requests": [_document(each) for each in rounds], "played": played or None})


def _document(asked: _Round) -> dict[str, Any]:
    if not (isinstance(asked.key, str) and 0 < len(asked.key) <= _KEY_LENGTH):
        raise InputError(
            "idempotency_key", "is no text, or too long", f"pass 1 to {_KEY_LENGTH} characters"
        )
    document: dict[str, Any] = {**asked.ask, "idempotency_key": asked.key}
    mean = document.get("baseline_mean")
    if mean is not None:
        # JSON has no NaN: it would be sent as null, and null means "as agreed".
        ends = mean if isinstance(mean, (tuple, list)) else (mean,)
        if not all(math.isfinite(end) for end in ends):
            raise InputError("baseline_mean", f"{mean!r} is not finite", "pass a number")
    return {name: value for name, value in document.items() if value is not None}
