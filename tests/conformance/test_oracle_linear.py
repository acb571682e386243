"""The library against the oracle: ridge regression over fixed arms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle.catalogue import LINEAR
from oracle.pair import by_name, missing
from oracle.problems import LinearArms, WanderingLinear


@pytest.mark.parametrize("name", LINEAR)
def test_more_arms_than_dimensions(name: str) -> None:
    """K > d."""
    tallies = []
    for seed, (arms, dim, rank, rounds) in enumerate([(8, 4, 0, 1000), (9, 2, 1, 400)]):
        rng = np.random.default_rng([10, seed])
        problem = LinearArms(rng, arms=arms, dim=dim, rank=rank, alpha=0.1137)
        tallies.append(by_name(name, problem, rounds, seed=seed))
    assert not missing(name, tallies)


@pytest.mark.parametrize("name", LINEAR)
def test_fewer_arms_than_dimensions(name: str) -> None:
    """K < d."""
    tallies = []
    for seed, (arms, dim, rank, rounds) in enumerate([(5, 7, 1, 1000), (6, 12, 0, 400)]):
        rng = np.random.default_rng([11, seed])
        problem = LinearArms(rng, arms=arms, dim=dim, rank=rank, noise=0.2, alpha=0.1137)
        tallies.append(by_name(name, problem, rounds, seed=seed))
    assert not missing(name, tallies)


@pytest.mark.parametrize("name", LINEAR)
def test_baseline_given_by_round(name: str) -> None:
    """Any arm may be the baseline of a round, so that a baseline may have been explored before."""
    tallies = []
    for seed in (1, 6):
        rng = np.random.default_rng([9, seed])
        more: dict[str, Any] = {"alpha": 0.0513, "baseline_lower": 0.0}
        problem = WanderingLinear(rng, arms=5, dim=3, rank=0, noise=0.6, **more)
        tallies.append(by_name(name, problem, 500, seed=seed))
    assert not missing(name, tallies)
    if name == "CLUCB-L":
        assert any(tally.events["safe"] for tally in tallies)


@pytest.mark.parametrize("name", LINEAR)
def test_one_dimension(name: str) -> None:
    """d = 1, where the default width is the determinant's."""
    rng = np.random.default_rng(12)
    by_name(name, LinearArms(rng, arms=4, dim=1, rank=1), 200)


@pytest.mark.parametrize("name", LINEAR)
def test_declared_feature_bound(name: str) -> None:
    """A declared bound on the features stands in place of the largest norm."""
    rng = np.random.default_rng(13)
    by_name(name, LinearArms(rng, arms=5, dim=3, rank=1, feature_bound=3.0, ridge=2.0), 200)
