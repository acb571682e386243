"""Selections: what the rules promise, whatever the bounds and margins are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.conservative.selection import (
    CONSTRAINED,
    LARGEST_LOWER,
    LARGEST_LOWER_LITERAL,
    SELECTIONS,
    TWO_STEP,
    awaited,
    leads,
    most_optimistic,
    select,
)
from handrail.records import Floats

# Few distinct values, so that ties are common.
VALUE = st.sampled_from([0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Floats, Floats, int, float]:
    actions = draw(st.integers(1, 6))
    lower = np.array(draw(st.lists(VALUE, min_size=actions, max_size=actions)))
    upper = lower + np.array(draw(st.lists(VALUE, min_size=actions, max_size=actions)))
    if draw(st.booleans()):
        upper[draw(st.integers(0, actions - 1))] = math.inf
    margin = np.array(
        draw(st.lists(st.sampled_from([-1.0, -0.1, 0.0, 0.3]), min_size=actions, max_size=actions))
    )
    return upper, lower, margin, draw(st.integers(0, actions - 1)), draw(VALUE)


def chosen(selection: int, problem: tuple[Floats, Floats, Floats, int, float]) -> int:
    upper, lower, margin, baseline, mean = problem
    leader = most_optimistic(upper, baseline)
    return int(select(selection, upper, lower, margin, baseline, mean, mean, leader))


@given(problems())
def test_only_safe_actions_or_the_baseline(
    problem: tuple[Floats, Floats, Floats, int, float],
) -> None:
    _, _, margin, baseline, _ = problem
    for selection in list(SELECTIONS.values())[1:]:
        action = chosen(selection, problem)
        assert action == baseline or margin[action] >= 0.0


@given(problems())
def test_constrained_is_never_less_optimistic_than_two_step(
    problem: tuple[Floats, Floats, Floats, int, float],
) -> None:
    upper, _, _, baseline, mean = problem
    known = upper.copy()
    known[baseline] = mean
    assert known[chosen(CONSTRAINED, problem)] >= known[chosen(TWO_STEP, problem)]


@given(problems())
def test_largest_lower_leaves_two_step_only_for_something_surely_better(
    problem: tuple[Floats, Floats, Floats, int, float],
) -> None:
    _, lower, _, baseline, mean = problem
    two_step, action = chosen(TWO_STEP, problem), chosen(LARGEST_LOWER, problem)
    assert action == two_step or (two_step == baseline and lower[action] > mean)


@given(problems())
def test_literal_reading_differs_only_where_no_lower_bound_exceeds_the_baseline(
    problem: tuple[Floats, Floats, Floats, int, float],
) -> None:
    _, lower, _, baseline, mean = problem
    compared, literal = chosen(LARGEST_LOWER, problem), chosen(LARGEST_LOWER_LITERAL, problem)
    assert compared == literal or (compared == baseline and lower[literal] <= mean)


@given(problems())
def test_the_baseline_is_most_optimistic_only_above_every_upper_bound(
    problem: tuple[Floats, Floats, Floats, int, float],
) -> None:
    """With everything safe, the baseline is played exactly then; equality goes to the action."""
    upper, lower, margin, baseline, mean = problem
    safe = np.zeros_like(margin)
    others = np.delete(upper, baseline)
    above = bool((mean > others).all())
    for selection in list(SELECTIONS.values())[1:]:
        action = chosen(selection, (upper, lower, safe, baseline, mean))
        assert (action == baseline) == above


@given(problems())
def test_ties_go_to_the_lowest_index(problem: tuple[Floats, Floats, Floats, int, float]) -> None:
    upper, lower, margin, baseline, mean = problem
    flat = np.full_like(upper, 1.5)
    action = chosen(CONSTRAINED, (flat, lower, np.abs(margin), baseline, mean))
    others = [a for a in range(len(flat)) if a != baseline]
    assert action == (others[0] if others else baseline)


@given(problems(), st.floats(0.0, 2.0))
def test_more_margin_never_makes_constrained_less_optimistic(
    problem: tuple[Floats, Floats, Floats, int, float], gift: float
) -> None:
    upper, lower, margin, baseline, mean = problem
    known = upper.copy()
    known[baseline] = mean
    before = chosen(CONSTRAINED, problem)
    after = chosen(CONSTRAINED, (upper, lower, margin + gift, baseline, mean))
    assert known[after] >= known[before]


@given(problems())
def test_a_margin_that_is_not_a_number_is_not_safe(
    problem: tuple[Floats, Floats, Floats, int, float],
) -> None:
    upper, lower, margin, baseline, mean = problem
    unknown = np.full_like(margin, math.nan)
    for selection in list(SELECTIONS.values())[1:]:
        assert chosen(selection, (upper, lower, unknown, baseline, mean)) == baseline


@given(problems(), st.sampled_from(sorted(SELECTIONS.values())[1:]), st.floats(-1.5, 1.5))
def test_the_baseline_is_left_when_an_awaited_action_becomes_safe(
    problem: tuple[Floats, Floats, Floats, int, float], selection: int, lift: float
) -> None:
    upper, lower, certified, baseline, mean = problem
    margin = certified + lift
    leader = most_optimistic(upper, baseline)
    action = select(selection, upper, lower, margin, baseline, mean, mean, leader)
    top = awaited(selection, upper, lower, certified, baseline, mean)
    assert (action != baseline) == (top + lift >= 0.0)


@given(
    st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 1.0, math.inf]), max_size=34),
    st.integers(-1, 34),
    st.integers(-1, 34),
)
def test_the_first_of_the_largest(values: list[float], skip: int, other: int) -> None:
    """Of any number of actions: eight at a time or one by one, ties go to the lowest index."""
    left = [k for k in range(len(values)) if k not in (skip, other)]
    expected = max(left, key=lambda k: values[k], default=-1)
    assert most_optimistic(np.array(values, float), skip, other) == expected


def test_a_margin_of_exactly_0_is_safe_for_those_who_do_not_lead() -> None:
    """The largest safe upper or lower bound, where the leader is not safe."""
    upper, lower = np.array([0.9, 0.8, 0.7, 0.5]), np.array([0.1, 0.6, 0.65, 0.5])
    margin = np.array([-0.1, 0.0, 0.0, math.nan])
    found = {
        name: select(SELECTIONS[name], upper, lower, margin, 3, 0.5, 0.5, 0)
        for name in ("two-step", "constrained", "largest-lower", "largest-lower-literal")
    }
    wanted = {"two-step": 3, "constrained": 1, "largest-lower": 2, "largest-lower-literal": 2}
    assert found == wanted


def test_action_0_is_played_though_another_leads() -> None:
    """The leader, action 1, is not safe; action 2 is the baseline, whose mean is 0.5."""
    margin = np.array([0.1, -0.1, math.nan])
    upper, lower = np.array([0.75, 0.9, 0.5]), np.array([0.625, 0.1, 0.5])
    for selection in (CONSTRAINED, LARGEST_LOWER, LARGEST_LOWER_LITERAL):
        assert select(selection, upper, lower, margin, 2, 0.5, 0.5, 1) == 0


@pytest.mark.parametrize("safe", [0, 1])
def test_constrained_prefers_an_action_to_the_baseline_at_equality(safe: int) -> None:
    """Though another leads; one whose upper bound is less than the mean is not played."""
    leader, baseline, mean = 1 - safe, 2, 0.5
    upper, lower, margin = np.full(3, 0.5), np.zeros(3), np.full(3, 0.1)
    upper[leader], margin[leader] = 0.75, -0.1
    assert select(CONSTRAINED, upper, lower, margin, baseline, mean, mean, leader) == safe
    upper[safe] = math.nextafter(mean, 0.0)
    assert select(CONSTRAINED, upper, lower, margin, baseline, mean, mean, leader) == baseline


@pytest.mark.parametrize("selection", sorted(SELECTIONS.values())[1:])
def test_nothing_is_awaited_where_the_baseline_is_above_every_upper_bound(selection: int) -> None:
    """It is played to the end, whatever margins become; one that is as high may be left."""
    upper, lower, certified = np.array([0.4, 0.3, 0.5]), np.zeros(3), np.array([-0.1, 0.2, 0.0])
    assert awaited(selection, upper, lower, certified, 2, math.nextafter(0.4, 1.0)) == -math.inf
    assert awaited(selection, upper, lower, certified, 2, 0.4) > -math.inf


def test_largest_lower_prefers_the_baseline_at_equality() -> None:
    upper, lower = np.array([0.75, 0.9, 0.5]), np.array([0.5, 0.1, 0.5])
    margin = np.array([0.1, -0.1, math.nan])
    assert select(LARGEST_LOWER, upper, lower, margin, 2, 0.5, 0.5, 1) == 2
    lower[0] = math.nextafter(0.5, 1.0)
    assert select(LARGEST_LOWER, upper, lower, margin, 2, 0.5, 0.5, 1) == 0


@pytest.mark.parametrize("size", [3, 8, 9, 17, 24, 33])
def test_two_may_be_left_out_wherever_they_stand(size: int) -> None:
    """The largest of all, and the largest of the others, whatever the size of a vector is."""
    rng = np.random.default_rng(size)
    for _ in range(60):
        upper = rng.permutation(size) / 2.0
        first, second, third = np.argsort(-upper)[:3]
        assert most_optimistic(upper, -1) == first
        assert most_optimistic(upper, int(first)) == second
        assert most_optimistic(upper, int(first), int(second)) == third
        assert most_optimistic(upper, int(second), int(first)) == third
    none = np.full(size, -math.inf)
    assert most_optimistic(none, -1) == 0
    assert most_optimistic(none, 0) == 1


def test_a_leader_leads_as_long_as_it_would_be_found() -> None:
    for first, second in ((0.5, 0.4), (0.4, 0.5), (0.5, 0.5)):
        upper = np.array([first, second])
        for leader, rival in ((0, 1), (1, 0)):
            assert bool(leads(upper, leader, rival)) is (most_optimistic(upper, -1) == leader)
    assert leads(np.array([0.1]), 0, -1)
