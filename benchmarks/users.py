"""What the users of a load do: ask and reward, one by one or by batches, of one policy or many."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice
from typing import Any, TypeAlias

import numpy as np

from benchmarks.load import User, request

__all__ = ["Matrix", "batches", "making", "pairs", "random_features", "visiting"]

Matrix: TypeAlias = list[list[float]]

_NAMES = re.compile(rb'"id":"([^"]+)"')


def random_features(arms: int, dim: int, seed: int = 0) -> Matrix:
    """Return rows of positive features with seven digits, a little shorter than 1."""
    drawn = np.abs(np.random.default_rng(seed).normal(size=(arms, dim)))
    drawn *= 0.99 / np.linalg.norm(drawn, axis=1, keepdims=True)
    return [[round(float(value), 7) for value in row] for row in drawn]


def _identifier(body: bytes) -> bytes:
    """Return the decision's id from an answer."""
    start = body.index(b'"id":"') + 6
    return body[start : body.index(b'"', start)]


def _asking(policy: str, key: str, asked: Any) -> bytes:
    body = json.dumps(asked, separators=(",", ":")).encode()
    return request(f"/v1/policies/{policy}/decide", body, key)


def _questions(features: Sequence[Matrix]) -> list[dict[str, Any]]:
    return [{"features": each, "baseline": 0} for each in features] or [{}]


def _told(name: bytes, turn: int) -> bytes:
    """Return a reward: 1 every other time."""
    return b'{"decision":"%b","reward":%d}' % (name, turn & 1)


class _Rewarding:
    """Makes requests out of rewards, with little more than a concatenation."""

    def __init__(self, policy: str, key: str) -> None:
        whole = request(f"/v1/policies/{policy}/rewards", b"", key)
        self._before, _, self._after = whole.partition(b"Content-Length: 0")

    def __call__(self, told: bytes) -> bytes:
        return b"%bContent-Length: %d%b%b" % (self._before, len(told), self._after, told)


def pairs(policy: str, key: str, times: int, features: Sequence[Matrix] = ()) -> User:
    """Ask for a decision and reward it, again and again, with features taken in turn if any."""
    asking = cycle([_asking(policy, key, each) for each in _questions(features)])
    rewarding = _Rewarding(policy, key)
    for turn, asked in enumerate(islice(asking, times)):
        name = _identifier((yield asked))
        yield rewarding(_told(name, turn))


def batches(policy: str, key: str, times: int, size: int, after: Callable[[int], None]) -> User:
    """Ask for many decisions at once and reward them, again and again."""
    asking = _asking(policy, key, {"requests": [{}] * size})
    rewarding = _Rewarding(policy, key)
    for _ in range(times):
        names = _NAMES.findall((yield asking))
        told = b",".join([_told(name, turn) for turn, name in enumerate(names)])
        yield rewarding(b'{"rewards":[%b]}' % told)
        after(len(names))


def making(names: Iterable[str], key: str, parameters: dict[str, Any]) -> User:
    """Make policies that differ in nothing but their names."""
    for name in names:
        body = json.dumps({"name": name, **parameters}, separators=(",", ":")).encode()
        yield request("/v1/policies", body, key)


def visiting(names: Iterable[str], key: str, features: Matrix, after: Callable[[], None]) -> User:
    """Ask every policy once, and reward it."""
    body = json.dumps(_questions([features])[0], separators=(",", ":")).encode()
    for turn, name in enumerate(names):
        found = _identifier((yield request(f"/v1/policies/{name}/decide", body, key)))
        yield request(f"/v1/policies/{name}/rewards", _told(found, turn), key)
        after()
