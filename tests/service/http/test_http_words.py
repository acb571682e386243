"""What is refused is said in JSON's words: callers need not know which language serves them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from handrail.errors import InputError
from handrail.service import commands, outcomes
from handrail.service.http.decoding import Either, One
from handrail.service.limits import Limits
from handrail.service.messages import (
    ArmRequest,
    CreateRequest,
    DecideBatch,
    DecideRequest,
    RewardBatch,
    RewardRequest,
)
from handrail.service.problems import Problem, from_input
from handrail.service.session import Session
from handrail.service.shelf import Shelf
from memory_store import MemoryStore

RANGE = {"delta": 0.1, "reward_range": [0, 1]}
SAFE = {**RANGE, "alpha": 0.2, "baseline_mean": 0.4}
POLICIES: dict[str, dict[str, Any]] = {
    "arms": {**SAFE, "algorithm": "HANDRAIL", "arms": 3, "baseline": 0},
    "checked": {**SAFE, "algorithm": "HANDRAILT", "arms": 3, "baseline": 0, "checkpoint_every": 5},
    "contexts": {**RANGE, "algorithm": "LinHANDRAIL", "alpha": 0.2, "dim": 2, "theta_bound": 1}
    | {"feature_bound": 1},
    "fixed": {**SAFE, "algorithm": "LinHANDRAIL", "features": [[0.1, 0.5], [0.4, 0.1]]}
    | {"baseline": 0, "baseline_mean": 0.1, "theta_bound": 1},
    "guard": {**SAFE, "algorithm": "GUARD", "baseline": "old"},
    "named": {**SAFE, "algorithm": "HANDRAIL", "arms": ["a", "b"], "baseline": "a"}
    | {"baseline_mean": "learned"},
    "oracle": {**SAFE, "algorithm": "CUCB-Or", "arms": 2, "baseline": 0, "true_means": [0.4, 0.5]},
    "plain": {"algorithm": "UCB", "arms": 2, "delta": 0.1, "noise": 1, "mean_range": [0, 5]},
}
VALUES: list[Any] = [
    *(None, True, 0, 1, -1, 2.5, 1e308, 1e-300, 2**53 - 1, "", "x", "learned", "any", "None"),
    *([], [1], [1, 0], [0, 1], [0, 1, 2], [0.5, None], ["a", "a"], [True], [[1, 2], [3]], [[]]),
    *([[0.1, 0.2], [0.3, 0.4]], {}, {"a": [1, 2], "b": [3]}, {"a": 1}, {"a": None}),
    *({"law": "poisson", "args": [50]}, {"law": "poisson"}, {"law": None}),
    *({"law": "poisson", "args": [-1]}, {"law": "norm", "args": [True, None]}),
]

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'(?!\w)|\"(?:[^\"\\]|\\.)*\"")
"""What the caller said himself is repeated as it is."""
PYTHON = re.compile(
    r"\b(?:None|NoneType|True|False|tuple|list|dict|set|int|float|str|bool|bytes|nan|inf)\b"
    r"|\b(?:numpy|ndarray|msgspec|scipy|Python)\b"
    r"|\w\(|\w=|^\(|(?:pass|shape|pair) \(|,\)|<\w"  # calls, arguments, tuples, objects
)


_CREATE, _ARM = One(CreateRequest), One(ArmRequest)
_DECIDE = Either(DecideRequest, DecideBatch, "requests")
_REWARDS = Either(RewardRequest, RewardBatch, "rewards")


class Asking:
    """Asks a service in memory, and keeps what it says when it refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._made = 0
        self.said: dict[str, str] = {}
        """Reasons and remedies, and what was refused so."""

    def _ask(self, where: str, body: Any, ask: Callable[[bytes], object]) -> None:
        try:
            ask(msgspec.json.encode(body))
        except InputError as error:
            self._note(f"{where} {body}", from_input(error))
        except Problem as problem:
            self._note(f"{where} {body}", problem)

    def _note(self, where: str, problem: Problem) -> None:
        for text in (problem.reason, problem.remedy):
            self.said.setdefault(text, where)

    def create(self, **fields: Any) -> str:
        self._made += 1
        name = f"p{self._made}"
        self._ask(
            "create",
            {"name": name, **fields},
            lambda body: commands.create(self._session, _CREATE.decode(body)),
        )
        return name

    def decide(self, name: str, body: dict[str, Any]) -> None:
        def ask(body: bytes) -> None:
            found = _DECIDE.decode(body)
            batch = isinstance(found, DecideBatch)
            asked = found.requests if isinstance(found, DecideBatch) else [found]
            commands.decide_all(self._session, self._session.book(name), asked, batch)

        self._ask("decide", body, ask)

    def reward(self, name: str, body: dict[str, Any]) -> None:
        def ask(body: bytes) -> None:
            found = _REWARDS.decode(body)
            batch = isinstance(found, RewardBatch)
            told = found.rewards if isinstance(found, RewardBatch) else [found]
            outcomes.reward_all(self._session, self._session.book(name), told, batch)

        self._ask("reward", body, ask)

    def add_arm(self, name: str, body: dict[str, Any]) -> None:
        book = self._session.book(name)
        self._ask(
            "arm", body, lambda body: commands.add_arm(self._session, book, _ARM.decode(body))
        )

    def path(self, name: str, part: str) -> None:
        """Name an arm and a decision in a path."""
        book = self._session.book(name)
        self._ask("arm", part, lambda _: commands.retire_arm(self._session, book, part))
        self._ask("decision", part, lambda _: outcomes.fall_back(self._session, book, part))

    def checkpoint(self, name: str) -> None:
        book = self._session.book(name)
        self._ask("checkpoint", None, lambda _: commands.report_checkpoint(self._session, book))

    def in_python(self) -> Iterator[str]:
        for text, where in self.said.items():
            if PYTHON.search(_QUOTED.sub("''", text)):
                yield f"{text!r} <- {where[:150]}"


