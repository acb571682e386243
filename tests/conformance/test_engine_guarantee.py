"""Many simulated runs: the promise is kept by those who make it, and broken by those who do not.

With `union` accounting at most delta of a conservative algorithm's runs may ever be violated. A
test fails if more runs are than an algorithm that fails with probability exactly delta would have
but for one time in a million (FALSE_ALARM); with 42 of them the chance of any false alarm is below
5e-5. Seeds are fixed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import handrail
from handrail.records import Floats
from oracle.catalogue import CATALOGUE, LINEAR

# `make certify` plays the same algorithms many more times, with controls that have to fail.
pytestmark = pytest.mark.long

ALPHA, DELTA = 0.2, 0.1
RUNS, PROBLEMS, ROUNDS, EVERY = 150, 4, 600, 20
FALSE_ALARM = 1e-6
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS * PROBLEMS, DELTA))
# The baseline is the best arm, or nearly: every other round eats into the budget.
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "bernoulli": {"arms": 4, "low": 0.0, "high": 1.0, "baseline_rank": 1},
    "linear": {"arms": 6, "dim": 3, "baseline_rank": 1, "noise": 0.5},
    "contextual-linear": {"actions": 6, "dim": 3, "perturbation": 0.1, "noise": 0.5},
}


def _runs(environment: str, name: str, **changes: Any) -> tuple[Floats, Floats]:
    """The smallest budget of every run where it counts, and the violations."""
    chosen: dict[str, Any] = {"alpha": ALPHA, "delta": DELTA, "accounting": "union"}
    chosen |= ENVIRONMENTS[environment]
    checked = "smallest_budget"
    if CATALOGUE[name].schedule == "checkpoints":
        chosen["checkpoint_every"] = EVERY
        checked = "smallest_budget_at_checkpoints"
    table = handrail.simulate(
        environment,
        algorithms=[name],
        rounds=ROUNDS,
        runs=RUNS,
        problems=PROBLEMS,
        per="run",
        points=1,
        parameters=chosen | changes,
    )
    return table[checked].to_numpy(), table["violations"].to_numpy()


PAIRS = [
    (environment, name)
    for environment in ENVIRONMENTS
    for name in (LINEAR if environment == "contextual-linear" else CATALOGUE)
]


def _slow(environment: str, name: str) -> bool:
    """Whether it takes seconds: the ellipsoid of every arm for arms alone, and its past sum."""
    return name == "CUCB" or (name in LINEAR and (environment == "bernoulli" or name == "CLUCB"))


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        pytest.param(*pair, marks=[pytest.mark.long] if _slow(*pair) else [])
        for pair in PAIRS
        if CATALOGUE[pair[1]].past != "none"
    ],
)
def test_the_promise_is_kept(environment: str, name: str) -> None:
    smallest, violations = _runs(environment, name)
    count = int(np.sum(smallest < -1e-9))
    print(f"{name} on {environment}: {count} of {len(smallest)} runs violated, {MOST} allowed")
    assert count <= (0 if name.endswith("Or") else MOST)
    if CATALOGUE[name].schedule == "every-round":
        assert count == np.sum(violations > 0)


@pytest.mark.parametrize(
    ("environment", "name"), [pair for pair in PAIRS if CATALOGUE[pair[1]].past == "none"]
)
def test_without_a_promise_nothing_is_kept(environment: str, name: str) -> None:
    smallest, violations = _runs(environment, name)
    share = np.mean(smallest < -1e-9)
    print(f"{name} on {environment}: {share:.0%} of the runs violated")
    assert share > 0.5
    assert violations.max() > 1


def test_between_checkpoints_the_budget_may_be_negative() -> None:
    """What a checkpoint algorithm gains its regret from; seen in rounds, not at checkpoints."""
    smallest, violations = _runs("bernoulli", "CUCB2T")
    assert np.mean(violations > 0) > 0.1
    assert np.mean(smallest < -1e-9) <= DELTA


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("version", ["", "2"])
def test_a_broken_promise_is_seen(environment: str, version: str) -> None:
    """Told that there is next to no noise, the same algorithms fail far more often than delta."""
    name = f"CUCB{version}" if environment == "bernoulli" else f"CLUCB{version}"
    wrong: dict[str, Any] = {"policy.noise": 1e-3, "alpha": 0.02}
    if environment != "bernoulli":
        wrong |= {"noise": 2.0, "ridge": 1e-3}
    if version:
        wrong["cumulative"] = "subgaussian"
    smallest, _ = _runs(environment, name, **wrong)
    assert np.sum(smallest < -1e-9) > MOST
