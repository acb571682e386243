"""The bounds next to those of the package confseq, where it is installed.

It is in no lock file: it has to be built with Boost, and its newest release names a type that
NumPy 2 has dropped.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.boundaries import gamma_exponential, stitched
from handrail.bounds.bernstein import bernstein
from handrail.bounds.kl import kl_interval

boundaries = pytest.importorskip(
    "confseq.boundaries", reason="confseq is not installed: nothing to compare with"
)

LEVEL = 0.05


@pytest.mark.parametrize("level", [1e-1, 1e-2, 1e-6])
@pytest.mark.parametrize("variation", [0.1, 1.0, 10.0, 1e3, 1e5, 1e7])
def test_sums(variation: float, level: float) -> None:
    """The formulas of the literature are what confseq computes, and ours is between them."""
    mixture = float(boundaries.gamma_exponential_mixture_bound(variation, level, 10.0, 1.0))
    assert gamma_exponential(variation, level, 10.0) == pytest.approx(mixture, rel=1e-8)
    stitching = float(boundaries.poly_stitching_bound(variation, level, 1.0, 1.0))
    assert stitched(variation, level) == pytest.approx(stitching, rel=1e-12)
    assert 0.8 * mixture < bernstein(variation, level) < min(1.25 * mixture, stitching)


@pytest.mark.parametrize("mean", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("count", [10, 1000, 100_000])
def test_arms(count: int, mean: float) -> None:
    """A mixture tuned for this very count is narrower, by less than a quarter."""
    lower, upper = kl_interval(count, mean * count, LEVEL)
    left, right = boundaries.bernoulli_confidence_interval(mean * count, count, LEVEL, 1000)
    assert upper - lower < 1.25 * (right - left)
    assert lower < right
    assert left < upper


@pytest.mark.parametrize("mean", [0.01, 0.1, 0.5])
def test_betting(monkeypatch: pytest.MonkeyPatch, mean: float) -> None:
    """After 1000 Bernoulli rewards kl is within a quarter of bets that look at the rewards."""
    if not hasattr(np, "float_"):
        monkeypatch.setattr(np, "float_", np.float64, raising=False)
    betting = pytest.importorskip("confseq.betting", reason="confseq was built without it")
    rewards = (np.random.default_rng(0).random(1000) < mean).astype(float)
    left, right = betting.betting_cs(rewards, alpha=LEVEL, parallel=False)
    lower, upper = kl_interval(1000, float(rewards.sum()), LEVEL)
    assert 0.75 < (upper - lower) / (right[-1] - left[-1]) < 1.25