@pytest.fixture
def asking() -> Iterator[Asking]:
    with MemoryStore().writing() as log:
        yield Asking(Session(log, Shelf(10_000), Limits(), 1, shared=False))


@pytest.mark.parametrize("kind", POLICIES)
def test_refusals_of_policies(asking: Asking, kind: str) -> None:
    """Every field with every value, and without it."""
    given = POLICIES[kind]
    for field in CreateRequest.__struct_fields__:
        for value in VALUES:
            asking.create(**{**given, field: value})
        asking.create(**{name: value for name, value in given.items() if name != field})
    assert len(asking.said) > 60
    assert list(asking.in_python()) == []


@pytest.mark.parametrize("kind", POLICIES)
def test_refusals_of_rounds(asking: Asking, kind: str) -> None:
    name = asking.create(**POLICIES[kind])
    assert not asking.said
    round_ = {"features": [[0.1, 0.1], [0.2, 0.2]], "baseline": 0, "baseline_mean": 0.2}
    for value in VALUES:
        for field in DecideRequest.__struct_fields__:
            for body in ({field: value}, {**round_, field: value}, {"proposal": "n", field: value}):
                asking.decide(name, body)
            asking.decide(name, {"requests": [{}, {field: value}]})
        asking.decide(name, {"requests": value})
        asking.reward(name, {"decision": value, "reward": 1})
        asking.reward(name, {"decision": "66ad7bb1ee388b00-fe80bc28-5-r", "reward": value})
        asking.reward(name, {"rewards": [{"decision": "x", "reward": value}]})
        asking.reward(name, {"rewards": value})
        for body in ({"name": value}, {"features": value}, {"name": "z", "features": value}):
            asking.add_arm(name, body)
        asking.path(name, str(value))
    asking.checkpoint(name)
    assert len(asking.said) > 20
    assert list(asking.in_python()) == []
