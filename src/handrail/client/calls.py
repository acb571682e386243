"""The calls that raise: rewards, what was played, and what an operator does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args
from urllib.parse import urlencode

from handrail.client.choice import Choice
from handrail.client.core import Core, decision_path
from handrail.client.errors import NoAnswer, ServiceError
from handrail.client.reading import LogLine, read, read_lines, write
from handrail.client.settings import segment
from handrail.client.steps import Outcome, Reply, Request, Talk
from handrail.client.unsaid import Taken
from handrail.errors import InputError
from handrail.service.limits import Limits
from handrail.service.messages import (
    ArmAnswer,
    CheckpointAnswer,
    FallbackAnswer,
    Mode,
    PlayedAnswer,
    PlayedAnswers,
    RewardAnswer,
    RewardAnswers,
)
from handrail.service.shown import BudgetView, DecisionPage, EstimatesView, PolicyPage, PolicyView

__all__ = [
    "Because",
    "DecisionLike",
    "add_arm",
    "archive",
    "budget",
    "change_mode",
    "checkpoint",
    "create",
    "decisions",
    "estimates",
    "events",
    "fallback",
    "played",
    "played_many",
    "policies",
    "ready",
    "retire_arm",
    "reward",
    "rewards",
    "show",
]

T = TypeVar("T")
DecisionLike: TypeAlias = Choice | str
"""A choice, or a decision's id."""
Because: TypeAlias = Literal["no-answer", "choice"]
"""Why the baseline was played: no answer came in time, or somebody chose it."""

_BATCH: Final = Limits.batch
"""Rewards, or words of what was played, in one request."""
_FELL_BACK: Final = "the baseline was played without an answer: such a round needs no reward"
_NOT_PLAYED: Final = PlayedAnswer(
    decision="", status="fallback", detail="the baseline was played without an answer"
)


def _as(answer: type[T]) -> Callable[[Outcome], T]:
    """Return what reads an answer of a type."""
    return partial(read, answer=answer)


def _place(policy: str, *rest: str, **query: object) -> str:
    """Return a policy's path."""
    path = "/".join(("/v1/policies", segment("policy", policy), *rest))
    return f"{path}?{urlencode(query)}" if query else path


def _id(policy: str, decision: DecisionLike) -> str | None:
    """Return a decision's id; None after a fallback."""
    if not isinstance(decision, Choice):
        return decision
    if decision.policy != policy:
        raise InputError(
            "decision", f"is of policy {decision.policy!r}", f"pass one of policy {policy!r}"
        )
    return decision.id


# -- rewards -----------------------------------------------------------------------------------


def reward(
    core: Core, policy: str, decision: DecisionLike, value: float, timeout: float | None
) -> Talk[RewardAnswer]:
    """Give one reward."""
    known = _id(policy, decision)
    if known is None:
        return RewardAnswer(decision="", status="ignored", detail=_FELL_BACK)
    told = {"decision": known, "reward": value}
    return (yield from _tell_rewards(core, policy, told, _as(RewardAnswer), timeout))


def rewards(
    core: Core,
    policy: str,
    batch: Iterable[tuple[DecisionLike, float]],
    timeout: float | None,
) -> Talk[list[RewardAnswer]]:
    """Give several rewards; each has an answer of its own, in their order."""
    pairs = [(_id(policy, decision), value) for decision, value in batch]
    sent = [{"decision": known, "reward": value} for known, value in pairs if known is not None]
    got: list[RewardAnswer] = []
    for start in range(0, len(sent), _BATCH):
        part = sent[start : start + _BATCH]
        read_part = partial(_read_rewards, count=len(part))
        got += yield from _tell_rewards(core, policy, {"rewards": part}, read_part, timeout)
    answers = iter(got)
    return [
        RewardAnswer(decision="", status="ignored", detail=_FELL_BACK)
        if known is None
        else next(answers)
        for known, _ in pairs
    ]


def _read_rewards(outcome: Outcome, count: int) -> list[RewardAnswer]:
    answers = read(outcome, RewardAnswers).rewards
    if len(answers) != count:
        raise NoAnswer(None, f"{len(answers)} answers to {count} rewards")
    return answers


def _tell_rewards(
    core: Core,
    policy: str,
    told: dict[str, Any],
    read_as: Callable[[Outcome], T],
    timeout: float | None,
) -> Talk[T]:
    """Send rewards, and with them the word of what was played."""
    path = _place(policy, "rewards")
    taken = Taken(core.unsaid, policy)
    try:
        taken.take()
        body = write({**told, "played": taken.ids or None})
        try:
            answer = yield from core.call("POST", path, read_as, body=body, timeout=timeout)
        except ServiceError as error:
            if error.field.startswith("played"):
                core.refuse_words(policy, taken, error)
            raise
        taken.heard()
    finally:
        taken.over = True
    return answer


# -- what was played -----------------------------------------------------------------------------


def played(
    core: Core, policy: str, decision: DecisionLike, timeout: float | None
) -> Talk[PlayedAnswer]:
    """Tell the service that a decision's action was played."""
    known = _id(policy, decision)
    if known is None:
        return _NOT_PLAYED
    path = decision_path(policy, known, "played")
    answer = yield from core.call("POST", path, _as(PlayedAnswer), body=b"", timeout=timeout)
    core.unsaid.withdraw(policy, [known])
    return answer


