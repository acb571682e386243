"""The endpoint a service is held against: check the key, parse, commit one row, answer.

As raw ASGI, served by uvicorn. The database and how it is committed to come from the environment,
because a server that starts its own workers hands on nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from benchmarks.group_commit import COMMITS, Commit

__all__ = ["DECIDE", "KEY", "REWARD", "Answer", "Bare", "Decide", "Reward", "allowed", "raw"]

KEY = "bare-endpoint"
KEYS = {hashlib.sha256(KEY.encode()).digest(): "admin"}
DECIDE, REWARD = "/v1/policies/{name}/decide", "/v1/policies/{name}/rewards"

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class Decide(msgspec.Struct):
    """What a decision is asked with."""

    features: list[list[float]] | None = None
    baseline: int | None = None
    baseline_mean: float | None = None
    idempotency_key: str | None = None


class Reward(msgspec.Struct):
    """What a reward is told with."""

    decision: str
    reward: float


class Answer(msgspec.Struct):
    """What either is answered with."""

    id: str
    round: int


def allowed(header: bytes) -> bool:
    """Return whether `Bearer KEY` names a key."""
    return header[:7] == b"Bearer " and hashlib.sha256(header[7:]).digest() in KEYS


class Bare:
    """What is left of a request's work besides the framework; ids have a length."""

    def __init__(self, commit: Commit, length: int = 32) -> None:
        self._commit = commit
        self._name = f"{{:0{length}x}}".format
        self._decide = msgspec.json.Decoder(Decide).decode
        self._reward = msgspec.json.Decoder(Reward).decode
        self._rounds = count(1)
        self.encode = msgspec.json.Encoder().encode

    async def keep_decision(self, mean: float | None) -> Answer:
        """Commit a decision; return its answer."""
        number = next(self._rounds)
        name = self._name(number)
        await self._commit.add((name, "decide", mean or 0.0))
        return Answer(name, number)

    async def keep_reward(self, decision: str, reward: float) -> Answer:
        """Commit a reward; return its answer."""
        await self._commit.add((decision, "reward", reward))
        return Answer(decision, next(self._rounds))

    async def answer(self, path: str, body: bytes) -> Answer | None:
        """Parse; return the answer once its row is on disk; None if there is no such path."""
        last = path.rpartition("/")[2]
        if last == "decide":
            return await self.keep_decision(self._decide(body).baseline_mean)
        if last == "rewards":
            told = self._reward(body)
            return await self.keep_reward(told.decision, told.reward)
        return None


async def _body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    return body


def raw(bare: Bare) -> App:
    """Return the endpoint as plain ASGI."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, content = 200, b""
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if not allowed(header):
            status = 401
        else:
            try:
                found = await bare.answer(scope["path"], await _body(receive))
            except msgspec.DecodeError:
                status = 422
            else:
                status, content = (404, b"") if found is None else (200, bare.encode(found))
        await send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", b"%d" % len(content)),
                ],
            }
        )
        await send({"type": "http.response.body", "body": content})

    return app


def from_environment() -> Bare:
    """Return the endpoint's work with the settings that the process was started with."""
    if interval := os.environ.get("BARE_SWITCH"):
        sys.setswitchinterval(float(interval))
    commit = COMMITS[os.environ.get("BARE_COMMIT", "thread")]
    length = int(os.environ.get("BARE_ID_LENGTH", "32"))
    return Bare(commit(Path(os.environ["BARE_DATABASE"])), length)


def main() -> None:
    """Serve by uvicorn."""
    import uvicorn

    parser = argparse.ArgumentParser(prog="python -m benchmarks.endpoint", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--app", default="benchmarks.endpoint:raw_app")
    given = parser.parse_args()
    uvicorn.run(
        given.app,
        factory=True,
        port=given.port,
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
    )


def raw_app() -> App:
    """Return the endpoint for a server that asks for an application."""
    return raw(from_environment())


if __name__ == "__main__":
    main()
