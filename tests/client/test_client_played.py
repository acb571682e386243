"""Which answers were handed out is said to a service that asks for it, apart from their rewards."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from socket import socket
from typing import Any

import pytest

import handrail
from client import misbehaving as misbehaviour
from client.askers import SyncAsker
from client.misbehaving import ANSWER, Asked, Server, after, answer, misbehaving, problem, raw
from client.views import LEARNED
from handrail.client import ServiceError, unsaid
from handrail.client.reporting import AsyncReporter
from handrail.service.limits import Limits

PLENTY = 60.0
HEARD = answer(misbehaviour.HEARD)
SAID = {"decision": "a", "status": "played", "detail": "The action was played."}
PLAYED = "/v1/policies/shop/played"


def handed_out(name: str) -> dict[str, Any]:
    return {**ANSWER, "id": name, "say_played": True}


def service(connection: socket, asked: Asked) -> None:
    """Answer whatever is asked; decisions are called after their keys."""
    last = asked.path.rpartition("/")[2]
    if last == "decide":
        many = asked.document.get("requests")
        keys = [each["idempotency_key"] for each in many or [asked.document]]
        answers = [handed_out(key) for key in keys]
        answer({"decisions": answers} if many else answers[0])(connection, asked)
    elif last == "played":
        named = asked.document["decisions"]
        answer({"played": [{**SAID, "decision": each} for each in named]})(connection, asked)
    elif last == "rewards":
        many = asked.document.get("rewards")
        answer({"rewards": [LEARNED] * len(many)} if many else LEARNED)(connection, asked)
    else:
        HEARD(connection, asked)


service.keeps = True  # type: ignore[attr-defined]


@pytest.fixture
def with_the_next() -> Iterator[None]:
    """Let words wait for the next request, however long this machine takes for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unsaid, "_LINGER", 10.0 * PLENTY)
        yield


def words(asked: Asked) -> list[str] | None:
    """Return which decisions a request says were played."""
    document = asked.document if asked.body else {}
    said: list[str] | None = document.get("decisions", document.get("played"))
    return said


def all_words(server: Server) -> list[tuple[str, list[str] | None]]:
    """Return what was asked so far, and the words that came with it."""
    asked = [server.next() for _ in range(server.asked.qsize())]
    return [(each.path.rpartition("/")[2], words(each)) for each in asked]


# -- with the next request ---------------------------------------------------------------------


@pytest.mark.usefixtures("with_the_next")
def test_every_answer_handed_out_is_said_to_be_played_once_with_the_next_request(
    asker: Callable[..., SyncAsker],
) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        first = client.decide()
        second = client.decide()
        client.call("reward", "shop", second, 1.0)
        client.call("reward", "shop", second, 1.0)
        many = client.call("decide_many", "shop", [{}, {}])
        client.call("rewards", "shop", [(choice, 0.0) for choice in many])
        last = client.call("decide_many", "shop", [{}])
        client.decide()
        sent = all_words(server)
    assert first.say_played
    assert sent == [
        ("decide", None),
        ("decide", [first.id]),
        ("rewards", [second.id]),
        ("rewards", None),
        ("decide", None),
        ("rewards", [many[0].id, many[1].id]),
        ("decide", None),
        ("decide", [last[0].id]),
    ]


