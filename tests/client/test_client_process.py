"""Imports, forks, threads, event loops: where a client lives."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from socket import socket
from typing import Any, assert_type

import numpy as np
import pytest

import handrail
from client.misbehaving import ANSWER, Asked, answer, misbehaving, raw
from handrail.client import Choice, NoAnswer, ServiceError
from handrail.service.messages import RewardAnswer
from handrail.service.shown import PolicyView

PLENTY = 60.0


def echo(connection: socket, asked: Asked) -> None:
    """Answer with an id made of the request's key."""
    answer({**ANSWER, "id": asked.document["idempotency_key"]})(connection, asked)


echo.keeps = True  # type: ignore[attr-defined]


def run(code: str, *given: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", code, *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PLENTY, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_client_needs_neither_policies_nor_their_compiler() -> None:
    code = """
import sys, handrail
handrail.Client, handrail.AsyncClient
heavy = ("numba", "numpy", "scipy", "pyarrow", "uvicorn", "handrail.policies", "handrail.bounds")
print([name for name in heavy if name in sys.modules])
"""
    assert run(code) == "[]\n"


@pytest.mark.parametrize("package", ["h11", "msgspec"])
def test_without_its_packages_the_install_command_is_named(package: str) -> None:
    code = f"""
import sys, handrail
sys.modules["{package}"] = None
try:
    handrail.Client
except handrail.InputError as error:
    print(error)
"""
    assert run(code) == f"{package}: is not installed; pip install 'handrail[client]'\n"


def test_a_fork_gets_connections_of_its_own() -> None:
    """On a shared one, parent and child would read each other's answers."""
    code = """
import os, sys, handrail
client = handrail.Client(sys.argv[1], baselines={"shop": "current"}, timeout=60.0)
def right():
    choice = client.decide("shop")
    return not choice.fallback and choice.id == choice.key
assert right()
child = os.fork()
good = all([right() for _ in range(50)])
if child == 0:
    os._exit(0 if good and client.counts().decisions == 50 else 1)
print(good, os.waitpid(child, 0)[1])
"""
    with misbehaving(then=echo) as server:
        assert run(code, server.url) == "True 0\n"
        assert len(server.connections) == 2


def test_a_fork_leaves_reports_to_the_parent() -> None:
    code = """
import os, sys, handrail
client = handrail.Client(sys.argv[1], baselines={"shop": "current"}, timeout=60.0)
client._reporter.close()
assert client.decide("shop").fallback
child = os.fork()
if child == 0:
    os._exit(client.counts().unreported)
print(client.counts().unreported, os.waitpid(child, 0)[1])
"""
    with misbehaving(then=raw()) as server:
        assert run(code, server.url) == "1 0\n"


def test_many_threads_get_their_own_answers() -> None:
    with (
        misbehaving(then=echo) as server,
        handrail.Client(server.url, baselines={"shop": 0}, timeout=PLENTY) as client,
    ):
        with ThreadPoolExecutor(8) as pool:
            choices = list(pool.map(lambda _: client.decide("shop"), range(400)))
        assert client.counts().decisions == 400
    assert all(choice.id == choice.key for choice in choices)
    assert len({choice.key for choice in choices}) == 400


def test_many_tasks_get_their_own_answers() -> None:
    async def ask(url: str) -> list[Choice]:
        async with handrail.AsyncClient(url, baselines={"shop": 0}, timeout=PLENTY) as client:
            return list(await asyncio.gather(*(client.decide("shop") for _ in range(200))))

    with misbehaving(then=echo) as server:
        choices = asyncio.run(ask(server.url))
    assert all(choice.id == choice.key for choice in choices)


def test_an_async_client_works_in_one_loop_after_the_other() -> None:
    """Connections of a loop that is gone are of no use; nothing falls back because of them."""
    with misbehaving(then=echo) as server:
        client = handrail.AsyncClient(server.url, baselines={"shop": 0}, timeout=PLENTY)

        async def once() -> Choice:
            choice = await client.decide("shop")
            await client._wire.close()
            return choice

        for _ in range(3):
            assert not asyncio.run(once()).fallback


def test_a_cancelled_call_is_neither_answered_nor_reported() -> None:
    async def ask(url: str) -> None:
        async with handrail.AsyncClient(url, baselines={"shop": 0}, timeout=PLENTY) as client:
            task = asyncio.create_task(client.decide("shop"))
            await asyncio.get_running_loop().run_in_executor(None, server.next)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            counts = client.counts()
            assert (counts.fallbacks, counts.unreported) == ({}, 0)

    def hang(connection: socket, _: Asked) -> None:
        connection.recv(1)  # until the client hangs up

    with misbehaving(then=hang) as server:
        asyncio.run(ask(server.url))


def test_arrays_are_sent_as_lists() -> None:
    features = {"current": np.array([1.0, 2.0]), "new": np.array([0.5, 1.0])}
    with misbehaving() as server:
        with handrail.Client(server.url, timeout=PLENTY) as client:
            client.decide("guard", baseline="current", features=features)
            client.decide(
                "guard", baseline="current", features=np.eye(2), baseline_mean=np.float64(1)
            )
        first, second = server.next().document, server.next().document
    assert first["features"] == {"current": [1.0, 2.0], "new": [0.5, 1.0]}
    assert second["features"] == [[1.0, 0.0], [0.0, 1.0]]
    assert second["baseline_mean"] == 1.0


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("url", {"url": "127.0.0.1:8642"}),
        ("url", {"url": "ftp://127.0.0.1"}),
        ("url", {"url": "http://"}),
        ("url", {"url": "http://127.0.0.1:port"}),
        ("url", {"url": "http://me:secret@127.0.0.1"}),
        ("url", {"url": "http://127.0.0.1/?a=b"}),
        ("key", {"key": "hr_secret\r\nX: y"}),
        ("key", {"key": ""}),
        ("timeout", {"timeout": 0.0}),
        ("timeout", {"timeout": float("inf")}),
        ("patience", {"patience": -1.0}),
        ("rest", {"rest": float("nan")}),
        ("failures", {"failures": 0}),
        ("remember", {"remember": 0}),
    ],
)
@pytest.mark.parametrize("make", [handrail.Client, handrail.AsyncClient])
def test_bad_settings_are_refused_and_secrets_not_repeated(
    make: Any, field: str, given: dict[str, Any]
) -> None:
    with pytest.raises(handrail.InputError) as caught:
        make(**{"url": "http://127.0.0.1:8642", **given})
    assert caught.value.field == field
    assert "secret" not in str(caught.value)


