"""Units: what is taken as a number, what is taken as rounding, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from handrail import InputError
from handrail.policies.units import make_units
from support import make

ONES: list[Any] = [1, 1.0, True, np.float32(1.0), np.int64(1), np.bool_(True), np.array(1.0)]


@pytest.mark.parametrize("one", ONES, ids=lambda one: type(one).__name__)
def test_any_kind_of_number_is_a_reward(one: Any) -> None:
    policy = make("UCB", "arms")
    assert policy.learn(policy.decide(), reward=one) == "learned"
    assert policy._state.model.arrays()["sums"].sum() == 1.0


@pytest.mark.parametrize("range_", [(0.0, 1.0), (-10.0, 10.0), (0.1, 0.3), (0.0, 1e6)])
def test_values_at_the_ends_up_to_rounding(range_: tuple[float, float]) -> None:
    """A computed mean or reward may miss an end by rounding, and is then taken as the end."""
    units = make_units(range_, None)
    low, high = range_
    scale = high - low
    for value, inner in ((low, 0.0), (high, 1.0)):
        for missed in (value, value - 1e-13 * scale, value + 1e-13 * scale):
            assert units.mean("mean", missed) == pytest.approx(inner, abs=1e-12)
            assert 0.0 <= units.mean("mean", missed) <= 1.0
            assert 0.0 <= units.reward("reward", missed) <= 1.0
    for outside in (low - 1e-6 * scale, high + 1e-6 * scale):
        with pytest.raises(InputError, match="outside"):
            units.mean("mean", outside)
        with pytest.raises(InputError, match="outside"):
            units.reward("reward", outside)


def test_without_a_range_rewards_may_lie_anywhere_and_means_may_not() -> None:
    policy = make("CUCB2", "arms", reward_range=None, noise=0.3)
    for _ in range(20):
        policy.learn(policy.decide(), reward=-7.0)
    with pytest.raises(InputError, match="baseline_mean"):
        make("CUCB2", "arms", reward_range=None, noise=0.3, baseline_mean=1.2)
    wide = make(
        "CUCB2", "arms", reward_range=None, mean_range=(0.0, 40.0), noise=3.0, baseline_mean=12.0
    )
    assert wide.decide().upper == pytest.approx(12.0)


@pytest.mark.parametrize("field", ["reward_range", "mean_range"])
@pytest.mark.parametrize("range_", [(1e17, 1e17 + 16), (-1e12 - 1, -1e12), (1e9, 1e9 + 0.05)])
def test_a_range_of_a_few_numbers_is_refused(field: str, range_: tuple[float, float]) -> None:
    """Its means would be rounded to its ends: 1e17 + 8 is 1e17."""
    given: dict[str, Any] = {"reward_range": None, "noise": 0.5, "baseline_mean": range_[0]}
    with pytest.raises(InputError, match="too short") as caught:
        make("CUCB2", "arms", **given | {field: range_})
    assert caught.value.field == field


@pytest.mark.parametrize("range_", [(1e9, 1e9 + 1), (-1e9 - 1, -1e9), (-1e-9, 0.0), (0, 5e-5)])
def test_a_short_range_far_from_0_is_taken(range_: tuple[float, float]) -> None:
    middle = 0.5 * (range_[0] + range_[1])
    policy = make("CUCB2", "arms", reward_range=range_, baseline_mean=middle)
    assert policy._settings.known.low == pytest.approx(0.5, abs=1e-6)


def test_noise_is_half_the_range_unless_given() -> None:
    assert make("CUCB2", "arms", reward_range=(0.0, 8.0))._state.model.rules["noise"][0] == 0.5
    given = make("CUCB2", "arms", reward_range=(0.0, 8.0), noise=2.0)
    assert given._state.model.rules["noise"][0] == 0.25


def test_bounds_of_a_linear_model_in_inner_units() -> None:
    """By hand: B = 1.5, D = 2, range (-6, 2): sqrt(1.5^2 + 36) / 8 and sqrt(5), d = 4."""
    rules = make("CLUCB2", "dim", reward_range=(-6.0, 2.0))._state.model.rules
    assert rules["theta_bound"][0] == pytest.approx(np.sqrt(38.25) / 8.0)
    assert rules["feature_bound"][0] == pytest.approx(np.sqrt(5.0))
    assert rules["dim"][0] == 4
    rules = make("CLUCB2", "dim", reward_range=(0.0, 2.0))._state.model.rules
    assert (rules["theta_bound"][0], rules["feature_bound"][0], rules["dim"][0]) == (0.75, 2.0, 3)