@pytest.mark.usefixtures("with_the_next")
def test_what_the_service_does_not_ask_for_is_not_said(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving() as server:
        client = asker(server.url, timeout=PLENTY)
        assert not client.decide().say_played
        client.decide()
        assert client.flush(PLENTY)
        assert all_words(server) == [("decide", None)] * 2


@pytest.mark.usefixtures("with_the_next")
def test_words_go_to_the_policy_they_are_about(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, baselines={"shop": 0, "blog": 0}, timeout=PLENTY)
        choice = client.decide()
        client.call("decide", "blog")
        client.decide()
        assert [said for _, said in all_words(server)] == [None, None, [choice.id]]


@pytest.mark.usefixtures("with_the_next")
@pytest.mark.parametrize("bad", [raw(), problem(500), problem(409), answer({"id": "x"})])
def test_what_was_not_acknowledged_is_said_again(
    asker: Callable[..., SyncAsker], bad: misbehaviour.Behaviour
) -> None:
    with misbehaving(service, then=bad, reports=HEARD) as server:
        client = asker(server.url, timeout=PLENTY, patience=PLENTY)
        choice = client.decide()
        client.decide()
        with pytest.raises(ServiceError):
            client.call("reward", "shop", "d1", 1.0, timeout=0.1)
        server.then = service
        client.call("reward", "shop", "d1", 1.0)
        client.call("reward", "shop", "d1", 1.0)
        sent = [said for path, said in all_words(server) if path != "fallback"]
    assert sent[0] is None
    assert sent[-1] is None
    assert len(sent) >= 4
    assert all(said == [choice.id] for said in sent[1:-1])


@pytest.mark.usefixtures("with_the_next")
def test_an_answer_that_came_too_late_is_not_said_to_be_played(
    asker: Callable[..., SyncAsker],
) -> None:
    release = threading.Event()
    with misbehaving(after(release, service), then=service) as server:
        client = asker(server.url, timeout=0.3)
        late = client.decide()
        assert late.fallback
        assert not late.say_played
        release.set()
        assert client.flush(PLENTY)
        client.call("reward", "shop", "d1", 1.0)
        sent = all_words(server)
    assert sent == [("decide", None), ("fallback", None), ("rewards", None)]


@pytest.mark.usefixtures("with_the_next")
def test_an_answer_that_strict_does_not_hand_out_is_not_said_to_be_played(
    asker: Callable[..., SyncAsker],
) -> None:
    """The second of the batch has another baseline than the caller: the whole batch is raised."""
    wrong = {**handed_out("b"), "event": "baseline", "action": "old"}
    with misbehaving(answer({"decisions": [handed_out("a"), wrong]}), then=service) as server:
        client = asker(server.url, timeout=PLENTY, strict=True)
        with pytest.raises(handrail.InputError, match="'old'"):
            client.call("decide_many", "shop", [{}, {}])
        client.decide()
        assert [said for _, said in all_words(server)] == [None, None]


@pytest.mark.usefixtures("with_the_next")
def test_an_answer_given_again_from_memory_is_said_once(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        for _ in range(3):
            client.decide(idempotency_key="mine")
        client.decide()
        client.decide(idempotency_key="mine")
        client.call("reward", "shop", "mine", 1.0)
        sent = [said for _, said in all_words(server)]
    assert sent[:2] == [None, ["mine"]]
    assert sent[2] is not None
    assert "mine" not in sent[2]


@pytest.mark.usefixtures("with_the_next")
def test_words_that_are_refused_do_not_refuse_the_rounds_after_them(
    asker: Callable[..., SyncAsker], caplog: pytest.LogCaptureFixture
) -> None:
    refusal = problem(422, field="played[0]", reason="is no id")
    with misbehaving(service, refusal, then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        client.decide()
        assert client.decide().fallback
        assert not client.decide().fallback
        assert [said is None for _, said in all_words(server)] == [True, False, True]
    assert "cannot be said to be played: 422: played[0]: is no id" in caplog.text
    assert client.counts().played_forgotten == 1


def test_what_is_under_way_is_not_said_by_a_second_thread() -> None:
    release = threading.Event()
    with misbehaving(service, after(release, service), then=service) as server:
        client = SyncAsker(server.url, timeout=PLENTY)
        choice = client.decide()
        server.next()
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(client.decide)
            assert words(server.next()) == [choice.id]
            other = client.decide()
            assert words(server.next()) is None
            release.set()
            first = waits.result()
        client.call("close", timeout=PLENTY)
        (said,) = [said for _, said in all_words(server)]
    assert said is not None
    assert sorted(said) == sorted([str(other.id), str(first.id)])


def test_many_threads_say_every_answer_once() -> None:
    with misbehaving(then=service) as server:
        client = SyncAsker(server.url, timeout=PLENTY)
        with ThreadPoolExecutor(8) as pool:
            choices = list(pool.map(lambda _: client.decide(), range(300)))
        client.call("close", timeout=PLENTY)
        said = [each for _, some in all_words(server) for each in some or ()]
    assert sorted(said) == sorted(str(choice.id) for choice in choices)
    counts = client.counts()
    assert (counts.played_said, counts.played_unsaid, counts.played_forgotten) == (300, 0, 0)


def test_many_tasks_say_every_answer_once() -> None:
    async def ask(url: str) -> list[str]:
        async with handrail.AsyncClient(url, baselines={"shop": 0}, timeout=PLENTY) as client:
            choices = await asyncio.gather(*(client.decide("shop") for _ in range(100)))
            choices += await asyncio.gather(*(client.decide("shop") for _ in range(100)))
            assert await client.flush(PLENTY)
        return [str(choice.id) for choice in choices]

    with misbehaving(then=service) as server:
        handed = asyncio.run(ask(server.url))
        said = [each for _, some in all_words(server) for each in some or ()]
    assert sorted(said) == sorted(handed)


@pytest.mark.usefixtures("with_the_next")
def test_words_of_a_request_that_was_cancelled_are_said_again() -> None:
    def hang(connection: socket, _: Asked) -> None:
        connection.recv(1)  # until the client hangs up

    async def ask(url: str) -> str:
        async with handrail.AsyncClient(url, baselines={"shop": 0}, timeout=PLENTY) as client:
            choice = await client.decide("shop")
            task = asyncio.create_task(client.decide("shop"))
            loop = asyncio.get_running_loop()
            for _ in range(2):
                await loop.run_in_executor(None, server.next)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.decide("shop")
            return str(choice.id)

    with misbehaving(service, hang, then=service) as server:
        handed = asyncio.run(ask(server.url))
        assert words(server.next()) == [handed]


# -- without a next request --------------------------------------------------------------------


def test_words_are_said_soon_without_another_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsaid, "_LINGER", 0.01)
    with misbehaving(then=service) as server:
        client = SyncAsker(server.url, timeout=PLENTY)
        choice = client.decide()
        server.next()
        asked = server.next()
        assert (asked.method, asked.path) == ("POST", PLAYED)
        assert asked.document == {"decisions": [choice.id]}
        client.call("close", timeout=PLENTY)


def test_words_are_said_soon_by_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsaid, "_LINGER", 0.01)

    async def ask(url: str) -> None:
        client = handrail.AsyncClient(url, baselines={"shop": 0}, timeout=PLENTY)
        choice = await client.decide("shop")
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, server.next)
        asked = await loop.run_in_executor(None, server.next)
        assert asked.document == {"decisions": [choice.id]}
        await client.close()

    with misbehaving(then=service) as server:
        asyncio.run(ask(server.url))


