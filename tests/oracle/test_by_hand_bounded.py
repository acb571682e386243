"""Bounds for rewards in [0, 1], worked out on paper, put to the oracle itself."""

from __future__ import annotations

import math

import pytest

from oracle.bounded import arm_kl, bernstein, bernstein_variance
from oracle.small import arms

CLOSE = 1e-6


def test_beta_mixture_of_one_and_two_rewards() -> None:
    """B(3/2, 1/2) / B(1/2, 1/2) = (pi / 2) / pi = 1/2, so after one reward of 1 m >= level / 2.

    One 1 and one 0: B(3/2, 3/2) / pi = 1/8, m (1 - m) >= level / 8, m = (1 -+ sqrt(1 - level/2))/2.
    Two of 1: B(5/2, 1/2) / pi = 3/8, m^2 >= 3 level / 8. One of 1/2: B(1, 1) / pi = 1 / pi,
    m (1 - m) >= (level / pi)^2, at level 1/2 (1 - sqrt(1 - 0.1013212)) / 2 = 0.0260067.
    """
    assert arm_kl(1.0, 1, 0.02) == pytest.approx((0.01, 1.0), abs=1e-12)
    assert arm_kl(0.0, 1, 0.02) == pytest.approx((0.0, 0.99), abs=1e-12)
    assert arm_kl(1.0, 2, 0.02) == pytest.approx((0.0025063, 0.9974937), abs=CLOSE)
    assert arm_kl(2.0, 2, 0.02) == pytest.approx((math.sqrt(0.0075), 1.0), abs=1e-12)
    assert arm_kl(0.5, 1, 0.5)[0] == pytest.approx(0.0260067, abs=CLOSE)


def test_beta_mixture_at_the_share_of_an_arm() -> None:
    """Two events share 0.1, two arms share 0.05: level 0.025, lower 0.0125, upper 1."""
    oracle = arms(width="kl")
    oracle.decide(force=0)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert answer.lowers[0] == pytest.approx(0.0125, abs=1e-12)
    assert answer.uppers[0] == 1.0


def test_variance_in_the_order_of_rewards() -> None:
    """1, 0, 1: guesses 1/2, 3/4, 1/2, V = 1/4 + 9/16 + 1/4 = 17/16.

    1, 1, 0: guesses 1/2, 3/4, 5/6, V = 1/4 + 1/16 + 25/36 = 145/144.
    """
    assert bernstein_variance([]) == 0.0
    assert bernstein_variance([1.0, 0.0, 1.0]) == pytest.approx(17 / 16, abs=1e-15)
    assert bernstein_variance([1.0, 1.0, 0.0]) == pytest.approx(145 / 144, abs=1e-15)


def test_bernstein_takes_the_smallest_of_its_grid() -> None:
    """Rates 1/2 and 1/4, weights 1/2, level 0.1: log(1 / 0.05) = 2.9957323.

    psi_E(1/2) = log 2 - 1/2 = 0.1931472, psi_E(1/4) = log(4/3) - 1/4 = 0.0376821. At V = 17/16
    2 (2.9957323 + 0.2052189) = 6.4019023 is below 4 (2.9957323 + 0.0400372) = 12.143078. After 400
    alternating rewards V is near 100, where the other rate is better.
    """
    grid = [(0.5, 0.5), (0.25, 0.5)]
    assert bernstein([1.0, 0.0, 1.0], 0.1, grid) == pytest.approx(6.4019023, abs=CLOSE)
    many = [1.0, 0.0] * 200
    v = bernstein_variance(many)
    assert v == pytest.approx(100, abs=3)
    assert bernstein(many, 0.1, grid) == pytest.approx(4 * (2.9957323 + 0.0376821 * v), abs=1e-4)


def test_bernstein_follows_the_order_of_arrival() -> None:
    """Rounds 1, 3, 2 are paid 1, 1, 0 in that order: V = 145/144, and the past is 2 - psi.

    level 0.05, one rate 1/2 of weight 1: psi = 2 (log 20 + 0.1931472 * 145/144) = 6.3804418, so
    the baseline's margin at t = 4 is 2 - 6.3804418 - (1/2) (3 - 1) = -5.3804418.
    """
    oracle = arms(cumulative="bernstein", bernstein_grid=[(0.5, 1.0)], clip="none")
    for _ in range(3):
        oracle.decide(force=0)
    for number, reward in ((1, 1.0), (3, 1.0), (2, 0.0)):
        oracle.learn(number, reward)
    assert oracle.decide().baseline_margin == pytest.approx(-5.3804418, abs=CLOSE)
