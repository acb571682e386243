"""The interval is the set it says, to the last digits, and holds the mean as often as it says."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from handrail.bounds.arm import WU, arm_width
from handrail.bounds.kl import _threshold, kl_interval
from handrail.records import Floats

RUNS, STEPS, LEVEL = 2000, 1000, 0.1
FALSE_ALARM = 1e-6
"""Probability that an interval which misses exactly as often as allowed is reported; per test."""
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, LEVEL))

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
# B_2k / (2k (2k - 1)), k = 1 to 10: Stirling's series.
STIRLING = [
    Decimal(top) / below
    for top, below in (
        (1, 12),
        (-1, 360),
        (1, 1260),
        (-1, 1680),
        (1, 1188),
        (-691, 360360),
        (1, 156),
        (-3617, 122400),
        (43867, 244188),
        (-174611, 125400),
    )
]


def log_gamma(x: Decimal) -> Decimal:
    """With thirty digits: shifted above 60, where Stirling's series has them."""
    shift = Decimal(1)
    while x < 60:
        shift *= x
        x += 1
    series = sum((c / x ** (2 * k + 1) for k, c in enumerate(STIRLING)), Decimal(0))
    return (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2 + series - shift.ln()


class Exact:
    """The defining function with fifty digits: the interval is where it is not above 0."""

    def __init__(self, count: int, total: float, level: float) -> None:
        self.won, self.lost = Decimal(total), count - Decimal(total)
        half = Decimal("0.5")
        log_beta = log_gamma(self.won + half) + log_gamma(self.lost + half)
        self.base = log_beta - log_gamma(Decimal(count + 1)) - PI.ln() + Decimal(level).ln()

    def __call__(self, mean: Decimal) -> Decimal:
        value = self.base
        if self.won > 0:
            value -= self.won * mean.ln()
        if self.lost > 0:
            value -= self.lost * (1 - mean).ln()
        return value


def check_ends(count: int, total: float, level: float) -> None:
    """Neither end is inside the set, and less than 1e-12 further in both are."""
    lower, upper = kl_interval(count, total, level)
    assert 0.0 <= lower <= total / count <= upper <= 1.0
    with localcontext() as context:
        context.prec = 50
        exact, little = Exact(count, total, level), Decimal("1e-12")
        middle = Decimal(total) / count
        for end, inwards in ((Decimal(lower), little), (Decimal(upper), -little)):
            if 0 < end < 1:
                assert exact(end) >= 0
            within = end + inwards
            if (within - middle) * inwards < 0:
                assert exact(within) <= 0


@pytest.mark.parametrize("level", [0.5, 0.05, 1e-12])
@pytest.mark.parametrize("count", [1, 2, 7, 15, 16, 17, 1000, 10**6, 10**9])
def test_ends_at_the_edges(count: int, level: float) -> None:
    for won in (0.0, 1e-9, 0.3, 1.0, 15.9, 16.1, count / 3.0, count / 2.0):
        if won <= count:
            check_ends(count, won, level)
            check_ends(count, count - won, level)


@given(st.floats(0.0, 9.0), st.floats(0.0, 1.0), st.floats(-12.0, -0.01))
def test_ends_anywhere(digits: float, share: float, level: float) -> None:
    count = int(10.0**digits)
    check_ends(count, count * share, 10.0**level)


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 32, 1000, 10**9])
def test_the_threshold_is_no_smaller_than_it_should_be(count: int) -> None:
    """And larger by less than 2e-13, where both series begin, too."""
    for won in (0.0, 0.5, 1.0, 15.5, 16.0, 16.5, count / 2.0, float(count)):
        if won <= count:
            with localcontext() as context:
                context.prec = 50
                exact, share = Exact(count, won, 0.05), Decimal(won) / count
                fit = -exact(share) if 0 < share < 1 else -exact.base
                assert 0 <= Decimal(_threshold(count, won, 0.05)) - fit < Decimal("2e-13")


@given(st.integers(1, 10_000), st.floats(0.001, 0.999), st.floats(-9.0, -0.1))
def test_against_scipy(count: int, share: float, log_level: float) -> None:
    total, level = share * count, 10.0**log_level
    base = special.betaln(total + 0.5, count - total + 0.5) - math.log(math.pi)

    def defining(mean: float) -> float:
        fit = special.xlogy(total, mean) + special.xlog1py(count - total, -mean)
        return float(base - fit + math.log(level))

    lower, upper = kl_interval(count, total, level)
    if lower > 1e-9:
        found = optimize.brentq(defining, 1e-12, share, xtol=1e-15, rtol=1e-14)
        assert lower == pytest.approx(found, abs=1e-11)
    if upper < 1.0 - 1e-9:
        found = optimize.brentq(defining, share, 1.0 - 1e-12, xtol=1e-15, rtol=1e-14)
        assert upper == pytest.approx(found, abs=1e-11)