@pytest.mark.usefixtures("with_the_next")
@pytest.mark.parametrize("turns", range(5))
def test_a_task_that_is_woken_and_ended_at_once_ends(turns: int) -> None:
    """Whichever turn of the loop the end meets: a lost cancellation would keep close waiting."""

    async def wake_and_end() -> None:
        client = handrail.AsyncClient("http://127.0.0.1:1")  # nobody listens, nothing is sent
        client._core.unsaid.add("shop", ["a"], client._core.clock())
        reporter = AsyncReporter(client._core, client._tell)
        reporter.wake()
        await asyncio.sleep(0)
        reporter._sooner.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        async with asyncio.timeout(5.0):
            await reporter.close()

    asyncio.run(wake_and_end())


@pytest.mark.usefixtures("with_the_next")
@pytest.mark.parametrize("call", ["flush", "close"])
def test_what_is_left_is_said_at_the_end(asker: Callable[..., SyncAsker], call: str) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        client.call(call, timeout=PLENTY)
        server.next()
        assert server.next().document == {"decisions": [choice.id]}
        counts = client.counts()
    assert (counts.played_unsaid, counts.played_said) == (0, 1)


@pytest.mark.usefixtures("with_the_next")
def test_flush_waits_for_words_that_are_under_way() -> None:
    release = threading.Event()
    with misbehaving(service, after(release, service), then=service) as server:
        client = SyncAsker(server.url, timeout=PLENTY)
        client.decide()
        with ThreadPoolExecutor(2) as pool:
            server.next()
            waits = pool.submit(client.call, "reward", "shop", "d1", 1.0)
            server.next()
            assert not client.flush(0.01)
            flushed = pool.submit(client.flush, PLENTY)
            release.set()
            waits.result()
            assert flushed.result()
        assert server.asked.empty()
        client.close()


