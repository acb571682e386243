"""The library against the oracle: features, number of actions and baseline new every round."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.catalogue import CATALOGUE, LINEAR
from oracle.pair import by_name, missing
from oracle.problems import Contexts


@pytest.mark.parametrize("name", LINEAR)
def test_contexts(name: str) -> None:
    """Three problems, one of them long."""
    tallies = []
    truth = CATALOGUE[name].past == "oracle"
    for seed, (dim, noise, alpha, rounds) in enumerate(
        [(5, 0.3, 0.1137, 1000), (2, 0.1, 0.2213, 400), (6, 0.5, 0.3719, 400)]
    ):
        rng = np.random.default_rng([20, seed])
        problem = Contexts(rng, dim=dim, noise=noise, alpha=alpha, tell_truth=truth)
        tallies.append(by_name(name, problem, rounds, seed=seed))
    assert not missing(name, tallies)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("reward_range", [(0.0, 5.0), (-10.0, 10.0), (2.0, 3.0)])
def test_contexts_in_units(name: str, reward_range: tuple[float, float]) -> None:
    """Ranges that do and do not begin at 0, the latter with a constant feature."""
    truth = CATALOGUE[name].past == "oracle"
    rng = np.random.default_rng(21)
    by_name(name, Contexts(rng, dim=3, reward_range=reward_range, tell_truth=truth), 200)
