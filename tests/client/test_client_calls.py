"""Calls that raise: what they send, what they repeat, what they say when it goes wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

import handrail
from client.askers import SyncAsker
from client.misbehaving import (
    ANSWER,
    HEARD,
    after,
    answer,
    closed_port,
    misbehaving,
    problem,
    raw,
    response,
)
from client.views import BUDGET, ESTIMATES, LEARNED, SEEN, VIEW
from handrail.client import NoAnswer, ServiceError
from handrail.client.fields import PolicyFields
from handrail.service.messages import CreateRequest

PLENTY = 60.0
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str, str, Any, object]] = {
    # name: positional, named, method, path, sent, answered
    "show": (("shop",), {}, "GET", "/v1/policies/shop", None, VIEW),
    "change_mode": (
        ("shop", "paused"),
        {},
        "PATCH",
        "/v1/policies/shop",
        {"mode": "paused"},
        VIEW,
    ),
    "archive": (("shop",), {}, "DELETE", "/v1/policies/shop", None, VIEW),
    "create_policy": (
        ("shop", "CUCB2"),
        {"arms": ["current", "new"], "baseline": "current", "alpha": None},
        "POST",
        "/v1/policies",
        {
            "name": "shop",
            "algorithm": "CUCB2",
            "arms": ["current", "new"],
            "baseline": "current",
        },
        VIEW,
    ),
    "fallback": (
        ("shop", "p-c-7-o"),
        {},
        "POST",
        "/v1/policies/shop/decisions/p-c-7-o/fallback",
        None,
        HEARD,
    ),
    "played": (
        ("shop", "p-c-7-o"),
        {},
        "POST",
        "/v1/policies/shop/decisions/p-c-7-o/played",
        None,
        {"decision": "p-c-7-o", "status": "played", "detail": "The action was played."},
    ),
    "checkpoint": (
        ("shop",),
        {},
        "POST",
        "/v1/policies/shop/checkpoints",
        None,
        {"checkpoints": 3},
    ),
    "add_arm": (
        ("shop", "third"),
        {"features": [1.0]},
        "POST",
        "/v1/policies/shop/arms",
        {"name": "third", "features": [1.0]},
        {"arm": "third"},
    ),
    "retire_arm": (
        ("shop", "a/b c"),
        {},
        "DELETE",
        "/v1/policies/shop/arms/a%2Fb%20c",
        None,
        {"arm": "a/b c"},
    ),
    "budget": (("shop",), {}, "GET", "/v1/policies/shop/budget?after=0&points=200", None, BUDGET),
    "estimates": (
        ("shop",),
        {"after": 5, "points": 10},
        "GET",
        "/v1/policies/shop/estimates?after=5&points=10",
        None,
        ESTIMATES,
    ),
}
REPEATED = ("show", "archive", "change_mode", "fallback", "played", "budget", "estimates")
"""Calls that do no harm when they are carried out twice."""


@pytest.mark.parametrize("name", CALLS)
def test_what_is_sent(asker: Callable[..., SyncAsker], name: str) -> None:
    positional, named, method, path, sent, answered = CALLS[name]
    with misbehaving(then=answer(answered)) as server:
        value = asker(server.url).call(name, *positional, **named)
        asked = server.next()
    assert (asked.method, asked.path) == (method, path)
    assert (asked.document if asked.body else None) == sent
    assert msgspec.to_builtins(value) == answered


@pytest.mark.parametrize("name", CALLS)
def test_a_lost_answer_is_asked_for_again_only_where_twice_is_as_once(
    asker: Callable[..., SyncAsker], name: str
) -> None:
    positional, named, *_, answered = CALLS[name]
    with misbehaving(raw(), problem(503), then=answer(answered)) as server:
        client = asker(server.url, patience=PLENTY)
        if name in REPEATED:
            client.call(name, *positional, **named)
            first, *others = [server.next() for _ in range(3)]
            assert all(other[:2] == first[:2] and other.body == first.body for other in others)
        else:
            with pytest.raises(NoAnswer, match="broke"):
                client.call(name, *positional, **named)
            server.next()
            assert server.asked.empty()


@pytest.mark.parametrize("name", CALLS)
def test_a_refusal_is_raised_as_it_was_said(asker: Callable[..., SyncAsker], name: str) -> None:
    positional, named, *_ = CALLS[name]
    said = {"reason": "it is so", "field": "mode", "remedy": "do otherwise"}
    with misbehaving(then=problem(409, **said)) as server:
        client = asker(server.url, patience=PLENTY)
        with pytest.raises(ServiceError, match="409: mode: it is so; do otherwise") as caught:
            client.call(name, *positional, **named)
        server.next()
        assert server.asked.empty()
    error = caught.value
    assert not isinstance(error, NoAnswer)
    assert (error.status, error.field, error.reason, error.remedy) == (
        409,
        "mode",
        "it is so",
        "do otherwise",
    )


def test_a_call_that_was_never_sent_is_always_repeated(asker: Callable[..., SyncAsker]) -> None:
    """Nobody listens: even what must not be done twice is tried until the time is over."""
    client = asker(f"http://127.0.0.1:{closed_port()}", patience=0.3)
    with pytest.raises(NoAnswer):
        client.call("checkpoint", "shop")


# -- rewards -----------------------------------------------------------------------------------


def test_a_reward_is_given(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(answer(ANSWER), then=answer(LEARNED)) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        assert client.call("reward", "shop", choice, 1.0).status == "learned"
        assert client.call("reward", "shop", "d2", np.float64(0.5)).status == "learned"
        server.next()
        first, second = server.next(), server.next()
    assert first.path == second.path == "/v1/policies/shop/rewards"
    assert first.document == {"decision": ANSWER["id"], "reward": 1.0}
    assert second.document == {"decision": "d2", "reward": 0.5}


def test_after_a_fallback_no_reward_is_sent(asker: Callable[..., SyncAsker]) -> None:
    batch = {"rewards": [LEARNED, {**LEARNED, "status": "unknown"}]}
    with misbehaving(problem(401), then=answer(batch)) as server:
        client = asker(server.url, timeout=PLENTY)
        fell = client.decide()
        assert client.call("reward", "shop", fell, 1.0).status == "ignored"
        assert client.call("fallback", "shop", fell).status == "ignored"
        given = [("d1", 1.0), (fell, 2.0), ("d2", 3.0)]
        answers = client.call("rewards", "shop", given)
        assert [each.status for each in answers] == ["learned", "ignored", "unknown"]
        assert [each.status for each in client.call("rewards", "shop", [(fell, 1.0)])] == [
            "ignored"
        ]
        server.next()
        sent = server.next().document
        assert server.asked.empty()
    assert sent == {
        "rewards": [{"decision": "d1", "reward": 1.0}, {"decision": "d2", "reward": 3.0}]
    }


def test_a_long_batch_goes_in_parts(asker: Callable[..., SyncAsker]) -> None:
    parts = [answer({"rewards": [LEARNED] * count}) for count in (1_000, 500)]
    with misbehaving(*parts) as server:
        client = asker(server.url)
        assert len(client.call("rewards", "shop", [("d1", 1.0)] * 1_500)) == 1_500
        lengths = [len(server.next().document["rewards"]) for _ in range(2)]
    assert lengths == [1_000, 500]


def test_a_batch_with_another_number_of_answers_is_no_answer(
    asker: Callable[..., SyncAsker],
) -> None:
    with misbehaving(then=answer({"rewards": [LEARNED]})) as server:
        client = asker(server.url)
        with pytest.raises(NoAnswer, match="1 answers to 2 rewards"):
            client.call("rewards", "shop", [("d1", 1.0), ("d2", 1.0)])


def test_a_reward_is_repeated_until_there_is_an_answer(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(raw(), problem(503), problem(502), then=answer(LEARNED)) as server:
        client = asker(server.url, patience=PLENTY)
        assert client.call("reward", "shop", "d1", 1.0).status == "learned"
        assert len({server.next().body for _ in range(4)}) == 1


def test_one_connection_that_hangs_leaves_time_for_another(
    asker: Callable[..., SyncAsker],
) -> None:
    release = threading.Event()
    with misbehaving(after(release, raw()), then=answer(LEARNED)) as server:
        client = asker(server.url, patience=8.0)
        assert client.call("reward", "shop", "d1", 1.0).status == "learned"
        release.set()


def test_a_reward_gives_up_when_the_time_is_over(asker: Callable[..., SyncAsker]) -> None:
    release = threading.Event()
    with misbehaving(then=after(release, raw())) as server:
        client = asker(server.url)
        with pytest.raises(NoAnswer, match="no answer within"):
            client.call("reward", "shop", "d1", 1.0, timeout=1.0)
        release.set()


def test_a_choice_of_another_policy_is_refused(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving() as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        with pytest.raises(handrail.InputError, match="is of policy 'shop'"):
            client.call("reward", "other", choice, 1.0)


# -- page by page --------------------------------------------------------------------------------


def test_policies_come_page_by_page(asker: Callable[..., SyncAsker]) -> None:
    pages = [
        {"policies": [{**VIEW, "name": "a"}, {**VIEW, "name": "b c"}], "next": "b c"},
        {"policies": [{**VIEW, "name": "d"}]},
    ]
    with misbehaving(*map(answer, pages)) as server:
        found = asker(server.url).go_through("policies")
        paths = [server.next().path for _ in range(2)]
    assert [each.name for each in found] == ["a", "b c", "d"]
    assert paths == ["/v1/policies?limit=100", "/v1/policies?after=b+c&limit=100"]


def test_decisions_come_page_by_page(asker: Callable[..., SyncAsker]) -> None:
    pages = [
        {"decisions": [SEEN, {**SEEN, "round": 2}], "next": 2},
        {"decisions": [], "next": None},
    ]
    with misbehaving(*map(answer, pages)) as server:
        found = asker(server.url).go_through("decisions", "shop")
        paths = [server.next().path for _ in range(2)]
    assert [each.round for each in found] == [1, 2]
    assert paths == [f"/v1/policies/shop/decisions?after={after}&limit=500" for after in (0, 2)]


def test_events_come_page_by_page(asker: Callable[..., SyncAsker]) -> None:
    lines = [{"seq": seq, "hash": "ab", "event": {"kind": "decided"}} for seq in (4, 5)]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    kind = "application/x-ndjson"
    with misbehaving(raw(response(200, body, kind)), raw(response(200, b"", kind))) as server:
        found = asker(server.url).go_through("events", "shop", after=3)
        paths = [server.next().path for _ in range(2)]
    assert [(each.seq, each.hash, each.event) for each in found] == [
        (4, "ab", {"kind": "decided"}),
        (5, "ab", {"kind": "decided"}),
    ]
    assert paths == [
        f"/v1/policies/shop/events?format=ndjson&after={after}&limit=1000" for after in (3, 5)
    ]


def test_events_that_cannot_be_read(asker: Callable[..., SyncAsker]) -> None:
    plan = (raw(response(200, b'{"seq": 1')), problem(403, reason="not yours"))
    with misbehaving(*plan) as server:
        client = asker(server.url)
        with pytest.raises(NoAnswer, match="cannot be read"):
            client.go_through("events", "shop")
        with pytest.raises(ServiceError, match="403: not yours"):
            client.go_through("events", "shop")


# -- handles, and what is typed -------------------------------------------------------------------


def test_a_handle_knows_its_policy_and_baseline(asker: Callable[..., SyncAsker]) -> None:
    plan = (answer(ANSWER), problem(401), answer({"decisions": [ANSWER]}), answer(LEARNED))
    said = {"decision": ANSWER["id"], "status": "played", "detail": "It was."}
    more = (answer({"rewards": [LEARNED]}), answer(said), answer({"played": [said]}))
    last = (answer(HEARD), answer(VIEW))
    with misbehaving(*plan, *more, *last) as server:
        client = asker(server.url, baselines={}, timeout=PLENTY)
        whole = client.client
        client.client = whole.policy("shop", baseline="today")
        choice = client.call("decide")
        assert client.call("decide").action == "today"
        assert client.call("decide_many", [{}])[0].id == ANSWER["id"]
        assert client.call("reward", choice, 1.0).status == "learned"
        assert client.call("rewards", [(choice, 1.0)])[0].status == "learned"
        assert client.call("played", choice).status == "played"
        assert client.call("played_many", [choice])[0].status == "played"
        assert client.call("fallback", choice, because="choice").status == "baseline"
        assert client.call("show").name == "shop"
        client.client = whole
        assert "baseline" not in server.next().document  # the service knows the agreed one


def test_the_fields_of_a_policy_are_those_of_the_service() -> None:
    fields = set(CreateRequest.__struct_fields__) - {"name", "algorithm"}
    assert set(PolicyFields.__annotations__) == fields


def test_ready(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(raw(response(200, b"ready")), raw(response(503, b"not yet"))) as server:
        client = asker(server.url, timeout=PLENTY)
        assert client.call("ready") is True
        assert client.call("ready", timeout=PLENTY) is False
        assert server.next().path == "/readyz"
