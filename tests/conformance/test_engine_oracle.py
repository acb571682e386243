"""The simulator against the oracle: every algorithm on every environment, action by action.

Rewards, decisions and measurements are all recomputed; see `oracle.replay`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail.simulation.blocks import entry
from handrail.simulation.experiment import Contender, Experiment
from oracle.catalogue import CATALOGUE, LINEAR, MEANS, Parts
from oracle.compare import MOST_TIES, Tally
from oracle.pair import KINDS
from oracle.problems import arguments
from oracle.replay import replay

CHECKED = [name for name, parts in CATALOGUE.items() if parts.schedule == "checkpoints"]
ROUNDS = 250
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "bernoulli": {"arms": 5, "low": 0.1, "high": 0.9, "baseline_rank": 3},
    "linear": {"arms": 7, "dim": 4, "baseline_rank": 3},
    "contextual-linear": {"actions": 5, "dim": 4},
    "ratings": {"rank": 4, "baseline_rank": 2, "noise": 0.3},
}
PAIRS = [
    (environment, name)
    for environment in ENVIRONMENTS
    for name in (LINEAR if environment == "contextual-linear" else CATALOGUE)
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A complete ratings table."""
    path: Path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    ratings = np.random.default_rng(60).normal(size=(25, 3)) @ np.random.default_rng(61).normal(
        size=(3, 6)
    )
    np.savetxt(path, ratings + np.random.default_rng(62).normal(size=(25, 6)) / 2, delimiter=",")
    return str(path)


def _follow(
    environment: str,
    algorithm: str | handrail.Algorithm,
    problem: int,
    run: int,
    parameters: dict[str, Any],
    rounds: int = ROUNDS,
    alpha: float = 0.1137,
    **policy: Any,
) -> Tally:
    row = algorithm if isinstance(algorithm, handrail.Algorithm) else handrail.algorithm(algorithm)
    policy = arguments(
        Parts(row.estimator, row.past, row.selection, row.schedule), {"delta": 0.1, **policy}
    )
    experiment = Experiment(
        environment=environment,
        parameters={**ENVIRONMENTS[environment], **parameters},
        contenders=(Contender(algorithm, policy),),
        rounds=rounds,
        runs=run + 1,
        problems=problem + 1,
        seed=17,
        policy={"alpha": alpha},
    )
    ready = entry(experiment, experiment.contenders[0], problem)
    # Arms without features that were paid the same number of ones in as many plays are equal:
    # to a linear policy, which adds them up in the order they came, up to rounding only.
    most = rounds // 20 if environment == "bernoulli" and row.estimator == "linear" else MOST_TIES
    tally = replay(ready, run, alpha, most, **policy)
    print(f"{row.name} on {environment}: events {dict(tally.events)}, ties {tally.ties}")
    return tally


@pytest.mark.parametrize(("environment", "name"), PAIRS)
def test_every_algorithm_on_every_environment(environment: str, name: str, table: str) -> None:
    """Problems, runs, baselines and both accountings; all kinds of events come up."""
    rounds = 400 if environment == "ratings" else ROUNDS  # safe rounds come late in it
    more: dict[str, Any] = {"table": table} if environment == "ratings" else {}
    seen: Counter[str] = Counter()
    for problem, run, rank, accounting, alpha in [
        (0, 0, 3, "paper", 0.1137),
        (1, 3, 1, "union", 0.2213),
        (2, 1, 2, "paper", 0.0513),
        (3, 0, 1, "paper", 0.3719),
    ]:
        if environment != "contextual-linear":
            more["baseline_rank"] = rank
        policy: dict[str, Any] = {"accounting": accounting, "checkpoint_every": 3, "ridge": 0.5}
        chosen = {"alpha": alpha, "rounds": rounds, **policy}
        seen += _follow(environment, name, problem, run, more, **chosen).events
    assert set(seen) >= KINDS[CATALOGUE[name].selection]


@pytest.mark.parametrize("every", [1, 133, ROUNDS, ROUNDS + 1])
@pytest.mark.parametrize(("environment", "name"), [pair for pair in PAIRS if pair[1] in CHECKED])
def test_checkpoints(environment: str, name: str, every: int, table: str) -> None:
    """From one every round to none at all; the horizon is one only where T divides it."""
    more = {"table": table} if environment == "ratings" else {}
    _follow(environment, name, 1, 2, more, accounting="paper", checkpoint_every=every)


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("cumulative", ["paper", "subgaussian", "mixture"])
@pytest.mark.parametrize("width", ["wu", "ucb1", "mixture"])
def test_widths_of_means(width: str, cumulative: str, clip: str) -> None:
    """Widths, and for both kinds of past the clip; `ucb1` moves with the round."""
    for name in ["CUCB2", "CUCB2T"] if cumulative != "paper" else MEANS:
        policy = {"width": width, "cumulative": cumulative, "clip": clip, "checkpoint_every": 9}
        _follow("bernoulli", name, 2, 0, {}, rounds=150, alpha=0.2213, **policy)


@pytest.mark.parametrize("environment", ["linear", "contextual-linear"])
@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("cumulative", ["paper", "subgaussian", "mixture"])
@pytest.mark.parametrize("width", ["paper", "determinant"])
def test_widths_of_ellipsoids(environment: str, width: str, cumulative: str, clip: str) -> None:
    for name in ["CLUCB2", "CLUCB2T"] if cumulative != "paper" else LINEAR:
        policy = {"width": width, "cumulative": cumulative, "clip": clip, "checkpoint_every": 9}
        _follow(environment, name, 2, 0, {}, rounds=120, alpha=0.2213, **policy)


@pytest.mark.parametrize(
    "parts",
    [
        Parts("means", "arm-sums", "largest-lower-literal", "every-round"),
        Parts("means", "arm-sums", "two-step", "checkpoints"),
        Parts("means", "martingale", "largest-lower", "every-round"),
        Parts("means", "martingale", "largest-lower-literal", "checkpoints"),
        Parts("means", "oracle", "constrained", "every-round"),
        Parts("means", "oracle", "largest-lower", "checkpoints"),
        Parts("linear", "self-normalised", "largest-lower-literal", "every-round"),
        Parts("linear", "self-normalised", "constrained", "checkpoints"),
        Parts("linear", "martingale", "largest-lower-literal", "checkpoints"),
        Parts("linear", "oracle", "constrained", "every-round"),
    ],
    ids="/".join,
)
def test_parts_by_hand(parts: Parts) -> None:
    """Combinations that have no name."""
    environments = ["bernoulli", "linear"]
    if parts.estimator == "linear":
        environments.append("contextual-linear")
    for environment in environments:
        mine = handrail.Algorithm("mine", *parts)
        _follow(environment, mine, 0, 1, {}, rounds=180, checkpoint_every=11)
