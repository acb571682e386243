"""What is shown of a policy, held to what its callers saw."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from handrail.service import commands, outcomes
from handrail.service.limits import Limits
from handrail.service.messages import DecideRequest, RewardRequest
from handrail.service.session import Session
from handrail.service.shelf import Shelf
from handrail.service.views import budget_view, estimates_view, spaced
from memory_store import MemoryStore
from service_support import kinds

ROUNDS = 60


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        *(("HANDRAIL", kind) for kind in ("arms", "named", "learned")),
        *(("LinHANDRAIL", kind) for kind in ("fixed", "many")),
        *(("CUCB2", "arms"), ("CLUCB2", "fixed"), ("UCB", "arms"), ("LinUCB", "fixed")),
    ],
)
def test_plays_and_rewards_of_every_action(algorithm: str, kind: str) -> None:
    """The baseline's rounds are its plays; what is confirmed by no reward is nobody's yet."""
    created = dict(kinds(algorithm))[kind]
    store, shelf, rng = MemoryStore(), Shelf(1), np.random.default_rng(5)
    played: Counter[int | str] = Counter()
    paid: Counter[int | str] = Counter()
    with store.writing() as log:
        session = Session(log, shelf, Limits(), 1, shared=False)
        book = commands.create(session, created)
        conservative = book.conservative
        baseline = book.name_of(book.baseline) if isinstance(book.baseline, int) else None
        for number in range(ROUNDS):
            (answer,) = commands.decide_all(session, book, [DecideRequest()])
            held = answer.event == "baseline" and conservative
            if held:
                played[answer.action] += 1
            elif number % 5 == 0:  # nothing is heard of it
                continue
            elif number % 5 == 1:
                outcomes.fall_back(session, book, answer.id)
                if conservative:
                    assert baseline is not None
                    played[baseline] += 1
                continue
            if answer.awaits_reward:
                given = RewardRequest(decision=answer.id, reward=float(rng.integers(2)))
                outcomes.reward_all(session, book, [given], batch=True)
                if created.window is None:
                    paid[answer.action] += 1
                    if not held:
                        played[answer.action] += 1
        session.flush()
    shown = estimates_view(book, [])
    assert shown.actions is not None
    plays = {each["action"]: each["plays"] for each in shown.actions}
    budget = budget_view(book, [])
    if conservative:
        assert baseline is not None
        assert budget.baseline_rounds == played[baseline] > 0
        assert plays[baseline] >= budget.baseline_rounds
    if created.window is None:
        assert plays == {action: played[action] for action in plays}
        rewards = {each["action"]: each["rewards"] for each in shown.actions}
        if conservative:  # LinHANDRAIL counts rows that it knows without a reward
            del rewards[baseline]
        assert rewards == {action: paid[action] for action in rewards}


@pytest.mark.parametrize(("points", "at_once"), [(1, 3), (10, 3), (60, 7), (100, 500)])
def test_points_are_evenly_spaced_and_read_in_short_pieces(
    points: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.service.views._MANY", at_once)
    pieces = spaced(11, 70, points)
    assert all(1 <= len(piece) <= at_once for piece in pieces)
    rounds = [each for piece in pieces for each in piece]
    assert len(rounds) == min(points, 60)
    assert rounds[-1] == 70
    gaps = {after - before for before, after in pairwise(rounds)}
    assert not gaps or max(gaps) - min(gaps) <= 1
    assert points == 1 or rounds[0] == 11


def test_no_round_no_point() -> None:
    assert spaced(5, 4, 10) == []
