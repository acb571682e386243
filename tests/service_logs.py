"""Logs for tests, written by the service's own commands into whatever database."""

from __future__ import annotations

from typing import Any

import numpy as np

from handrail.errors import InputError
from handrail.policies.catalogue import algorithm
from handrail.policies.outcomes import Because
from handrail.service import commands, outcomes
from handrail.service.book import Book
from handrail.service.limits import Limits
from handrail.service.messages import CreateRequest, DecideRequest, RewardRequest
from handrail.service.session import Session
from handrail.service.shelf import Shelf
from handrail.service.store.protocol import Row, Store
from handrail.testing.world import World
from support import parameters

START = 1_700_000_000_000_000
"""When logs begin, in microseconds since 1970."""
SECOND = 1_000_000
FRUIT = ["apple", "banana", "cherry"]


def fruit(name: str) -> CreateRequest:
    """Return a request to create a policy over three named arms."""
    return CreateRequest(
        name=name,
        algorithm="HANDRAIL",
        arms=FRUIT,
        baseline="apple",
        baseline_mean=0.4,
        alpha=0.5,
        delta=0.1,
        reward_range=(0.0, 1.0),
    )


def request(name: str, algorithm_name: str, setting: str, **changes: Any) -> CreateRequest:
    """Return a request to create a policy, of the parameters that tests of policies use."""
    names = ("mode", "keep_candidates", "may_override")
    own = {key: changes.pop(key) for key in names if key in changes}
    given = parameters(algorithm_name, setting, **changes)
    if setting == "guard" and not isinstance(given.get("baseline_mean"), str):
        own.setdefault("may_override", ["baseline", "baseline_mean"])  # its rounds tell others
    for key, value in given.items():
        if isinstance(value, np.ndarray):
            given[key] = value.tolist()
    return CreateRequest(name=name, algorithm=algorithm_name, **own, **given)


class Writer:
    """Plays rounds of a policy, with rewards at once, late, in any order or never."""

    def __init__(self, store: Store, created: CreateRequest, seed: int = 0) -> None:
        self.store = store
        self.shelf = Shelf(100)
        self.limits = Limits()
        self.now = START
        self.rng = np.random.default_rng(seed)
        self.waiting: list[str] = []
        self.name = created.name
        with store.writing() as log:
            session = self.session(log)
            book = commands.create(session, created)
            session.flush()
        self.world = World(book.policy, seed)
        self.oracle = algorithm(created.algorithm).past == "oracle"

    def session(self, log: Any) -> Session:
        self.now += int(self.rng.integers(0, SECOND))
        return Session(log, self.shelf, self.limits, self.now, shared=False)

    def asked(self, key: str | None = None) -> DecideRequest:
        given = self.world.round()
        if isinstance(given.get("features"), np.ndarray):
            given["features"] = given["features"].tolist()
        if self.world.guard and isinstance(self.world._given.get("baseline_mean"), str):
            del given["baseline"]  # the mean that is learned is that of one
        return DecideRequest(**given, idempotency_key=key)

    def play(self, rounds: int, keys: bool = False, rewards: bool = True) -> Writer:
        """Decide so many rounds."""
        for number in range(rounds):
            with self.store.writing() as log:
                session = self.session(log)
                book = session.book(self.name)
                key = f"key-{number}" if keys else None
                answers = commands.decide_all(session, book, [self.asked(key)])
                if answers[0].awaits_reward:
                    self.waiting.append(answers[0].id)
                if rewards:
                    self._settle(session, book)
                session.flush()
        return self

    def ask(self, *requests: DecideRequest, reward: float | None = None) -> Writer:
        """Decide these rounds, and give each that awaits it the same reward."""
        for each in requests:
            with self.store.writing() as log:
                session = self.session(log)
                book = session.book(self.name)
                (answer,) = commands.decide_all(session, book, [each])
                if reward is not None and answer.awaits_reward:
                    told = [RewardRequest(decision=answer.id, reward=reward)]
                    outcomes.reward_all(session, book, told, batch=False)
                session.flush()
        return self

    def _settle(self, session: Session, book: Book) -> None:
        while self.waiting and self.rng.random() < 0.6:
            id = self.waiting.pop(int(self.rng.integers(len(self.waiting))))
            said = [id] if self.rng.random() < 0.7 else []
            try:
                if self.rng.random() < 0.15:
                    because: Because = "choice" if self.rng.random() < 0.5 else "no-answer"
                    outcomes.fall_back(session, book, id, because)
                elif self.rng.random() < 0.1:  # played, and its reward never comes
                    outcomes.played_all(session, book, [id])
                else:
                    given = [RewardRequest(decision=id, reward=self.world.reward())]
                    outcomes.reward_all(session, book, given, batch=True, played=said)
            except InputError as error:  # pragma: no cover - says which round it was
                raise AssertionError(id) from error

    def do(self, command: Any, *arguments: Any) -> Writer:
        """Do something else to the policy."""
        with self.store.writing() as log:
            session = self.session(log)
            command(session, session.book(self.name), *arguments)
            session.flush()
        return self

    def rows(self) -> list[Row]:
        """Return the log."""
        return rows(self.store, self.name)


def rows(store: Store, name: str) -> list[Row]:
    """Return a policy's log."""
    with store.reading() as reader:
        found = reader.find(name)
        assert found is not None
        return reader.events(found.number)