@pytest.mark.usefixtures("with_the_next")
def test_words_are_kept_while_the_service_is_away(asker: Callable[..., SyncAsker]) -> None:
    """It breaks the circuit; rounds fall back unasked; then it is back, and hears of the word."""
    with misbehaving(service, then=problem(503)) as server:
        client = asker(server.url, timeout=PLENTY, failures=1, rest=PLENTY)
        choice = client.decide()
        assert client.decide().fallback
        assert str(client.decide().error).startswith("resting: ")
        assert not client.flush(0.01)
        assert client.counts().played_unsaid == 1
        server.then = service
        assert client.flush(PLENTY)
        said = [said for path, said in all_words(server) if path == "played"]
    assert said[-1] == [choice.id]
    assert client.counts().played_said == 1


def test_words_that_are_refused_are_given_up(
    asker: Callable[..., SyncAsker], caplog: pytest.LogCaptureFixture
) -> None:
    archived = problem(409, reason="the policy is archived")
    with misbehaving(service, then=archived) as server:
        client = asker(server.url, timeout=PLENTY)
        client.decide()
        assert client.flush(PLENTY)
    assert client.counts().played_forgotten == 1
    assert "cannot be said to be played: 409: the policy is archived" in caplog.text


@pytest.mark.usefixtures("with_the_next")
def test_beyond_the_bound_the_oldest_words_are_forgotten(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY, remember=3)
        choices = client.call("decide_many", "shop", [{}] * 5)
        assert client.flush(PLENTY)
        server.next()
        assert words(server.next()) == [choice.id for choice in choices[2:]]
    assert client.counts().played_forgotten == 2


@pytest.mark.usefixtures("with_the_next")
def test_a_request_takes_no_more_words_than_the_service(asker: Callable[..., SyncAsker]) -> None:
    most = Limits().batch
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        choices = client.call("decide_many", "shop", [{}] * (2 * most + 10))
        client.call("reward", "shop", "d1", 1.0)
        assert client.flush(PLENTY)
        sent = [said or [] for _, said in all_words(server)]
    assert [len(said) for said in sent] == [0, most, most, 10]
    assert [each for said in sent for each in said] == [choice.id for choice in choices]


@pytest.mark.usefixtures("with_the_next")
def test_one_round_takes_few_words_along_and_a_batch_as_many_as_it_has_rounds(
    asker: Callable[..., SyncAsker],
) -> None:
    """A thousand would cost the service more time than a page has."""
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        client.call("decide_many", "shop", [{}] * 600)
        client.decide()
        client.call("decide_many", "shop", [{}] * 300)
        assert [len(said or ()) for _, said in all_words(server)] == [0, 100, 300]


def run(code: str, url: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, url],
        capture_output=True,
        text=True,
        timeout=PLENTY,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_that_ends_without_closing_has_said_what_it_played() -> None:
    """Else only rounds whose rewards were given would be said, and word would depend on rewards."""
    code = """
import sys, handrail
client = handrail.Client(sys.argv[1], baselines={"shop": "current"}, timeout=60.0)
print(client.decide("shop").id)
"""
    with misbehaving(then=service) as server:
        handed = run(code, server.url).strip()
        server.next()
        assert server.next().document == {"decisions": [handed]}