def test_values_by_hand() -> None:
    """B(1/2, 3/2) = pi/2, B(1/2, 5/2) = 3 pi/8, B(3/2, 3/2) = pi/8."""
    assert kl_interval(1, 0.0, 0.05) == pytest.approx((0.0, 1.0 - 0.05 / 2.0), abs=1e-12)
    assert kl_interval(2, 0.0, 0.05)[1] == pytest.approx(1.0 - math.sqrt(0.05 * 3.0 / 8.0))
    root = math.sqrt(1.0 - 0.05 / 2.0)
    ends = pytest.approx(((1.0 - root) / 2.0, (1.0 + root) / 2.0), abs=1e-12)
    assert kl_interval(2, 1.0, 0.05) == ends


def test_sums_beyond_the_range_are_taken_as_its_ends() -> None:
    assert kl_interval(10, -1e-9, 0.05) == kl_interval(10, 0.0, 0.05)
    assert kl_interval(10, 10.0 + 1e-9, 0.05) == kl_interval(10, 10.0, 0.05)
    assert kl_interval(10, 5e-324, 0.05) == kl_interval(10, 0.0, 0.05)
    assert kl_interval(10, math.nan, 0.05) == (0.0, 1.0)


@pytest.mark.parametrize("total", [0.0, 5.0, 10.0])
def test_at_no_level_at_all_it_is_everything(total: float) -> None:
    assert kl_interval(10, total, 0.0) == (0.0, 1.0)
    low, high = kl_interval(10, total, 5e-324)
    assert 0.0 <= low <= total / 10 <= high <= 1.0


@given(st.integers(1, 10**9), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(-12.0, -0.1))
def test_it_moves_with_the_sum_and_shrinks_with_the_level(
    count: int, one: float, other: float, log_level: float
) -> None:
    """Up to 2e-13, by which ends may be rounded outwards."""
    level, rounding = 10.0**log_level, 2e-13
    low, high = (kl_interval(count, count * share, level) for share in sorted((one, other)))
    assert low[0] <= high[0] + rounding
    assert low[1] <= high[1] + rounding
    wide = kl_interval(count, count * one, level / 2.0)
    inner = kl_interval(count, count * one, level)
    assert wide[0] <= inner[0] + rounding
    assert wide[1] >= inner[1] - rounding


@given(st.integers(1, 10**6), st.floats(0.0, 1.0))
def test_it_treats_both_sides_alike(count: int, share: float) -> None:
    total = count * share
    lower, upper = kl_interval(count, total, 0.05)
    mirrored = kl_interval(count, count - total, 0.05)
    assert (1.0 - upper, 1.0 - lower) == pytest.approx(mirrored, abs=1e-12)


def test_rare_rewards_need_less_than_the_range_does() -> None:
    lower, upper = kl_interval(10_000, 100.0, 0.05)
    assert upper - lower < 0.3 * 2.0 * arm_width(WU, 10_000, 10_000, 1, 0.5, 0.05, 0.0)


@numba.njit(nogil=True)
def missed(rewards: Floats, mean: float, level: float, factor: float) -> int:
    """Return how many runs have the mean outside at any time, with widths times a factor."""
    runs = 0
    for run in range(rewards.shape[0]):
        total = 0.0
        for i in range(rewards.shape[1]):
            total += rewards[run, i]
            lower, upper = kl_interval(i + 1, total, level)
            seen = total / (i + 1)
            if mean < seen - factor * (seen - lower) or mean > seen + factor * (upper - seen):
                runs += 1
                break
    return runs


def draw(name: str) -> tuple[Floats, float]:
    """Return rewards, a row a run, and their mean."""
    rng = np.random.default_rng(5)
    if name.startswith("bernoulli"):
        mean = float(name.split()[1])
        return (rng.random((RUNS, STEPS)) < mean).astype(float), mean
    if name == "beta":
        return rng.beta(0.1, 0.4, (RUNS, STEPS)), 0.2
    return rng.choice([0.25, 1.0], (RUNS, STEPS), p=[0.8, 0.2]), 0.4


BERNOULLI = ["bernoulli 0.01", "bernoulli 0.5", "bernoulli 0.99"]


@pytest.mark.parametrize("name", [*BERNOULLI, "beta", "two points"])
def test_coverage_at_all_times(name: str) -> None:
    rewards, mean = draw(name)
    assert missed(rewards, mean, LEVEL, 1.0) <= MOST


@pytest.mark.parametrize("name", BERNOULLI)
def test_a_narrower_interval_would_be_caught(name: str) -> None:
    """With 0.7 of the width a third of the runs and more miss."""
    rewards, mean = draw(name)
    assert missed(rewards, mean, LEVEL, 0.7) > MOST
