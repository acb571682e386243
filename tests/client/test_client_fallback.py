"""Whatever the other side does, decide answers in time, with the baseline, and says so.

Time is measured as an order of events: the server goes on for at least ten times as long as decide
may take, or until the test lets it go on, and decide must be back before.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

import handrail
from client.askers import SyncAsker
from client.misbehaving import (
    A_MINUTE,
    ANSWER,
    Behaviour,
    after,
    answer,
    closed_port,
    drip,
    misbehaving,
    problem,
    raw,
    reset,
    response,
)
from handrail.client import Choice, NoAnswer, ServiceError, exchange

GOOD = json.dumps(ANSWER).encode()
PLENTY = 60.0
"""Seconds for requests that are answered at once: nothing waits for them to pass."""

BAD: dict[str, tuple[Behaviour, str]] = {
    "closes at once": (raw(), "broken"),
    "resets at once": (reset(), "broken"),
    "resets in the headers": (reset(b"HTTP/1.1 200 OK\r\nContent-"), "broken"),
    "closes in the headers": (raw(b"HTTP/1.1 200 OK\r\nContent-"), "broken"),
    "closes in the body": (raw(response(200, GOOD)[:-10]), "broken"),
    "resets in the body": (reset(response(200, GOOD)[:-10]), "broken"),
    "is no HTTP": (raw(b"\x00\xff\x16garbage\r\n\r\n"), "broken"),
    "never ends its headers": (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000), "broken"),
    "answers nothing": (raw(response(200, b"")), "unreadable"),
    "answers HTML": (raw(response(200, b"<html>log in</html>", "text/html")), "unreadable"),
    "answers no UTF-8": (raw(response(200, b'{"id": "\xff\xfe"}')), "unreadable"),
    "answers another type": (answer([1, 2, 3]), "unreadable"),
    "leaves fields out": (answer({"id": "x"}), "unreadable"),
    "answers wrong types": (answer({**ANSWER, "action": None}), "unreadable"),
    "answers an unknown event": (answer({**ANSWER, "event": "lucky"}), "unreadable"),
    "nests too deeply": (raw(response(200, b'{"x": ' + b"[" * 200_000)), "unreadable"),
    "answers a batch": (answer({"decisions": [ANSWER]}), "unreadable"),
    "redirects": (raw(response(301, b"")), "refused"),
    "is ill": (problem(500, reason="it broke"), "failed"),
    "is busy": (problem(503, reason="not now"), "failed"),
    "is ill and says nothing": (raw(response(502, b"<html>", "text/html")), "failed"),
    "wants a key": (problem(401, reason="no key"), "refused"),
    "forbids": (problem(403, reason="not yours"), "refused"),
    "knows no such policy": (problem(404, reason="no such policy"), "refused"),
    "finds the input wrong": (problem(422, reason="0 rows", field="features"), "refused"),
}


def assert_fell_back(choice: Choice, cause: str) -> None:
    assert choice.fallback
    assert choice.action == "current"
    assert choice.event == "baseline"
    assert (choice.id, choice.round, choice.margin) == (None, None, None)
    assert not choice.awaits_reward
    assert choice.error is not None
    assert choice.error.startswith(f"{cause}: ")


def test_an_answer_is_handed_on(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving() as server:
        client = asker(server.url, key="hr_1_secret", timeout=PLENTY)
        choice = client.decide(features=[[1.0, 0.5]], baseline_mean=(0.25, 0.5))
        asked = server.next()
    assert not choice.fallback
    assert choice.error is None
    assert {name: getattr(choice, name) for name in ANSWER} == ANSWER
    assert (asked.method, asked.path) == ("POST", "/v1/policies/shop/decide")
    assert asked.headers["authorization"] == "Bearer hr_1_secret"
    assert asked.headers["content-type"] == "application/json"
    assert asked.document == {
        "features": [[1.0, 0.5]],
        "baseline_mean": [0.25, 0.5],
        "idempotency_key": choice.key,
    }


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_none(asker: Callable[..., SyncAsker], name: str) -> None:
    behaviour, cause = BAD[name]
    with misbehaving(then=behaviour) as server:
        client = asker(server.url, timeout=PLENTY)
        assert_fell_back(client.decide(), cause)
        assert client.counts().fallbacks == {cause: 1}


@pytest.mark.parametrize("name", BAD)
def test_strict_raises_instead(asker: Callable[..., SyncAsker], name: str) -> None:
    behaviour, _ = BAD[name]
    with misbehaving(then=behaviour) as server:
        client = asker(server.url, timeout=PLENTY, strict=True)
        with pytest.raises(ServiceError) as caught:
            client.decide()
        assert client.counts().unreported == 0  # nobody said that the baseline was played
    if name == "finds the input wrong":
        assert not isinstance(caught.value, NoAnswer)
        assert (caught.value.status, caught.value.field) == (422, "features")


def test_nobody_listens(asker: Callable[..., SyncAsker]) -> None:
    client = asker(f"http://127.0.0.1:{closed_port()}", timeout=PLENTY)
    assert_fell_back(client.decide(), "unreachable")
    assert client.counts().unreported == 0  # certain that nothing was decided


def test_no_tls_there(asker: Callable[..., SyncAsker]) -> None:
    def answer_in_clear() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_in_clear)
        thread.start()
        client = asker(f"https://127.0.0.1:{listener.getsockname()[1]}", timeout=PLENTY)
        assert_fell_back(client.decide(), "unreachable")
        assert client.counts().unreported == 0
        thread.join()


def test_an_answer_without_end_is_not_read(
    asker: Callable[..., SyncAsker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is lowered; the server sends until the client hangs up."""
    monkeypatch.setattr(exchange, "_LARGEST", 100_000)

    def flood(connection: socket.socket, _: object) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(bytes(10_000))

    with misbehaving(then=flood) as server:
        client = asker(server.url, timeout=PLENTY)
        assert_fell_back(client.decide(), "unreadable")


