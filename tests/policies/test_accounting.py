"""Spending delta: the levels by hand, and the total that is promised."""

from __future__ import annotations

import math
from typing import Any

import pytest

import handrail
from handrail.policies.accounting import Levels, events, spend
from support import make

ZETA_3 = 1.2020569031595943


def levels(name: str, accounting: str, **options: Any) -> Levels:
    linear = handrail.algorithm(name).estimator == "linear"
    width = options.pop("width", "paper" if linear else "wu")
    cumulative = options.pop("cumulative", "paper")
    weights = options.pop("weights", None)
    row = handrail.algorithm(name)
    return spend(
        row, events(row, False, False, False), accounting, 0.01, width, cumulative, weights
    )


def test_union_by_hand() -> None:
    # One event: all of delta goes to the arms, at the level where `wu` is proved.
    assert levels("CUCB", "union")[0] == pytest.approx(0.01 / (2 * ZETA_3))
    # Two events: half each; psi one-sided spends pi^2/18 of what is put into it.
    assert levels("CUCB2", "union")[:2] == pytest.approx(
        (0.005 / (2 * ZETA_3), 0.005 * 18 / math.pi**2)
    )
    assert levels("CLUCB2", "union")[:2] == pytest.approx((0.005, 0.005 * 18 / math.pi**2))
    assert levels("CLUCB2", "union", cumulative="mixture")[:2] == pytest.approx((0.005, 0.005))
    assert levels("CLUCB", "union")[0] == pytest.approx(0.01)
    assert levels("UCB", "union")[0] == pytest.approx(0.01 / (2 * ZETA_3))
    weights = {"estimator": 3.0, "martingale": 1.0}
    assert levels("CLUCB2", "union", weights=weights)[:2] == pytest.approx(
        (0.0075, 0.0025 * 18 / math.pi**2)
    )


def test_paper_puts_delta_everywhere_and_says_what_that_adds_up_to() -> None:
    assert levels("CLUCB2", "paper")[:2] == (0.01, 0.01)
    assert levels("CLUCB2", "paper").failure == pytest.approx(0.01 * (1 + math.pi**2 / 18))
    assert levels("CUCB2", "paper").failure == pytest.approx(0.01 * (2 * ZETA_3 + math.pi**2 / 18))
    assert levels("CUCB", "paper", width="mixture").failure == pytest.approx(0.01)


@pytest.mark.parametrize("name", ["CUCB", "CUCB-L", "CUCB-S", "CUCB-M", "CUCB2", "CUCB2T"])
@pytest.mark.parametrize("width", ["wu", "mixture"])
def test_union_never_exceeds_delta(name: str, width: str) -> None:
    assert make(name, "arms", width=width).failure_probability == pytest.approx(0.1)


def test_a_probability_is_at_most_one() -> None:
    assert make("CUCB", "arms", delta=0.9, accounting="paper").failure_probability == 1.0


def test_who_promises_nothing_and_who_cannot_fail() -> None:
    assert make("UCB", "arms").failure_probability is None
    assert make("LinUCB", "dim").failure_probability is None
    assert make("CUCB-Or", "arms").failure_probability == 0.0
    assert make("CLUCB2", "dim").failure_probability == pytest.approx(0.1)


INTERVAL: dict[str, Any] = {"baseline_mean": (0.4, 0.6), "learn_baseline": True}


def test_an_oracle_pays_for_the_bounds_that_cut_an_interval() -> None:
    """What the rewards of baseline rounds say of the baseline's mean is said with probability."""
    for name in ("CUCB-Or", "HANDRAIL-Or"):
        assert make(name, "arms", **INTERVAL).failure_probability == pytest.approx(0.1)
    paper = make("CUCB-Or", "arms", accounting="paper", **INTERVAL)
    assert paper.failure_probability == pytest.approx(0.1 * 2 * ZETA_3)
    wrong = make("CUCB-Or", "arms", baseline_delta=0.04, **INTERVAL)
    assert wrong.failure_probability == pytest.approx(0.1)
    assert wrong._settings.rules["estimator_level"][0] == pytest.approx(0.06 / (2 * ZETA_3))
    with pytest.warns(handrail.NoGuaranteeWarning, match="no proved level"):
        assert make("CUCB-Or", "arms", width="ucb1", **INTERVAL).failure_probability is None
    # These cut nothing.
    assert make("CUCB-Or", "arms", baseline_mean=(0.4, 0.6)).failure_probability == 0.0
    assert make("CUCB-Or", "arms", learn_baseline=True).failure_probability == 0.0
    point = {**INTERVAL, "baseline_mean": (0.5, 0.5)}
    assert make("CUCB-Or", "arms", **point).failure_probability == 0.0
    assert make("CLUCB-Or", "features", **INTERVAL).failure_probability == 0.0


def test_such_an_oracle_shares_delta_with_random_gaps() -> None:
    row = handrail.Algorithm("or-t", "means", "oracle", "constrained", "checkpoints")
    gaps: dict[str, Any] = {
        "checkpoint_every": None,
        "checkpoint_gap": {"law": "poisson", "args": [50]},
        "width": "mixture",
    }
    policy = make(row, "arms", **gaps, **INTERVAL)
    assert policy.failure_probability == pytest.approx(0.1)
    assert policy._settings.rules["estimator_level"][0] == pytest.approx(0.05)
    assert policy._settings.schedule is not None
    assert policy._settings.schedule.delta == pytest.approx(0.05)
    weights = {"estimator": 3.0, "schedule": 1.0}
    weighed = make(row, "arms", delta_weights=weights, **gaps, **INTERVAL)
    assert weighed._settings.rules["estimator_level"][0] == pytest.approx(0.075)
    alone = make(row, "arms", **gaps)
    assert alone._settings.schedule is not None
    assert alone._settings.schedule.delta == pytest.approx(0.1)
