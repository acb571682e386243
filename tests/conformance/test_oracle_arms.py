"""The library against the oracle: one mean per arm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle.catalogue import MEANS
from oracle.pair import by_name, missing
from oracle.problems import Bernoulli, GaussianArms, WanderingBaseline


@pytest.mark.parametrize("name", MEANS)
def test_bernoulli_arms(name: str) -> None:
    """Four problems, one of them long."""
    tallies = []
    for seed, (arms, rank, alpha, rounds) in enumerate(
        [(5, 1, 0.1371, 1000), (2, 0, 0.1137, 400), (8, 2, 0.2213, 400), (6, 1, 0.3719, 400)]
    ):
        problem = Bernoulli(np.random.default_rng([1, seed]), arms=arms, rank=rank, alpha=alpha)
        tallies.append(by_name(name, problem, rounds, seed=seed))
    assert not missing(name, tallies)


@pytest.mark.parametrize("name", MEANS)
def test_gaussian_arms(name: str) -> None:
    """Rewards that may lie outside [0, 1]."""
    tallies = []
    for seed in range(2):
        rng = np.random.default_rng([2, seed])
        problem = GaussianArms(rng, noise=0.2 + 0.2 * seed, rank=seed, alpha=0.1137)
        tallies.append(by_name(name, problem, 700, seed=seed))
    assert not missing(name, tallies)


@pytest.mark.parametrize("name", MEANS)
def test_baseline_given_by_round(name: str) -> None:
    """Any arm may be the baseline of a round, so that a baseline may have been explored before."""
    rng = np.random.default_rng(3)
    problem = WanderingBaseline(rng, rank=1, alpha=0.1137, baseline_lower=0.02)
    tally = by_name(name, problem, 500)
    assert not missing(name, [tally])
    if name == "CUCB-L":
        assert tally.events["safe"]


@pytest.mark.parametrize("name", MEANS)
def test_exact_zero_margins(name: str) -> None:
    """Numbers that binary fractions hold: a margin of exactly 0 is safe, and no tie is needed."""
    problem = Bernoulli(np.random.default_rng(4), arms=3, rank=1)
    problem.chances = np.array([0.25, 0.5, 0.75])
    exact: dict[str, Any] = {
        "baseline": 1,
        "baseline_mean": 0.5,
        "alpha": 0.25,
        "checkpoint_every": 4,
    }
    tally = by_name(name, problem, 100, true_means=problem.chances, **exact)
    assert tally.ties == 0