def test_a_fork_leaves_words_to_the_parent() -> None:
    code = """
import os, sys, handrail
client = handrail.Client(sys.argv[1], baselines={"shop": "current"}, timeout=60.0)
print(client.decide("shop").id, flush=True)
child = os.fork()
if child == 0:
    os._exit(client.counts().played_unsaid)
assert os.waitpid(child, 0)[1] == 0
client.close(timeout=60.0)
"""
    with misbehaving(then=service) as server:
        handed = run(code, server.url).strip()
        assert [said for _, said in all_words(server)] == [None, [handed]]


# -- by hand -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("with_the_next")
@pytest.mark.parametrize("because", ["no-answer", "choice"])
def test_an_answer_reported_as_a_fallback_is_not_said_to_be_played(
    asker: Callable[..., SyncAsker], because: str
) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        first, second = client.call("decide_many", "shop", [{}, {}])
        client.call("fallback", "shop", first, because=because)
        client.decide()
        server.next()
        report, decided = server.next(), server.next()
    assert report.path == f"/v1/policies/shop/decisions/{first.id}/fallback"
    assert (report.document if report.body else {}) == (
        {"because": "choice"} if because == "choice" else {}
    )
    assert words(decided) == [second.id]


@pytest.mark.usefixtures("with_the_next")
def test_a_fallback_withdraws_a_word_that_was_not_acknowledged(
    asker: Callable[..., SyncAsker],
) -> None:
    with misbehaving(service, problem(500), then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        client.decide()  # falls back: whether the word was heard is not known
        client.call("fallback", "shop", choice.id, because="choice")
        assert client.flush(PLENTY)
        client.decide()
        sent = [said for path, said in all_words(server) if path != "fallback"]
    assert sent == [None, [choice.id], None]


def test_another_reason_than_the_two_is_refused_before_anything_is_done(
    asker: Callable[..., SyncAsker],
) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        with pytest.raises(handrail.InputError, match="because") as caught:
            client.call("fallback", "shop", choice, because="weather")
        assert caught.value.field == "because"
        assert client.counts().played_unsaid + client.counts().played_said == 1


@pytest.mark.usefixtures("with_the_next")
def test_word_by_hand_is_not_said_again(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(service, answer(SAID), then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        first, second, third = client.call("decide_many", "shop", [{}, {}, {}])
        assert client.call("played", "shop", first).status == "played"
        statuses = [each.status for each in client.call("played_many", "shop", [second, "d9"])]
        client.decide()
        sent = [server.next() for _ in range(4)]
    assert statuses == ["played", "played"]
    assert sent[1].path == f"/v1/policies/shop/decisions/{first.id}/played"
    assert sent[1].body == b""
    assert sent[2].document == {"decisions": [second.id, "d9"]}
    assert words(sent[3]) == [third.id]


def test_word_by_hand_of_a_fallback_is_not_sent(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(problem(401), then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        fell = client.decide()
        assert client.call("played", "shop", fell).status == "fallback"
        answers = client.call("played_many", "shop", [fell, "d1", fell])
        assert [each.status for each in answers] == ["fallback", "played", "fallback"]
        server.next()
        assert server.next().document == {"decisions": ["d1"]}
        assert server.asked.empty()


def test_word_by_hand_goes_in_parts(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url)
        many = [f"d{place}" for place in range(1_500)]
        answers = client.call("played_many", "shop", many)
        assert [each.decision for each in answers] == many
        assert [len(words(server.next()) or ()) for _ in range(2)] == [1_000, 500]


def test_a_client_that_hands_decisions_on_says_only_what_it_is_told(
    asker: Callable[..., SyncAsker],
) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY, say_played=False)
        choices = client.call("decide_many", "shop", [{}, {}])
        assert all(choice.say_played for choice in choices)
        client.decide()
        client.call("played_many", "shop", choices[:1])
        assert client.flush(PLENTY)
        sent = [said for _, said in all_words(server)]
    assert sent == [None, None, [choices[0].id]]


def test_words_are_json_that_the_service_reads() -> None:
    """Left out where there are none: services that do not ask need not know the field."""
    with misbehaving(then=service) as server, handrail.Client(server.url) as client:
        client.decide("shop", baseline="current", timeout=PLENTY)
        assert set(json.loads(server.next().body)) == {"baseline", "idempotency_key"}
