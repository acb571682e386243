"""The boundaries hold at all times together, as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from handrail.bounds.arm import ARM_WIDTHS, TWO_ZETA_3, arm_width
from handrail.bounds.cumulative import CUMULATIVE_BOUNDS, SPENT_ONE_SIDED, cumulative
from handrail.bounds.mixture import mixture_rho, one_sided_mixture, two_sided_mixture
from handrail.records import Floats

RUNS, STEPS, LEVEL = 4000, 600, 0.2
FALSE_ALARM = 1e-6
"""Probability that a boundary which fails exactly as often as allowed is reported; per test."""
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, LEVEL))


def walks(noise: str) -> Floats:
    """Sums of noise of unit variance proxy, one row a run."""
    rng = np.random.default_rng(11)
    if noise == "gaussian":
        steps = rng.standard_normal((RUNS, STEPS))
    else:
        steps = rng.choice([-1.0, 1.0], (RUNS, STEPS))
    return np.cumsum(steps, axis=1)


def rho(level: float) -> float:
    return mixture_rho(100.0, level)


@pytest.mark.parametrize("noise", ["gaussian", "coin"])
@pytest.mark.parametrize("name", CUMULATIVE_BOUNDS)
def test_cumulative_bounds(name: str, noise: str) -> None:
    spent = 1.0 if name == "mixture" else SPENT_ONE_SIDED
    code, level = CUMULATIVE_BOUNDS[name], LEVEL / spent
    bound = np.array([cumulative(code, s, 1.0, level, rho(LEVEL)) for s in range(1, STEPS + 1)])
    crossed = int((walks(noise) > bound).any(axis=1).sum())
    assert crossed <= MOST
    # A quarter of the bound is no bound: the test can fail.
    assert int((walks(noise) > bound / 4.0).any(axis=1).sum()) > MOST


@pytest.mark.parametrize("noise", ["gaussian", "coin"])
@pytest.mark.parametrize("name", ["wu", "mixture"])
def test_arm_widths(name: str, noise: str) -> None:
    """Five arms, both sides, all counts: the share of runs with any interval missed."""
    arms = 5
    level = LEVEL / (TWO_ZETA_3 if name == "wu" else 1.0)
    widths = np.array(
        [
            arm_width(ARM_WIDTHS[name], n, n, arms, 1.0, level, rho(level / arms))
            for n in range(1, STEPS + 1)
        ]
    )
    means = walks(noise) / np.arange(1, STEPS + 1)
    groups = RUNS // arms

    def missed(width: Floats) -> int:
        each = np.any(np.abs(means) > width, axis=1).reshape(groups, arms)
        return int(np.any(each, axis=1).sum())

    most = stats.binom.isf(FALSE_ALARM, groups, LEVEL)
    assert missed(widths) <= most
    assert missed(widths / 4.0) > most


def test_wu_spends_two_zeta_three() -> None:
    """Union of two-sided Hoeffding bounds: sum_N 2 K exp(-log(K N^3/level)) = 2 zeta(3) level."""
    counts = np.arange(1, 10**6, dtype=float)
    assert pytest.approx(2.0 * np.sum(counts**-3.0), abs=1e-9) == TWO_ZETA_3


def test_the_paper_spends_055_of_its_delta_on_one_side() -> None:
    """sum_s exp(-log(3 s^2/level)) = level pi^2/18."""
    counts = np.arange(1, 10**7, dtype=float)
    assert pytest.approx(np.sum(1.0 / (3.0 * counts**2)), abs=1e-7) == SPENT_ONE_SIDED


def test_values_by_hand() -> None:
    """Numbers worked out by hand from the formulas."""
    # sigma sqrt(2 s L) + 2L/3 with s = 4, L = log(48/0.01) = 8.476371
    assert cumulative(0, 4, 0.5, 0.01, 0.0) == pytest.approx(4.117371 + 5.650914, abs=1e-5)
    assert cumulative(1, 4, 0.5, 0.01, 0.0) == pytest.approx(4.117371, abs=1e-5)
    assert cumulative(1, 0, 0.5, 0.01, 0.0) == 0.0
    assert cumulative(2, 0, 0.5, 0.01, 1.0) == 0.0
    # s = 0 counts as 1 in the logarithm: 2/3 log(300)
    assert cumulative(0, 0, 0.5, 0.01, 0.0) == pytest.approx(2.0 / 3.0 * math.log(300.0))
    # 0.5 sqrt(2 log(10 * 8 / 0.01) / 2)
    assert arm_width(0, 2, 99, 10, 0.5, 0.01, 0.0) == pytest.approx(0.5 * math.sqrt(8.987197))
    assert arm_width(1, 2, 100, 10, 0.5, 0.01, 0.0) == pytest.approx(math.sqrt(math.log(100.0)))


@pytest.mark.parametrize("level", [0.3, 0.01, 1e-6])
def test_rho_is_tightest_where_asked(level: float) -> None:
    best = mixture_rho(50.0, level)
    at = [two_sided_mixture(50.0, best * factor, level) for factor in (0.8, 1.0, 1.25)]
    assert at[1] == min(at)


def test_one_sided_is_below_two_sided_and_both_grow() -> None:
    for variance in (1.0, 10.0, 1000.0):
        one = one_sided_mixture(variance, 10.0, 0.05)
        assert one < two_sided_mixture(variance, 10.0, 0.05)
        assert one < one_sided_mixture(variance + 1.0, 10.0, 0.05)


def test_a_tiny_level_stays_finite() -> None:
    assert math.isfinite(two_sided_mixture(10.0, mixture_rho(10.0, 1e-300), 1e-300))
    assert math.isfinite(arm_width(0, 10**9, 1, 10, 0.5, 1e-12, 1.0))
