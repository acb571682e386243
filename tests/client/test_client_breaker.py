"""A service that is away is not waited for on every page, and is found again when it is back."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from client.askers import SyncAsker
from client.misbehaving import ANSWER, HEARD, answer, closed_port, misbehaving, problem

PLENTY = 60.0


def test_after_failures_in_a_row_nothing_is_sent(
    asker: Callable[..., SyncAsker], caplog: pytest.LogCaptureFixture
) -> None:
    with misbehaving(then=problem(500)) as server:
        client = asker(server.url, timeout=PLENTY, failures=3, rest=PLENTY)
        choices = [client.decide() for _ in range(10)]
        counts = client.counts()
    assert all(choice.fallback and choice.action == "current" for choice in choices)
    assert counts.fallbacks == {"failed": 3, "resting": 7}
    assert counts.decisions == 10
    asked = [server.next().path for _ in range(server.asked.qsize())]
    assert len([path for path in asked if path.endswith("/decide")]) == 3
    assert "resting for 60 s" in caplog.text


def test_a_rest_ends_with_an_answer(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(*[problem(500)] * 3, reports=answer(HEARD)) as server:
        client = asker(server.url, timeout=PLENTY, failures=3, rest=0.05)
        for _ in range(3):
            assert client.decide().fallback
        end = time.monotonic() + PLENTY
        while client.decide().fallback:
            assert time.monotonic() < end
        assert not client.decide().fallback


def test_refusals_are_answers(asker: Callable[..., SyncAsker]) -> None:
    """A wrong key or wrong features are no outage: every round is asked for."""
    with misbehaving(then=problem(422, reason="0 rows")) as server:
        client = asker(server.url, timeout=PLENTY, failures=3, rest=PLENTY)
        for _ in range(10):
            client.decide()
    assert client.counts().fallbacks == {"refused": 10}


def test_failures_must_be_in_a_row(asker: Callable[..., SyncAsker]) -> None:
    plan = [problem(500), problem(500), answer(ANSWER)] * 5
    with misbehaving(*plan, reports=answer(HEARD)) as server:
        client = asker(server.url, timeout=PLENTY, failures=3, rest=PLENTY)
        fell = [client.decide().fallback for _ in range(15)]
    assert fell == [True, True, False] * 5


def test_other_calls_are_not_held_back(asker: Callable[..., SyncAsker]) -> None:
    client = asker(f"http://127.0.0.1:{closed_port()}", timeout=PLENTY, failures=1, rest=PLENTY)
    assert client.decide().error is not None
    assert str(client.decide().error).startswith("resting")
    assert client.call("ready") is False
