"""The library against the oracle: rewards that come late, out of order, or never."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle.catalogue import CATALOGUE, LINEAR, MEANS
from oracle.compare import Plan
from oracle.pair import by_name, missing
from oracle.problems import Bernoulli, Contexts, LinearArms, Problem

# A window without a default, and a default without a window, are used here knowingly; what warns of
# them is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(window|default_reward) without:handrail.errors.NoGuaranteeWarning"
)

SCATTERED = Plan(longest=40, at_once=0.5)
LOSSY = Plan(longest=30, at_once=0.4, lost=0.2, closed=0.7)
PROMPT = Plan(longest=40, at_once=0.3, lost=0.15, closed=0.5)


def _problem(name: str, seed: int) -> Problem:
    rng = np.random.default_rng([30, seed])
    if name in MEANS:
        return Bernoulli(rng, arms=4, rank=seed % 2, alpha=0.1137)
    if seed % 2:
        return LinearArms(rng, arms=6, dim=3, rank=0, noise=0.2, alpha=0.1137)
    truth = CATALOGUE[name].past == "oracle"
    return Contexts(rng, dim=4, noise=0.3, alpha=0.1137, tell_truth=truth)


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("name", CATALOGUE)
def test_out_of_order(name: str, clip: str) -> None:
    """Every reward comes, up to 40 rounds late."""
    tallies = [
        by_name(
            name,
            _problem(name, seed),
            400 if clip == "zero" else 150,
            plan=SCATTERED,
            seed=seed,
            clip=clip,
        )
        for seed in range(2)
    ]
    if clip == "zero":
        assert not missing(name, tallies)


@pytest.mark.parametrize("default", [None, 0.0, 0.25])
@pytest.mark.parametrize("name", CATALOGUE)
def test_some_never_come(name: str, default: float | None) -> None:
    """Some rounds are closed without a reward, some are left open."""
    more: dict[str, Any] = {} if default is None else {"default_reward": default}
    for seed in range(2):
        by_name(name, _problem(name, seed), 110, plan=LOSSY, seed=seed, **more)


@pytest.mark.parametrize("default", [None, 0.0, 0.25])
@pytest.mark.parametrize("window", [1, 20])
@pytest.mark.parametrize("name", CATALOGUE)
def test_window(name: str, window: int, default: float | None) -> None:
    """Rewards within the window wait for its end, later ones are dropped, some are missing."""
    more: dict[str, Any] = {} if default is None else {"default_reward": default}
    for seed in range(2):
        problem = _problem(name, seed)
        by_name(name, problem, 90, plan=PROMPT, seed=seed, window=window, **more)


@pytest.mark.parametrize("name", [*MEANS, *LINEAR])
def test_window_in_units(name: str) -> None:
    """The default is given in the user's units."""
    rng = np.random.default_rng(31)
    problem: Problem
    if name in MEANS:
        problem = Bernoulli(rng, arms=4, reward_range=(-10.0, 10.0))
    else:
        problem = LinearArms(rng, arms=5, dim=3, reward_range=(-10.0, 10.0))
    by_name(name, problem, 90, plan=PROMPT, window=7, default_reward=-10.0)
