"""The library against the oracle: widths, accounting, clip, units, parts by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from oracle.catalogue import CATALOGUE, LINEAR, MEANS, Parts
from oracle.pair import KINDS, by_hand, by_name
from oracle.problems import Bernoulli, GaussianArms, LinearArms, Problem

# `ucb1` is compared like any other width; that it promises nothing is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::handrail.errors.NoGuaranteeWarning")

CUMULATIVE = ["paper", "subgaussian", "mixture"]
MARTINGALE = [name for name, parts in CATALOGUE.items() if parts.past == "martingale"]
OTHERS = [name for name in CATALOGUE if name not in MARTINGALE]
WIDTHS = {"means": ["wu", "ucb1", "mixture"], "linear": ["paper", "determinant"]}
LONG = 70


def _problem(name: str, seed: int = 0) -> Problem:
    rng = np.random.default_rng([50, seed])
    if name in MEANS:
        return Bernoulli(rng, arms=4, rank=seed % 2, alpha=0.1137)
    return LinearArms(rng, arms=6, dim=3, rank=seed % 2, noise=0.1, alpha=0.1137)


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("name", OTHERS)
def test_widths(name: str, accounting: str, clip: str) -> None:
    """Every width, accounting and clip of the algorithms without a martingale."""
    seen: Counter[str] = Counter()
    for width in WIDTHS[CATALOGUE[name].estimator]:
        problem = _problem(name)
        seen += by_name(name, problem, LONG, width=width, accounting=accounting, clip=clip).events
    if clip == "zero" and CATALOGUE[name].past != "none":
        assert seen["optimistic"]
        assert seen["baseline"]


@pytest.mark.parametrize("cumulative", CUMULATIVE)
@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("name", MARTINGALE)
def test_martingale_widths(name: str, accounting: str, clip: str, cumulative: str) -> None:
    """Every width, accounting, clip and cumulative width of those with one."""
    seen: Counter[str] = Counter()
    for width in WIDTHS[CATALOGUE[name].estimator]:
        chosen: dict[str, Any] = {"width": width, "cumulative": cumulative}
        problem = _problem(name)
        seen += by_name(name, problem, LONG, accounting=accounting, clip=clip, **chosen).events
    assert seen["optimistic"]
    assert seen["baseline"]


@pytest.mark.parametrize("tightest_at", [1.0, 50.0, 1e5])
@pytest.mark.parametrize("name", MARTINGALE)
def test_tightest_at(name: str, tightest_at: float) -> None:
    """The mixture's rho."""
    chosen: dict[str, Any] = {"cumulative": "mixture", "tightest_at": tightest_at}
    if name in MEANS:
        chosen["width"] = "mixture"
    by_name(name, _problem(name), LONG, **chosen)


@pytest.mark.parametrize("accounting", ["union", "paper"])
@pytest.mark.parametrize("name", MARTINGALE)
def test_weights(name: str, accounting: str) -> None:
    """Unequal shares of delta; they mean nothing where every event has the whole of it."""
    if accounting == "union":
        weights = {"estimator": 3.0, "martingale": 1.0}
        by_name(name, _problem(name), LONG, delta_weights=weights)
    else:
        by_name(name, _problem(name), LONG, accounting=accounting)


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-10.0, 10.0), (0.0, 5.0), (3.0, 7.0)])
def test_reward_ranges(name: str, reward_range: tuple[float, float]) -> None:
    """The user's units; with and without a constant feature."""
    rng = np.random.default_rng(51)
    problem: Problem
    if name in MEANS:
        problem = Bernoulli(rng, arms=4, rank=2, reward_range=reward_range)
    else:
        problem = LinearArms(rng, arms=6, dim=3, rank=2, reward_range=reward_range)
    by_name(name, problem, LONG)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("reward_range", [(0.0, 2.0), (1.0, 2.0)])
def test_reward_range_in_one_dimension(name: str, reward_range: tuple[float, float]) -> None:
    """A constant feature makes two dimensions of one, and that changes the default width."""
    rng = np.random.default_rng(52)
    by_name(name, LinearArms(rng, arms=3, dim=1, rank=1, reward_range=reward_range), LONG)


@pytest.mark.parametrize("name", CATALOGUE)
def test_declared_noise_in_a_range(name: str) -> None:
    """Noise smaller than half of the range."""
    rng = np.random.default_rng(53)
    problem: Problem
    if name in MEANS:
        problem = Bernoulli(rng, arms=4, rank=2, reward_range=(0.0, 5.0), noise=1.5)
    else:
        problem = LinearArms(rng, arms=6, dim=3, rank=2, reward_range=(-1.0, 4.0))
        problem.settings["noise"] = 0.4
    by_name(name, problem, LONG)


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("mean_range", [(0.0, 1.0), (0.0, 5.0), (-10.0, 10.0), (100.0, 101.0)])
def test_mean_ranges(name: str, mean_range: tuple[float, float]) -> None:
    """Means in a range, rewards anywhere."""
    rng = np.random.default_rng(54)
    problem: Problem
    if name in MEANS:
        problem = GaussianArms(rng, mean_range=mean_range)
    else:
        problem = LinearArms(rng, arms=6, dim=3, rank=2, mean_range=mean_range)
    by_name(name, problem, LONG)


@pytest.mark.parametrize(
    "parts",
    [
        Parts("means", "arm-sums", "largest-lower-literal", "every-round"),
        Parts("means", "arm-sums", "constrained", "checkpoints"),
        Parts("means", "arm-sums", "two-step", "checkpoints"),
        Parts("means", "martingale", "largest-lower", "every-round"),
        Parts("means", "martingale", "largest-lower-literal", "checkpoints"),
        Parts("means", "oracle", "constrained", "every-round"),
        Parts("means", "oracle", "largest-lower", "checkpoints"),
        Parts("linear", "self-normalised", "largest-lower-literal", "every-round"),
        Parts("linear", "self-normalised", "constrained", "checkpoints"),
        Parts("linear", "martingale", "largest-lower", "every-round"),
        Parts("linear", "martingale", "largest-lower-literal", "checkpoints"),
        Parts("linear", "oracle", "constrained", "every-round"),
    ],
    ids="/".join,
)
def test_parts_by_hand(parts: Parts) -> None:
    """Combinations that have no name."""
    seen: Counter[str] = Counter()
    for seed in range(4):
        problem = _problem("UCB" if parts.estimator == "means" else "LinUCB", seed)
        seen += by_hand(parts, problem, 300, seed=seed, checkpoint_every=4).events
    assert set(seen) >= KINDS[parts.selection]


def test_catalogue_by_hand() -> None:
    """The parts of a name make the algorithm of that name."""
    for name in CATALOGUE:
        by_hand(CATALOGUE[name], _problem(name), 100)