def test_a_slow_drip_meets_the_deadline(asker: Callable[..., SyncAsker]) -> None:
    """Every byte comes soon, all of them take more than ten times the deadline."""
    finished = threading.Event()
    whole = response(200, GOOD)
    with misbehaving(then=drip(whole, every=0.02, finished=finished)) as server:
        client = asker(server.url, timeout=0.02 * len(whole) / 10)
        choice = client.decide()
        early = not finished.is_set()
    assert_fell_back(choice, "timeout")
    assert early
    assert client.counts().unreported == 1


@pytest.mark.parametrize("where", ["before anything", "after the headers"])
def test_a_hang_meets_the_deadline(asker: Callable[..., SyncAsker], where: str) -> None:
    """The server waits for the test, the test for decide: without a deadline nobody would move."""
    release = threading.Event()
    head = response(200, GOOD)[: -len(GOOD)]

    def hang(connection: socket.socket, _: object) -> None:
        if where == "after the headers":
            connection.sendall(head)
        release.wait(A_MINUTE)

    with misbehaving(then=hang) as server:
        client = asker(server.url, timeout=0.05)
        choice = client.decide()
        release.set()
    assert_fell_back(choice, "timeout")


def test_an_answer_that_comes_too_late_is_not_taken(asker: Callable[..., SyncAsker]) -> None:
    """The next round must not get the answer to the one before."""
    release = threading.Event()
    late = {**ANSWER, "id": "p-c-6-o", "action": "late"}
    with misbehaving(after(release, answer(late))) as server:
        client = asker(server.url, timeout=0.05)
        assert_fell_back(client.decide(), "timeout")
        release.set()
        choice = client.decide(timeout=PLENTY)
    assert choice.id == ANSWER["id"]
    assert choice.action == "new"


