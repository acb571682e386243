"""The library against the oracle: the constraint checked every T rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle.catalogue import CATALOGUE
from oracle.pair import by_name
from oracle.problems import Bernoulli, Contexts, LinearArms, Problem

CHECKED = [name for name, parts in CATALOGUE.items() if parts.schedule == "checkpoints"]


def _problem(name: str, seed: int) -> Problem:
    rng = np.random.default_rng([40, seed])
    if CATALOGUE[name].estimator == "means":
        return Bernoulli(rng, arms=5, rank=1, alpha=0.1137)
    return LinearArms(rng, arms=7, dim=3, rank=1, alpha=0.1137)


@pytest.mark.parametrize("lower", [None, 0.0, 0.11])
@pytest.mark.parametrize("every", [1, 2, 7, 50, 1000])
@pytest.mark.parametrize("name", CHECKED)
def test_checkpoints(name: str, every: int, lower: float | None) -> None:
    """With the baseline's mean as its lower bound, or a declared one."""
    more: dict[str, Any] = {} if lower is None else {"baseline_lower": lower}
    tally = by_name(name, _problem(name, every), 400, checkpoint_every=every, **more)
    assert tally.events["optimistic"]
    if every < 400 or lower == 0:
        assert tally.events["baseline"]


@pytest.mark.parametrize("every", [3, 60])
def test_checkpoints_with_contexts(every: int) -> None:
    """The lower bound on the baseline's mean is not the mean of any round."""
    problem = Contexts(np.random.default_rng(41), dim=5, noise=0.3, alpha=0.1137)
    tally = by_name("CLUCB2T", problem, 1500, checkpoint_every=every)
    assert set(tally.events) == {"optimistic", "safe", "baseline"}
