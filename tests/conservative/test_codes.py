"""Numbers that stand for names: no two names of a kind share one, and places hold what they say."""

from __future__ import annotations

import math
from typing import Any

import pytest

import handrail
from handrail.bounds import arm, cumulative, ellipsoid
from handrail.conservative import baseline, choice, past, schedule, selection

KINDS: dict[str, list[int]] = {
    "arm widths": [*arm.ARM_WIDTHS.values()],
    "cumulative bounds": [*cumulative.CUMULATIVE_BOUNDS.values()],
    "ellipsoids": [*ellipsoid.ELLIPSOID_WIDTHS.values()],
    "knowledge": [baseline.GIVEN, baseline.CONSTANT, baseline.WITHIN],
    "lessons": [baseline.NOTHING, baseline.FROM_REWARDS, baseline.FROM_MEANS],
    "pasts": [*past.PASTS.values()],
    "schedules": [*schedule.SCHEDULES.values(), schedule.REPORTED],
    "selections": [*selection.SELECTIONS.values(), selection.HOLD],
}


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_told_apart(kind: str) -> None:
    assert len(set(KINDS[kind])) == len(KINDS[kind])


def test_events_are_named_by_their_places() -> None:
    named = {
        "optimistic": selection.OPTIMISTIC_EVENT,
        "safe": selection.SAFE_EVENT,
        "baseline": selection.BASELINE_EVENT,
    }
    assert {name: selection.EVENTS.index(name) for name in named} == named


def test_the_places_of_a_choice() -> None:
    """What reasons and the service's log are made of, by name."""
    told: dict[str, Any] = {"arms": 3, "baseline": 1, "alpha": 0.5, "delta": 0.1}
    told |= {"baseline_mean": (0.3, 0.4), "reward_range": (0.0, 1.0), "width": "kl"}
    policy = handrail.make_policy("CUCB", **told)
    held, played = policy.decide().choice, policy.decide().choice
    places = {
        choice.ACTION: (1, 0),
        choice.EVENT: (selection.BASELINE_EVENT, selection.OPTIMISTIC_EVENT),
        choice.MARGIN: (0.5 * 0.3, 0.0),
        choice.UPPER: (0.4, math.inf),
        choice.LOWER: (0.3, 0.0),
        choice.PROMISE: (0.3, 0.0),
        choice.LEADER: (0, 0),
        choice.LEADER_MARGIN: (-0.5 * 0.4, 0.0),
        choice.LEADER_UPPER: (math.inf, math.inf),
        choice.LEADER_LOWER: (0.0, 0.0),
        choice.SAFE: (0, 2),
        choice.FLOOR: (0.3, 0.3),
        choice.MEAN: (0.4, 0.4),
    }
    assert sorted(places) == list(range(len(held)))
    for place, wanted in places.items():
        assert (held[place], played[place]) == pytest.approx(wanted)
