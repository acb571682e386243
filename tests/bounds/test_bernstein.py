"""The bound is the least of its lines and holds, whatever the means do, as often as it says."""

from __future__ import annotations

import math
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.boundaries import gamma_exponential, single_line, stitched
from handrail.bounds.bernstein import bernstein, bernstein_lines
from handrail.records import Floats

RUNS, STEPS, LEVEL = 2000, 4000, 0.1
FALSE_ALARM = 1e-6
"""Probability that a bound which is crossed exactly as often as allowed is reported; per test."""
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, LEVEL))

FIXED, BLOCKS, CHASING, CALM = range(4)
LINES = np.array(bernstein_lines())


def psi(slope: Floats) -> Floats:
    """Return -log(1 - l) - l, by its series where the difference would lose digits."""
    series = sum(slope**j / j for j in range(2, 8))
    return np.where(slope < 0.01, series, -np.log1p(-slope) - slope)


def least(variation: float, level: float) -> float:
    """Return the minimum over the whole grid, from the formula."""
    slopes, weights = LINES.T
    return float(np.min((-np.log(weights * level) + psi(slopes) * variation) / slopes))


VARIATIONS = st.one_of(st.just(0.0), st.floats(-2.0, 14.0).map(lambda digits: 10.0**digits))
LEVELS = st.floats(-12.0, -0.01).map(lambda digits: 10.0**digits)


@given(VARIATIONS, LEVELS)
def test_it_is_the_least_of_its_lines(variation: float, level: float) -> None:
    assert bernstein(variation, level) == pytest.approx(least(variation, level), rel=1e-12)


def test_weights_spend_no_more_than_there_is() -> None:
    """In exact arithmetic."""
    assert Fraction(99, 100) < sum(Fraction(weight) for _, weight in bernstein_lines()) <= 1
    assert all(0.0 < slope < 1.0 and weight > 0.0 for slope, weight in bernstein_lines())


def test_the_inequality_behind_each_line() -> None:
    """exp(l y - psi(l) y^2) <= 1 + l y for all y >= -1, up to rounding."""
    y = np.linspace(-1.0, 1.0, 2001)
    for slope in LINES[:, 0]:
        left = np.exp(slope * y - psi(slope) * y * y)
        assert np.all(left <= (1.0 + slope * y) * (1.0 + 1e-15))


@given(VARIATIONS, VARIATIONS, LEVELS, LEVELS)
def test_it_grows(one: float, other: float, level: float, another: float) -> None:
    """With V and with 1 / level, not even rounding excepted."""
    low, high = sorted((one, other))
    rare, often = sorted((level, another))
    assert 0.0 < bernstein(low, often) <= bernstein(high, often) <= bernstein(high, rare)


@given(st.floats(0.01, 1e12), LEVELS)
def test_it_grows_from_one_number_to_the_next(variation: float, level: float) -> None:
    after = math.nextafter(variation, math.inf)
    assert bernstein(variation, level) <= bernstein(after, level)


def test_values_at_the_edges() -> None:
    """At V = 0 the steepest line is the least: log(1 / (w level)) / 0.9 with w = 2.2 / 6."""
    assert bernstein(0.0, 0.05) == pytest.approx(math.log(6.0 / 2.2 / 0.05) / 0.9)
    assert math.isfinite(bernstein(1e18, 1e-12))
    assert math.isnan(bernstein(math.nan, 0.05))


@pytest.mark.parametrize("level", [1e-1, 1e-2, 1e-4, 1e-6])
def test_tightness(level: float) -> None:
    """Within the measured range of other bounds; no line alone can be below the best line's."""
    for variation in (0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7):
        bound = bernstein(variation, level)
        assert bound >= single_line(variation, level) * (1.0 - 1e-9)
        assert bound <= 1.45 * gamma_exponential(variation, level, 10.0)
        assert bound <= 1.05 * stitched(variation, level)


@numba.njit(nogil=True)
def crossed(uniforms: Floats, level: float, factor: float, rule: int, mean: float) -> int:
    """Return how many runs cross a factor times the bound; the rule chooses means and predictions.

    `BLOCKS` swaps the mean every 50 rounds, `CHASING` plays for the largest variance as soon as the
    sum is half way to the bound, `CALM` predicts 1, so that only a reward of 0 counts as variation.
    """
    runs = 0
    for run in range(uniforms.shape[0]):
        excess, variation, total = 0.0, 0.0, 0.0
        for i in range(uniforms.shape[1]):
            predicted = 1.0 if rule == CALM else (total + 0.5) / (i + 1)
            now = mean
            if rule == BLOCKS and (i // 50) % 2 == 0:
                now = 1.0 - mean
            if rule == CHASING and excess > 0.5 * factor * bernstein(variation, level):
                now = 0.5
            reward = 1.0 if uniforms[run, i] < now else 0.0
            excess += reward - now
            variation += (reward - predicted) ** 2
            total += reward
            if excess > factor * bernstein(variation, level):
                runs += 1
                break
    return runs


@pytest.fixture(scope="module")
def uniforms() -> Floats:
    return np.random.default_rng(7).random((RUNS, STEPS))


@pytest.mark.parametrize("mean", [0.01, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("rule", [FIXED, BLOCKS, CHASING, CALM])
def test_coverage_at_all_times(uniforms: Floats, rule: int, mean: float) -> None:
    assert crossed(uniforms, LEVEL, 1.0, rule, mean) <= MOST


@pytest.mark.parametrize("rule", [FIXED, CALM])
def test_a_lower_bound_would_be_caught(uniforms: Floats, rule: int) -> None:
    """0.7 of the bound is crossed by 18 to 20 % of the runs."""
    assert crossed(uniforms, LEVEL, 0.7, rule, 0.9) > MOST


def test_coverage_of_rewards_between_the_ends() -> None:
    """Beta-distributed and two-point rewards whose means walk, predicted by the last reward."""
    rng = np.random.default_rng(8)
    means = 0.5 + 0.4 * np.sin(np.arange(STEPS) / 30.0)
    between = rng.beta(2.0 * means, 2.0 * (1.0 - means), (RUNS, STEPS))
    low = np.minimum(means, 0.25)
    share = (means - low) / (1.0 - low)
    points = np.where(rng.random((RUNS, STEPS)) < share, 1.0, low)
    levels = np.vectorize(lambda variation: bernstein(variation, LEVEL))
    grid = np.linspace(0.0, float(STEPS), 40_001)
    bounds = levels(grid)
    for rewards in (between, points):
        before = np.hstack([np.full((RUNS, 1), 0.5), rewards[:, :-1]])
        variation = np.cumsum((rewards - before) ** 2, axis=1)
        # The bound is monotone: at the grid's number below V it is no larger.
        bound = bounds[np.floor(variation * 10.0).astype(int)]
        over = np.any(np.cumsum(rewards - means, axis=1) > bound, axis=1)
        assert int(over.sum()) <= MOST
