"""The list of answers that are still to be said to be played, on a clock of the test's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from handrail.client.unsaid import Taken, Unsaid


@contextmanager
def carried(said: Unsaid, policy: str) -> Iterator[Taken]:
    """Let a request carry words, as the client does."""
    taken = Taken(said, policy)
    try:
        taken.take()
        yield taken
    finally:
        taken.over = True


def test_words_wait_a_moment_for_a_request_that_takes_them_along() -> None:
    said = Unsaid(room=10)
    said.add("shop", ["a"], now=0.0)
    said.add("shop", ["b"], now=0.1)
    assert said.wait(now=0.2) == pytest.approx(0.3)
    assert said.due(now=0.2) is None
    with carried(said, "shop") as taken:
        assert taken.ids == ["a", "b"]
        assert said.wait(now=0.2) is None  # under way
        taken.heard()
    assert len(said) == 0


def test_a_policy_whose_words_are_due_is_named() -> None:
    said = Unsaid(room=10)
    said.add("shop", ["a"], now=0.3)
    said.add("blog", ["b"], now=0.0)
    assert said.due(now=0.6) == "blog"
    said.hurry(now=0.6)
    with carried(said, "blog") as taken:
        taken.heard()
    assert said.due(now=0.6) == "shop"


def test_while_the_service_is_away_words_are_tried_less_and_less_often_for_an_hour() -> None:
    said = Unsaid(room=10)
    said.add("shop", ["a"], now=0.0)
    now, tries = 0.0, 0
    while (wait := said.wait(now)) is not None:
        now += wait
        with carried(said, "shop") as taken:
            tries += 1
            taken.away(now)
    assert 3_600.0 < now < 3_700.0
    assert tries < 150
    assert (said.said, said.forgotten, len(said)) == (0, 1, 0)


def test_a_pause_does_not_keep_words_from_a_request_that_is_sent_anyhow() -> None:
    said = Unsaid(room=10)
    said.add("shop", ["a"], now=0.0)
    with carried(said, "shop") as taken:
        taken.away(1.0)
    assert said.due(now=1.1) is None
    with carried(said, "shop") as taken:
        assert taken.ids == ["a"]


def test_a_word_forgotten_or_withdrawn_while_it_is_under_way_does_not_come_back() -> None:
    said = Unsaid(room=2)
    said.add("shop", ["a", "b"], now=0.0)
    with carried(said, "shop"):
        said.add("shop", ["c"], now=0.1)  # forgets a
        said.withdraw("shop", ["b"])
    with carried(said, "shop") as taken:
        assert taken.ids == ["c"]
    assert (said.forgotten, len(said)) == (1, 1)
