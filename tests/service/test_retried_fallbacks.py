"""A round is asked for again under its key after the baseline was played in it after all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from handrail.policies.outcomes import Because
from handrail.service.audit import Audit
from handrail.service.desk import Desk
from handrail.service.messages import Answer, CreateRequest, DecideRequest, RewardRequest
from handrail.service.problems import Problem
from handrail.service.store.open import open_store
from handrail.service.store.protocol import Store
from memory_store import MemoryStore

_GIVEN: dict[str, Any] = {"alpha": 0.5, "delta": 0.1, "reward_range": (0.0, 1.0)}
_ARMS: dict[str, Any] = {**_GIVEN, "arms": ["old", "new", "odd"], "baseline": "old"}
_DIM: dict[str, Any] = {**_GIVEN, "dim": 2, "theta_bound": 2.0, "feature_bound": 1.5}
_ROWS = [[0.3, 0.1], [0.6, 0.6], [0.5, 0.9]]
_NAMED = dict(zip(("old", "new", "odd"), _ROWS, strict=True))

CASES: dict[str, tuple[CreateRequest, dict[str, Any], str | int]] = {
    "arms": (
        CreateRequest(name="shop", algorithm="HANDRAIL", **_ARMS, baseline_mean=0.4),
        {},
        "old",
    ),
    "told each round": (
        CreateRequest(
            name="shop",
            algorithm="HANDRAIL",
            **{**_ARMS, "arms": 3, "baseline": 1},
            baseline_mean=0.4,
            may_override=["baseline", "baseline_mean"],
        ),
        {"baseline": 0, "baseline_mean": 0.4},
        0,
    ),
    "guard": (
        CreateRequest(name="shop", algorithm="GUARD", **_GIVEN, baseline="old", baseline_mean=0.4),
        {"proposal": "new"},
        "old",
    ),
    "rows": (
        CreateRequest(name="shop", algorithm="LinHANDRAIL", **_DIM),
        {"features": _ROWS, "baseline": 0, "baseline_mean": 0.3},
        0,
    ),
    "named rows": (
        CreateRequest(name="shop", algorithm="LinHANDRAIL", **_DIM, baseline="old"),
        {"features": _NAMED, "baseline_mean": 0.3},
        "old",
    ),
    "named rows, told by index": (
        CreateRequest(name="shop", algorithm="LinHANDRAIL", **_DIM),
        {"features": _NAMED, "baseline": 0, "baseline_mean": 0.3},
        "old",
    ),
    "no promise": (
        CreateRequest(
            name="shop", algorithm="UCB", arms=3, baseline=1, delta=0.1, reward_range=(0.0, 1.0)
        ),
        {},
        1,
    ),
}


async def explore(desk: Desk, given: dict[str, Any], baseline: str | int) -> tuple[Answer, str]:
    """Decide, each round under a key of its own, until another action is played."""
    for number in range(60):
        key = f"visit-{number}"
        (answer,) = await desk.decide("shop", [DecideRequest(**given, idempotency_key=key)])
        if answer.action != baseline:
            return answer, key
        if answer.awaits_reward:
            await desk.rewards("shop", [RewardRequest(decision=answer.id, reward=0.5)])
    raise AssertionError("only the baseline was played")


def told(script: Callable[[Desk], Awaitable[None]], store: Store) -> None:
    async def run() -> None:
        desk = Desk(store)
        await desk.start()
        try:
            await script(desk)
        finally:
            await desk.stop(10.0)

    asyncio.run(run())


@pytest.mark.parametrize("because", ["no-answer", "choice"])
@pytest.mark.parametrize("case", CASES)
def test_a_retry_is_answered_with_the_baseline(case: str, because: Because) -> None:
    """That is what was played in the round: nobody may be told to explore in it any more."""
    created, given, baseline = CASES[case]

    async def script(desk: Desk) -> None:
        await desk.create(created)
        answer, key = await explore(desk, given, baseline)
        asked = DecideRequest(**given, idempotency_key=key)
        (before,) = await desk.decide("shop", [asked])
        assert (before.action, before.repeated) == (answer.action, True)
        status = (await desk.fallback("shop", answer.id, because)).status
        (again,) = await desk.decide("shop", [asked])
        assert (again.id, again.round, again.repeated) == (answer.id, answer.round, True)
        assert (again.action, again.event, again.margin) == (baseline, "baseline", None)
        assert again.reason == (
            f"Action {baseline}, the baseline, is played: it was reported that it had been played "
            f"in this round instead of action {answer.action}."
        )
        assert not again.say_played
        # Whether a reward would be used: what the baseline earned, where that is asked for.
        assert again.awaits_reward is (status == "choice" or created.algorithm == "UCB")
        (given_it,) = await desk.rewards("shop", [RewardRequest(decision=again.id, reward=0.5)])
        assert given_it.status == ("learned" if again.awaits_reward else "ignored")
        (settled,) = await desk.decide("shop", [asked])
        assert (settled.action, settled.awaits_reward) == (baseline, False)
        assert (await desk.show("shop")).round == answer.round
        assert Audit("shop").run(await desk.events("shop", 0, 1_000)).findings == []

    told(script, MemoryStore())


@pytest.mark.parametrize("window", [None, 40])
def test_a_learned_baseline_awaits_its_reward_where_its_rounds_teach(window: int | None) -> None:
    more: dict[str, Any] = {} if window is None else {"window": window, "default_reward": 0.0}

    async def script(desk: Desk) -> None:
        await desk.create(
            CreateRequest(
                name="shop", algorithm="HANDRAIL", **{**_ARMS, **more}, baseline_mean="learned"
            )
        )
        answer, key = await explore(desk, {}, "old")
        await desk.fallback("shop", answer.id)
        (again,) = await desk.decide("shop", [DecideRequest(idempotency_key=key)])
        assert (again.action, again.say_played) == ("old", False)
        assert again.awaits_reward is (window is None)

    told(script, MemoryStore())


def test_a_batch_with_such_a_retry_is_decided() -> None:
    async def script(desk: Desk) -> None:
        await desk.create(CASES["arms"][0])
        answer, key = await explore(desk, {}, "old")
        await desk.fallback("shop", f"key:{key}")
        requests = [DecideRequest(), DecideRequest(idempotency_key=key)]
        fresh, again = await desk.decide("shop", requests, batch=True)
        assert (fresh.round, fresh.repeated) == (answer.round + 1, False)
        assert (again.round, again.action, again.repeated) == (answer.round, "old", True)
        with pytest.raises(Problem) as caught:  # the key is as taken as it was
            await desk.decide("shop", [DecideRequest(idempotency_key=key, baseline_mean=0.4)])
        assert (caught.value.status, caught.value.field) == (409, "idempotency_key")

    told(script, MemoryStore())


def test_without_a_baseline_there_is_nothing_to_answer_with() -> None:
    async def script(desk: Desk) -> None:
        await desk.create(
            CreateRequest(
                name="shop",
                algorithm="LinUCB",
                dim=2,
                theta_bound=2.0,
                feature_bound=1.5,
                reward_range=(0.0, 1.0),
                delta=0.1,
            )
        )
        asked = DecideRequest(features=_ROWS, idempotency_key="visit")
        (answer,) = await desk.decide("shop", [asked])
        await desk.fallback("shop", answer.id)
        with pytest.raises(Problem) as caught:
            await desk.decide("shop", [asked])
        assert (caught.value.status, caught.value.field) == (409, "idempotency_key")

    told(script, MemoryStore())


def test_a_retry_after_a_restart(source: str) -> None:
    kept: list[tuple[str, Answer]] = []

    async def before(desk: Desk) -> None:
        await desk.create(CASES["arms"][0])
        answer, key = await explore(desk, {}, "old")
        await desk.fallback("shop", answer.id)
        (again,) = await desk.decide("shop", [DecideRequest(idempotency_key=key)])
        kept.append((key, again))

    async def after(desk: Desk) -> None:
        ((key, said),) = kept
        (again,) = await desk.decide("shop", [DecideRequest(idempotency_key=key)])
        assert again == said
        assert again.action == "old"

    for script in (before, after):
        store = open_store(source, exclusive=True)
        try:
            told(script, store)
        finally:
            store.close()
