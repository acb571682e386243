"""What the users of a load do: ask and reward, or only ask."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks.load import User, request

__all__ = ["deciding", "pairs", "random_features"]


def random_features(arms: int, dim: int, seed: int = 0) -> list[list[float]]:
    """Return unit vectors with seven digits, the first of them the baseline's."""
    drawn = np.random.default_rng(seed).normal(size=(arms, dim))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return [[round(float(value), 7) for value in row] for row in drawn]


def _identifier(body: bytes) -> bytes:
    """Return the decision's id from an answer."""
    start = body.index(b'"id":"') + 6
    return body[start : body.index(b'"', start)]


def _asking(policy: str, key: str, features: list[list[float]] | None) -> bytes:
    asked: dict[str, Any] = {} if features is None else {"features": features, "baseline": 0}
    body = json.dumps(asked, separators=(",", ":")).encode()
    return request(f"/v1/policies/{policy}/decide", body, key)


def pairs(policy: str, key: str, times: int, features: list[list[float]] | None = None) -> User:
    """Ask for a decision and reward it, again and again."""
    asking = _asking(policy, key, features)
    whole = request(f"/v1/policies/{policy}/rewards", b"", key)
    before, _, after = whole.partition(b"Content-Length: 0")
    for turn in range(times):
        name = _identifier((yield asking))
        told = b'{"decision":"%b","reward":%d}' % (name, turn & 1)
        yield b"%bContent-Length: %d%b%b" % (before, len(told), after, told)


def deciding(policy: str, key: str, times: int, features: list[list[float]] | None = None) -> User:
    """Ask for decisions."""
    asking = _asking(policy, key, features)
    for _ in range(times):
        yield asking
