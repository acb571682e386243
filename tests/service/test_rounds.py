"""What the event of a decision says, beside what the policy knows of it."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.errors import InputError
from handrail.service import rounds
from handrail.service.book import Book
from handrail.service.events import Decided
from handrail.service.limits import Limits
from handrail.service.messages import CreateRequest, DecideRequest
from handrail.service.session import Session
from handrail.service.shelf import Shelf
from memory_store import MemoryStore
from service_logs import START, Writer

ARMS: dict[str, Any] = {"arms": 3, "baseline": 1, "alpha": 0.5, "delta": 0.1}


def book_of(created: CreateRequest) -> Book:
    store = MemoryStore()
    Writer(store, created)
    with store.writing() as log:
        return Session(log, Shelf(10), Limits(), START + 10**9, shared=False).book(created.name)


def decide(book: Book, **said: Any) -> Decided:
    """Decide a round, and count it as the log would."""
    return rounds.decide(book, rounds.ask(book, DecideRequest(**said), Limits()), book.at + 1)


def learn(book: Book, event: Decided, reward: float) -> None:
    found = book.policy.waiting_id(event.round)
    assert found is not None
    book.policy.learn(found, reward)


def test_leaders_are_in_the_units_of_the_rewards() -> None:
    """Rewards between 10 and 14: bounds are 10 + 4 u, margins 4 u."""
    given: dict[str, Any] = {"reward_range": (10.0, 14.0), "baseline_mean": 11.0, "width": "kl"}
    book = book_of(CreateRequest(name="p", algorithm="CUCB", **ARMS, **given))
    seen = 0
    for number in range(60):
        before = book.policy.explain()
        event = decide(book)
        assert event.leader is not None
        if event.event != "baseline":
            assert event.leader == event.action == before.action
            assert event.leader_margin == pytest.approx(before.margin)
            if event.leader_upper is not None:
                seen += 1
                assert event.leader_upper == pytest.approx(before.upper)
                assert event.leader_lower == pytest.approx(before.lower)
                assert event.leader_upper <= 14.0
            learn(book, event, 14.0 - number % 2)
    assert seen > 5


def test_where_only_retired_arms_are_left_nobody_leads() -> None:
    book = book_of(
        CreateRequest(name="p", algorithm="CUCB", **ARMS, baseline_mean=0.4, reward_range=(0, 1))
    )
    book.policy.retire_arm(0)
    assert decide(book).leader == 2
    book.policy.retire_arm(2)
    event = decide(book)
    assert (event.action, event.leader, event.leader_margin) == (1, None, None)
    assert (event.leader_upper, event.leader_lower, event.leader_named) == (None, None, None)


def test_where_the_baseline_is_alone_nobody_leads() -> None:
    told: dict[str, Any] = {"dim": 2, "alpha": 0.9, "delta": 0.1, "theta_bound": 1.0}
    told |= {"reward_range": (0.0, 1.0), "baseline": "old", "baseline_mean": 0.4}
    book = book_of(CreateRequest(name="p", algorithm="LinHANDRAIL", **told))
    event = decide(book, features={"old": [0.5, 0.5]})
    assert (event.named, event.leader, event.leader_named) == ("old", None, None)
    event = decide(book, features={"old": [0.5, 0.5], "new": [0.5, 0.0]})
    assert (event.leader, event.leader_named) == (1, "new")


def test_a_book_counts_its_decisions_by_kind() -> None:
    book = book_of(
        CreateRequest(name="p", algorithm="CUCB", **ARMS, baseline_mean=0.4, reward_range=(0, 1))
    )
    assert (book.saved, sum(book.decisions.values())) == (0, 0)
    kinds = []
    for _ in range(20):
        event = decide(book)
        kinds.append(event.event)
        if event.event != "baseline":
            learn(book, event, 1.0)
    assert len(set(kinds)) > 1
    assert book.decisions == {kind: kinds.count(kind) for kind in book.decisions}


def test_the_baselines_features_are_kept_where_they_are_learned_from() -> None:
    """Of rounds of S: the margin of later rounds rests on them."""
    told: dict[str, Any] = {"dim": 2, "alpha": 0.9, "delta": 0.1, "theta_bound": 1.0}
    told |= {"reward_range": (0.0, 1.0), "baseline_mean": "learned"}
    book = book_of(CreateRequest(name="p", algorithm="LinHANDRAIL", **told))
    rows = [[0.5, 0.0], [0.0, 0.5]]
    kinds = set()
    for _ in range(80):
        event = decide(book, features=rows, baseline=1)
        kinds.add(event.event == "baseline")
        assert event.features == rows[event.action]
        assert event.base == (None if event.event == "baseline" else rows[1])
        learn(book, event, 0.5)
    assert kinds == {True, False}


@pytest.mark.parametrize("leave", [[], ["baseline_mean"], ["baseline"]])
def test_what_was_agreed_is_told_otherwise_only_with_leave(leave: list[str]) -> None:
    given: dict[str, Any] = {"baseline": "old", "alpha": 0.5, "delta": 0.1, "baseline_mean": 0.4}
    given |= {"reward_range": (0.0, 1.0), "may_override": leave}
    book = book_of(CreateRequest(name="p", algorithm="GUARD", **given))
    for field, other in (("baseline", "older"), ("baseline_mean", 0.3)):
        same = {field: given[field], "proposal": "new"}
        assert rounds.ask(book, DecideRequest(**same), Limits()).overrides is None
        said = DecideRequest(**{**same, field: other})
        if field in leave:
            assert rounds.ask(book, said, Limits()).overrides == [field]
        else:
            with pytest.raises(InputError) as caught:
                rounds.ask(book, said, Limits())
            assert caught.value.field == field


def test_who_promises_nothing_has_no_margins() -> None:
    book = book_of(CreateRequest(name="p", algorithm="UCB", arms=3, delta=0.1, reward_range=(0, 1)))
    event = decide(book)
    assert event.leader == event.action
    assert (event.margin, event.leader_margin) == (None, None)


def test_features_of_a_shifted_range_are_folded_as_they_were_decided() -> None:
    """The policy keeps them with a 1 at the end, the log without."""
    told: dict[str, Any] = {"dim": 2, "alpha": 0.9, "delta": 0.1, "theta_bound": 4.0}
    told |= {"reward_range": (1.0, 3.0), "baseline_mean": "learned"}
    created = CreateRequest(name="p", algorithm="LinHANDRAIL", **told)
    book, other = book_of(created), book_of(created)
    other.policy.take_name(book.identity)
    taught = 0
    for number in range(40):
        event = decide(book, features=[[0.5, 0.1 * (number % 3)], [0.1, 0.5]], baseline=1)
        other.policy.replay(other.played(event))
        learn(book, event, 2.0)
        learn(other, event, 2.0)
        taught += event.event != "baseline"
        mine, theirs = (each.policy._state.model.arrays() for each in (book, other))
        for name, values in mine.items():
            assert values.tolist() == theirs[name].tolist(), name
    assert 0 < taught < 40


def test_the_baseline_that_was_agreed() -> None:
    """Of arms its number, of contexts what the definition says, of a guard its name."""
    common: dict[str, Any] = {"alpha": 0.5, "delta": 0.1, "reward_range": (0.0, 1.0)}
    arms = CreateRequest(
        name="p", algorithm="CUCB", arms=["a", "b"], baseline="b", baseline_mean=0.4, **common
    )
    contexts = CreateRequest(
        name="p", algorithm="LinHANDRAIL", dim=2, theta_bound=1.0, baseline="b", **common
    )
    guard = CreateRequest(name="p", algorithm="GUARD", baseline="b", baseline_mean=0.4, **common)
    assert [book_of(each).baseline for each in (arms, contexts, guard)] == [1, "b", "b"]