def played_many(
    core: Core, policy: str, decisions: Iterable[DecisionLike], timeout: float | None
) -> Talk[list[PlayedAnswer]]:
    """Tell it of several decisions; each has an answer of its own, in their order."""
    named = [_id(policy, decision) for decision in decisions]
    sent = [known for known in named if known is not None]
    path = _place(policy, "played")
    got: list[PlayedAnswer] = []
    for start in range(0, len(sent), _BATCH):
        part = sent[start : start + _BATCH]
        read_part = partial(_read_played, count=len(part))
        body = write({"decisions": part})
        got += yield from core.call("POST", path, read_part, body=body, timeout=timeout)
        core.unsaid.withdraw(policy, part)
    answers = iter(got)
    return [_NOT_PLAYED if known is None else next(answers) for known in named]


def _read_played(outcome: Outcome, count: int) -> list[PlayedAnswer]:
    answers = read(outcome, PlayedAnswers).played
    if len(answers) != count:
        raise NoAnswer(None, f"{len(answers)} answers to {count} decisions")
    return answers


def fallback(
    core: Core, policy: str, decision: DecisionLike, because: Because, timeout: float | None
) -> Talk[FallbackAnswer]:
    """Tell the service that the baseline was played after all."""
    if because not in get_args(Because):
        raise InputError("because", f"{because!r} is no reason", 'pass "no-answer" or "choice"')
    known = _id(policy, decision)
    if known is None:
        said = "the client fell back by itself; under keys of its own it reports what is needed"
        return FallbackAnswer(decision="", status="ignored", detail=said)
    core.unsaid.withdraw(policy, [known, *core.forget(policy, known)])
    path = decision_path(policy, known, "fallback")
    # Without a body it is "no-answer", also to a service of before that knows no reasons.
    body = b"" if because == "no-answer" else write({"because": because})
    try:
        return (yield from core.call("POST", path, _as(FallbackAnswer), body=body, timeout=timeout))
    finally:
        core.forget(policy, known)  # what another thread was answered before the service heard


# -- policies ----------------------------------------------------------------------------------


def create(core: Core, fields: Mapping[str, Any]) -> Talk[PolicyView]:
    """Make a policy; not repeated where it may have been made: the second would be refused."""
    body = write(dict(fields))
    return (yield from core.call("POST", "/v1/policies", _as(PolicyView), body=body, again=False))


def policies(core: Core, after: str, limit: int) -> Talk[PolicyPage]:
    """Return a page of policies."""
    query = urlencode({"after": after, "limit": limit} if after else {"limit": limit})
    return (yield from core.call("GET", f"/v1/policies?{query}", _as(PolicyPage)))


def show(core: Core, policy: str) -> Talk[PolicyView]:
    """Return a policy as it is now."""
    return (yield from core.call("GET", _place(policy), _as(PolicyView)))


def change_mode(core: Core, policy: str, mode: Mode) -> Talk[PolicyView]:
    """Change a policy's mode; twice is as good as once."""
    body = write({"mode": mode})
    return (yield from core.call("PATCH", _place(policy), _as(PolicyView), body=body))


def archive(core: Core, policy: str) -> Talk[PolicyView]:
    """Archive a policy; twice is as good as once."""
    return (yield from core.call("DELETE", _place(policy), _as(PolicyView)))


def checkpoint(core: Core, policy: str) -> Talk[CheckpointAnswer]:
    """Report a checkpoint: twice would be two."""
    path = _place(policy, "checkpoints")
    return (yield from core.call("POST", path, _as(CheckpointAnswer), body=b"", again=False))


def add_arm(core: Core, policy: str, name: str | None, features: object | None) -> Talk[ArmAnswer]:
    """Add an arm: twice would be two."""
    body = write({"name": name, "features": features})
    path = _place(policy, "arms")
    return (yield from core.call("POST", path, _as(ArmAnswer), body=body, again=False))


def retire_arm(core: Core, policy: str, arm: int | str) -> Talk[ArmAnswer]:
    """Retire an arm; the second time would be refused."""
    path = _place(policy, "arms", segment("arm", str(arm)))
    return (yield from core.call("DELETE", path, _as(ArmAnswer), again=False))


# -- what happened -------------------------------------------------------------------------------


def budget(core: Core, policy: str, after: int, points: int) -> Talk[BudgetView]:
    """Return what was earned, what had to be, and what is certified."""
    path = _place(policy, "budget", after=after, points=points)
    return (yield from core.call("GET", path, _as(BudgetView)))


def estimates(core: Core, policy: str, after: int, points: int) -> Talk[EstimatesView]:
    """Return what is known of the actions."""
    path = _place(policy, "estimates", after=after, points=points)
    return (yield from core.call("GET", path, _as(EstimatesView)))


def decisions(core: Core, policy: str, after: int, limit: int) -> Talk[DecisionPage]:
    """Return a page of decisions."""
    path = _place(policy, "decisions", after=after, limit=limit)
    return (yield from core.call("GET", path, _as(DecisionPage)))


def events(core: Core, policy: str, after: int, limit: int) -> Talk[list[LogLine]]:
    """Return a page of the event log."""
    path = _place(policy, "events", format="ndjson", after=after, limit=limit)
    return (yield from core.call("GET", path, read_lines))


def ready(core: Core, timeout: float | None) -> Talk[bool]:
    """Return whether the service says that it is ready; asked once."""
    span = core.settings.timeout if timeout is None else timeout
    outcome = yield Request("GET", "/readyz", None, core.clock() + span)
    return isinstance(outcome, Reply) and outcome.status == 200