def test_the_key_is_not_shown() -> None:
    with handrail.Client("http://127.0.0.1:1/base/", key="hr_1_secret") as client:
        assert repr(client) == "Client('http://127.0.0.1:1/base')"
        assert "secret" not in repr(client._settings)


def test_a_path_before_the_service_is_kept() -> None:
    with misbehaving() as server:
        with handrail.Client(f"{server.url}/bandits/", timeout=PLENTY) as client:
            client.decide("a b/c", baseline="current")
        assert server.next().path == "/bandits/v1/policies/a%20b%2Fc/decide"


def test_errors_can_be_handed_to_another_process() -> None:
    for error in (ServiceError(422, "0 rows", field="features"), NoAnswer(None, "away")):
        twin = pickle.loads(pickle.dumps(error))
        assert type(twin) is type(error)
        assert (str(twin), twin.status) == (str(error), error.status)


def test_types() -> None:
    """Checked by mypy: what a caller gets is typed precisely."""

    def look(client: handrail.Client) -> None:
        assert_type(client.decide("shop"), Choice)
        assert_type(client.decide("shop").id, str | None)
        assert_type(client.reward("shop", "id", 1.0), RewardAnswer)
        assert_type(client.policy("shop", baseline=0).decide(), Choice)
        assert_type(client.show("shop"), PolicyView)
        client.create_policy("shop", "CUCB2", arms=3, mode="live")
        client.create_policy("shop", "CUCB2", arm=3)  # type: ignore[call-arg]
        client.change_mode("shop", "fast")  # type: ignore[arg-type]

    async def look_later(client: handrail.AsyncClient) -> None:
        assert_type(await client.decide("shop"), Choice)
        assert_type(await client.rewards("shop", [("id", 1.0)]), list[RewardAnswer])
        assert_type([view async for view in client.policies()], list[PolicyView])

    assert callable(look)
    assert callable(look_later)
