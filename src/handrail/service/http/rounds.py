"""Decisions and rewards: the requests that come all day long."""

from __future__ import annotations

from typing import Final

import msgspec

from handrail.service.http.call import Call
from handrail.service.http.decoding import Either, One
from handrail.service.http.replies import Reply, json_reply
from handrail.service.messages import (
    Answers,
    DecideBatch,
    DecideRequest,
    FallbackRequest,
    PlayedAnswers,
    PlayedBatch,
    RewardAnswers,
    RewardBatch,
    RewardRequest,
)
from handrail.service.problems import Problem

__all__ = ["Nothing", "checkpoint", "decide", "fallback", "played", "played_all", "rewards"]


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing is said: an object without fields, or no body at all."""


_DECIDE: Final = Either(DecideRequest, DecideBatch, "requests")
_REWARDS: Final = Either(RewardRequest, RewardBatch, "rewards")
_NOTHING: Final = One(Nothing)
_FALLBACK: Final = One(FallbackRequest)
_PLAYED: Final = One(PlayedBatch)
_REFUSED: Final = {(409, "reward"): "conflict", (404, "decision"): "unknown"}
"""What a single reward is refused for that would be a status of its own in a batch."""


async def decide(call: Call) -> Reply:
    """Decide one round, or a batch."""
    asked = await call.body(_DECIDE)
    counts = call.shop.meters.decisions
    if isinstance(asked, DecideRequest):  # which says itself what was played before
        (answer,) = await call.desk.decide(call.parts[0], [asked])
        counts[answer.event] += 1
        return json_reply(answer)
    call.check_batch(len(asked.requests), "requests")
    answers = await call.desk.decide(
        call.parts[0], asked.requests, batch=True, played=asked.played or ()
    )
    counts.update(answer.event for answer in answers)
    return json_reply(Answers(decisions=answers))


async def rewards(call: Call) -> Reply:
    """Take one reward, or a batch."""
    told = await call.body(_REWARDS)
    counts = call.shop.meters.rewards
    if isinstance(told, RewardRequest):
        try:
            (answer,) = await call.desk.rewards(call.parts[0], [told])
        except Problem as problem:
            status = _REFUSED.get((problem.status, problem.field))
            if status is not None:
                counts[status] += 1
            raise
        counts[answer.status] += 1
        return json_reply(answer)
    call.check_batch(len(told.rewards), "rewards")
    answers = await call.desk.rewards(
        call.parts[0], told.rewards, batch=True, played=told.played or ()
    )
    counts.update(answer.status for answer in answers)
    return json_reply(RewardAnswers(rewards=answers))


async def fallback(call: Call) -> Reply:
    """Count a decision as one in which the baseline was played."""
    told = await call.body(_FALLBACK)
    return json_reply(await call.desk.fallback(call.parts[0], _decision(call), told.because))


async def played(call: Call) -> Reply:
    """Take in that a decision's action was played."""
    await call.body(_NOTHING)
    return json_reply(await call.desk.played(call.parts[0], _decision(call)))


def _decision(call: Call) -> str:
    """Return the decision that the path names: by its key only to those who may have asked for it.

    Idempotency keys can be guessed, ids cannot.
    """
    named = call.parts[1]
    if named.startswith("key:") and call.key is not None and call.key.role == "reward":
        raise Problem(
            403,
            "a key of role reward cannot name a decision by its idempotency key",
            field="decision",
            remedy="name its id",
        )
    return named


async def played_all(call: Call) -> Reply:
    """Take in which decisions' actions were played."""
    told = await call.body(_PLAYED)
    call.check_batch(len(told.decisions), "decisions")
    answers = await call.desk.played_all(call.parts[0], told.decisions)
    return json_reply(PlayedAnswers(played=answers))


async def checkpoint(call: Call) -> Reply:
    """Report that the latest round was a checkpoint."""
    await call.body(_NOTHING)
    return json_reply(await call.desk.checkpoint(call.parts[0]))