def test_a_slow_reader_meets_the_deadline(asker: Callable[..., SyncAsker]) -> None:
    """The system takes the connection and its first megabytes, and nobody reads them.

    After ten times the deadline the connection would be torn down.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = asker(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.5)
        torn_down = threading.Event()
        timer = threading.Timer(5.0, torn_down.set)
        timer.start()
        choice = client.decide(proposal="p" * 30_000_000)
        early = not torn_down.is_set()
        timer.cancel()
    assert_fell_back(choice, "timeout")
    assert early
    assert choice.error is not None
    assert "no answer within" in choice.error  # it was being sent


def test_a_lookup_that_hangs_meets_the_deadline(
    asker: Callable[..., SyncAsker], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    lookups = 0

    def getaddrinfo(*_: object, **__: object) -> list[Any]:
        nonlocal lookups
        lookups += 1
        release.wait(A_MINUTE)
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    client = asker("http://handrail.example:8642", timeout=0.05)
    try:
        assert_fell_back(client.decide(), "timeout")
        assert_fell_back(client.decide(), "timeout")
    finally:
        release.set()
    assert lookups == 1  # both share it: what hangs is one thread
    assert client.counts().unreported == 0  # certain that nothing was decided


def test_a_name_that_nobody_has(
    asker: Callable[..., SyncAsker], monkeypatch: pytest.MonkeyPatch
) -> None:
    def getaddrinfo(*_: object, **__: object) -> list[Any]:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    client = asker("http://handrail.example:8642", timeout=PLENTY)
    assert_fell_back(client.decide(), "unreachable")


def test_a_name_is_looked_up_and_its_addresses_are_tried(
    asker: Callable[..., SyncAsker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first address refuses, the second answers."""
    real = socket.getaddrinfo
    nobody = "127.0.0.2"

    def getaddrinfo(host: Any, port: Any, *more: Any, **named: Any) -> list[Any]:
        if host not in ("handrail.example", b"handrail.example"):
            return list(real(host, port, *more, **named))
        return [
            (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (each, port or 0))
            for each in (nobody, "127.0.0.1")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with misbehaving() as server:
        client = asker(server.url.replace("127.0.0.1", "handrail.example"), timeout=PLENTY)
        assert client.decide().id == ANSWER["id"]


def test_a_connection_that_broke_is_tried_once_more_with_the_same_key(
    asker: Callable[..., SyncAsker],
) -> None:
    """As a kept connection does that the server closes just then."""
    with misbehaving(raw()) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        first, second = server.next(), server.next()
    assert not choice.fallback
    assert first.document == second.document
    assert first.document["idempotency_key"] == choice.key


class Odd:
    """Nothing that could be sent."""


@pytest.mark.parametrize(
    "given",
    [
        {"features": Odd()},
        {"features": [[Odd()]]},
        {"baseline_mean": float("nan")},
        {"baseline_mean": (0.1, float("inf"))},
        {"baseline_mean": "much"},
        {"idempotency_key": ""},
        {"idempotency_key": "k" * 201},
        {"timeout": -1.0},
        {"timeout": float("nan")},
    ],
    ids="-".join,
)
def test_input_that_cannot_be_sent(
    asker: Callable[..., SyncAsker], given: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with misbehaving() as server:
        client = asker(server.url, timeout=PLENTY)
        assert_fell_back(client.decide(**given), "input")
        assert server.asked.empty()
    assert len(caplog.records) == 1


def test_without_a_baseline_nothing_can_be_promised(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving() as server:
        client = asker(server.url, baselines={}, timeout=PLENTY)
        with pytest.raises(handrail.InputError, match="falls back to is not known"):
            client.decide()
        assert client.decide(baseline="current").id == ANSWER["id"]
        assert server.next().document["baseline"] == "current"


def test_what_falls_back_is_warned_of_but_not_each_time(
    asker: Callable[..., SyncAsker], caplog: pytest.LogCaptureFixture
) -> None:
    with misbehaving(then=problem(401, reason="this key is not known")) as server:
        client = asker(server.url, key="hr_1_secret", timeout=PLENTY)
        errors = [client.decide().error for _ in range(20)]
    assert set(errors) == {"refused: 401: this key is not known"}
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("handrail.client", logging.WARNING)
    assert "policy shop" in record.getMessage()
    assert "401: this key is not known" in record.getMessage()
    assert "secret" not in caplog.text
    assert client.counts().fallbacks == {"refused": 20}


def test_another_baseline_than_the_service_knows_is_warned_of(
    asker: Callable[..., SyncAsker], caplog: pytest.LogCaptureFixture
) -> None:
    other = {**ANSWER, "action": "old", "event": "baseline"}
    with misbehaving(answer(other), then=raw()) as server:
        client = asker(server.url, timeout=PLENTY)
        assert client.decide().action == "old"
        assert "the policy's is 'old', the caller's 'current'" in caplog.text
        client.decide()  # what it plays now is not the policy's baseline: nothing to report
        assert client.counts().unreported == 0
        strict = asker(server.url, timeout=PLENTY, strict=True)
        server.then = answer(other)
        with pytest.raises(handrail.InputError, match="'old'"):
            strict.decide()


def test_many(asker: Callable[..., SyncAsker]) -> None:
    both = [{**ANSWER, "id": "a"}, {**ANSWER, "id": "b"}]
    asks: list[dict[str, Any]] = [
        {"baseline": "one"},
        {"features": [[1.0]], "idempotency_key": "mine"},
    ]
    with misbehaving(answer({"decisions": both}), answer({"decisions": both[:1]})) as server:
        client = asker(server.url, timeout=PLENTY)
        good = client.call("decide_many", "shop", asks)
        asks[1]["idempotency_key"] = "other"
        bad = client.call("decide_many", "shop", asks)
        document = server.next().document
    assert [choice.id for choice in good] == ["a", "b"]
    assert document["requests"][0] == {"baseline": "one", "idempotency_key": good[0].key}
    assert document["requests"][1] == {"features": [[1.0]], "idempotency_key": "mine"}
    assert [choice.fallback for choice in bad] == [True, True]
    assert [choice.action for choice in bad] == ["one", "current"]
    assert client.counts().fallbacks == {"unreadable": 2}
    assert client.call("decide_many", "shop", []) == []
