"""What becomes of rewards and fallbacks that come once, again, too late, or for nobody."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from handrail.policies.identity import decision_id, parse_id
from handrail.policies.outcomes import Because
from handrail.service.audit import Audit
from handrail.service.desk import Desk
from handrail.service.messages import (
    Answer,
    CreateRequest,
    DecideRequest,
    ModeRequest,
    RewardRequest,
)
from handrail.service.problems import Problem
from memory_store import MemoryStore


def served(
    script: Callable[[Desk], Awaitable[None]], clock: Callable[[], float] = time.time, **more: Any
) -> None:
    """Run a script on a desk with one policy, "shop", over arms 0 and 1; 1 is the baseline."""
    given: dict[str, Any] = {"baseline_mean": 0.4, "alpha": 0.5, "delta": 0.1, **more}
    given |= {"arms": 2, "baseline": 1, "reward_range": (0.0, 1.0)}
    created = CreateRequest(name="shop", algorithm="CUCB", **given)

    async def run() -> None:
        desk = Desk(MemoryStore(), clock=clock)
        await desk.start()
        try:
            await desk.create(created)
            await script(desk)
        finally:
            await desk.stop(10.0)

    asyncio.run(run())


async def decide(desk: Desk, wanted: str) -> Answer:
    """Decide until an action, or the baseline, is played."""
    for _ in range(20):
        (answer,) = await desk.decide("shop", [DecideRequest()])
        if (answer.event == "baseline") is (wanted == "baseline"):
            return answer
    raise AssertionError(f"{wanted} was never played")


async def reward(desk: Desk, decision: str, value: float) -> str:
    given = RewardRequest(decision=decision, reward=value)
    (answer,) = await desk.rewards("shop", [given], batch=True)
    assert answer.decision == decision
    return answer.status


async def decide_keyed(desk: Desk) -> tuple[Answer, str]:
    """Decide until an arm is played; return also what names the round by its key."""
    for number in range(20):
        key = f"round-{number}"
        (answer,) = await desk.decide("shop", [DecideRequest(idempotency_key=key)])
        if answer.event != "baseline":
            return answer, f"key:{key}"
    raise AssertionError("no arm was ever played")


def test_a_reward_once_again_and_another() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        assert await reward(desk, answer.id, 0.25) == "learned"
        assert await reward(desk, answer.id, 0.25) == "repeated"
        assert await reward(desk, answer.id, 0.5) == "conflict"
        with pytest.raises(Problem) as caught:
            await desk.rewards("shop", [RewardRequest(decision=answer.id, reward=0.5)])
        assert (caught.value.status, caught.value.field) == (409, "reward")
        held = await decide(desk, "baseline")
        assert await reward(desk, held.id, 0.5) == "ignored"

    served(script)


def test_an_id_that_is_none() -> None:
    """A request about one decision has no list of them."""

    async def script(desk: Desk) -> None:
        for ask in (desk.played, desk.fallback):
            with pytest.raises(Problem) as caught:
                await ask("shop", "BAD")
            assert caught.value.field == "decision"
        with pytest.raises(Problem) as caught:
            await desk.played_all("shop", ["BAD"])
        assert caught.value.field == "decisions[0]"

    served(script)


def test_rewards_that_wait_for_their_window() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        assert await reward(desk, answer.id, 0.25) == "waiting"
        assert await reward(desk, answer.id, 0.25) == "repeated"
        assert await reward(desk, answer.id, 0.5) == "conflict"
        other = await decide(desk, "arm")
        for _ in range(4):
            await desk.decide("shop", [DecideRequest()])
        assert await reward(desk, other.id, 0.5) == "late"
        assert await reward(desk, answer.id, 0.25) == "repeated"

    served(script, window=4, default_reward=0.0)


def test_decisions_that_nobody_made() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        identity = parse_id(answer.id)
        later = decision_id(identity._replace(round=identity.round + 1))
        first = "1" if identity.policy[0] == "0" else "0"
        other = decision_id(identity._replace(policy=first + identity.policy[1:]))
        copied = decision_id(identity._replace(copy="0" * len(identity.copy)))
        for unknown in (later, other):
            assert await reward(desk, unknown, 0.5) == "unknown"
            with pytest.raises(Problem) as caught:
                await desk.fallback("shop", unknown)
            assert caught.value.status == 404
        with pytest.raises(Problem) as caught:
            await desk.rewards("shop", [RewardRequest(decision=later, reward=0.5)])
        assert (caught.value.status, caught.value.field) == (404, "decision")
        assert await reward(desk, answer.id, 0.5) == "learned"
        assert await reward(desk, copied, 0.5) == "unknown"
        with pytest.raises(Problem):
            await desk.fallback("shop", copied)

    served(script)


def test_bad_rewards_refuse_the_batch_and_say_which() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        good = RewardRequest(decision=answer.id, reward=0.5)
        for bad, field in (
            (RewardRequest(decision=answer.id, reward=1.5), "reward"),
            (RewardRequest(decision="nonsense", reward=0.5), "decision"),
        ):
            with pytest.raises(Problem) as caught:
                await desk.rewards("shop", [good, bad], batch=True)
            assert (caught.value.status, caught.value.field) == (422, f"rewards[1].{field}")
            with pytest.raises(Problem) as caught:
                await desk.rewards("shop", [bad])
            assert caught.value.field == field
        assert await reward(desk, answer.id, 0.5) == "learned"

    served(script)


def test_fallbacks() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        held = await decide(desk, "baseline")
        assert (await desk.fallback("shop", held.id)).status == "ignored"
        for _ in range(2):  # the second says nothing new
            said = await desk.fallback("shop", answer.id)
            assert (said.status, said.decision) == ("baseline", answer.id)
        assert await reward(desk, answer.id, 0.5) == "ignored"
        keyed = await decide(desk, "arm")
        assert await reward(desk, keyed.id, 0.5) == "learned"
        with pytest.raises(Problem) as caught:
            await desk.fallback("shop", keyed.id)
        assert caught.value.status == 409
        with pytest.raises(Problem) as caught:
            await desk.fallback("shop", "key:none")
        assert (caught.value.status, caught.value.field) == (404, "decision")

    served(script)


def test_word_of_a_round_that_the_baseline_took() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        assert (await desk.fallback("shop", answer.id)).status == "baseline"
        with pytest.raises(Problem) as caught:
            await desk.played("shop", answer.id)
        assert (caught.value.status, caught.value.field) == (409, "decision")

    served(script, window=4, default_reward=0.0)


def test_an_archived_policy_takes_nothing_in() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        await desk.archive("shop")
        for ask in (
            desk.decide("shop", [DecideRequest()]),
            desk.rewards("shop", [RewardRequest(decision=answer.id, reward=0.5)]),
            desk.played("shop", answer.id),
            desk.fallback("shop", answer.id),
        ):
            with pytest.raises(Problem) as caught:
                await ask
            assert (caught.value.status, caught.value.field) == (409, "policy")

    served(script)


def test_a_fallback_by_the_key_of_its_decision() -> None:
    async def script(desk: Desk) -> None:
        answer, named = await decide_keyed(desk)
        said = await desk.fallback("shop", named)
        assert (said.status, said.decision) == ("baseline", answer.id)

    served(script)


def test_no_answer_by_key_does_not_undo_what_was_said_to_be_played() -> None:
    """Who got no answer cannot know that somebody else got it, under the same key, and played it.

    Turned into a baseline round it would be credited what the baseline earns.
    """

    async def script(desk: Desk) -> None:
        answer, named = await decide_keyed(desk)
        assert (await desk.played("shop", answer.id)).status == "played"
        before = await desk.events("shop", 0, 1_000)
        for _ in range(2):
            with pytest.raises(Problem) as caught:
                await desk.fallback("shop", named, "no-answer")
            assert (caught.value.status, caught.value.field) == (409, "decision")
        assert await desk.events("shop", 0, 1_000) == before
        assert (await desk.played("shop", answer.id)).status == "played"
        assert await reward(desk, answer.id, 0.5) == "waiting"

    served(script, window=40, default_reward=0.0)


@pytest.mark.parametrize("because", ["no-answer", "choice"])
def test_who_knows_the_id_may_take_back_that_it_was_played(because: Because) -> None:
    """The client says so for every answer that it hands out, before its caller knows better."""

    async def script(desk: Desk) -> None:
        answer, named = await decide_keyed(desk)
        assert (await desk.played("shop", answer.id)).status == "played"
        said = await desk.fallback("shop", answer.id, because)
        assert said.status == ("choice" if because == "choice" else "baseline")
        # Known already: no contradiction, although word that it was played came before.
        assert (await desk.fallback("shop", named, because)).status == said.status
        other: Because = "no-answer" if because == "choice" else "choice"
        with pytest.raises(Problem, match="another reason") as caught:
            await desk.fallback("shop", answer.id, other)
        assert (caught.value.status, caught.value.field) == (409, "because")

    served(script, window=40, default_reward=0.0)


def test_what_is_unsaid_settled_or_the_baseline_is_answered_by_key_as_by_id() -> None:
    async def script(desk: Desk) -> None:
        answer, named = await decide_keyed(desk)
        assert (await desk.played("shop", answer.id)).status == "played"
        for _ in range(4):
            await desk.decide("shop", [DecideRequest()])
        assert (await desk.fallback("shop", named)).status == "late"
        await desk.change_mode("shop", ModeRequest(mode="paused"))
        await desk.decide("shop", [DecideRequest(idempotency_key="held")])
        assert (await desk.fallback("shop", "key:held")).status == "ignored"

    served(script, window=4, default_reward=0.0)


def test_fallbacks_after_the_window() -> None:
    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        for _ in range(4):
            await desk.decide("shop", [DecideRequest()])
        assert (await desk.fallback("shop", answer.id)).status == "late"

    served(script, window=4, default_reward=0.0)


@pytest.mark.parametrize("change", ["pause", "retire"])
def test_a_retry_gives_the_decision_that_was_made(change: str) -> None:
    """Whoever asked first may have played it, whatever became of the policy since."""

    async def script(desk: Desk) -> None:
        for number in range(20):
            asked = DecideRequest(idempotency_key=f"round-{number}")
            (answer,) = await desk.decide("shop", [asked])
            if answer.event != "baseline":
                break
        assert answer.event != "baseline"
        if change == "pause":
            await desk.change_mode("shop", ModeRequest(mode="paused"))
        else:
            await desk.retire_arm("shop", "0")
        (again,) = await desk.decide("shop", [asked])
        assert again.repeated
        assert (again.id, again.action, again.event) == (answer.id, answer.action, answer.event)
        (fresh,) = await desk.decide("shop", [DecideRequest(idempotency_key="new")])
        assert fresh.event == "baseline"

    served(script)


def test_a_clock_past_the_last_year_that_can_be_written() -> None:
    """Times in the log stand still, rather than being such that nobody can read them."""

    async def script(desk: Desk) -> None:
        answer = await decide(desk, "arm")
        assert await reward(desk, answer.id, 0.5) == "learned"
        assert (await desk.show("shop")).created_at.startswith("9999-12-31T23:59:59")
        page = await desk.decisions("shop", 0, 10)
        assert page.decisions[-1].at.startswith("9999-12-31T23:59:59")
        assert (await desk.budget("shop", 0, 10)).points
        assert Audit("shop").run(await desk.events("shop", 0, 100)).findings == []

    served(script, clock=lambda: 4e11)
