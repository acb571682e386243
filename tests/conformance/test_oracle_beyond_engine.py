"""The simulator against the oracle: algorithms beyond the paper's, action by action."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import handrail
from handrail.simulation.blocks import entry
from handrail.simulation.experiment import Contender, Experiment
from oracle.catalogue import Parts
from oracle.compare import MOST_TIES, Tally
from oracle.problems import arguments
from oracle.replay import replay

ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "bernoulli": {"arms": 5, "low": 0.1, "high": 0.9, "baseline_rank": 3},
    "linear": {"arms": 7, "dim": 4, "baseline_rank": 3},
    "contextual-linear": {"actions": 5, "dim": 4},
}
MEANS = ["HANDRAIL", "HANDRAIL-Or", "HANDRAILT"]
LINEAR = ["LinHANDRAIL", "LinHANDRAIL-Or", "LinHANDRAILT"]
PAIRS = [
    (environment, name)
    for environment in ENVIRONMENTS
    for name in (LINEAR if environment == "contextual-linear" else MEANS + LINEAR)
]


def _follow(
    environment: str,
    algorithm: str | handrail.Algorithm,
    problem: int,
    run: int,
    alpha: float = 0.1137,
    rounds: int = 200,
    **policy: Any,
) -> Tally:
    row = algorithm if isinstance(algorithm, handrail.Algorithm) else handrail.algorithm(algorithm)
    parts = Parts(row.estimator, row.past, row.selection, row.schedule)
    policy = arguments(parts, {"delta": 0.1, **policy})
    experiment = Experiment(
        environment=environment,
        parameters=ENVIRONMENTS[environment],
        contenders=(Contender(algorithm, policy),),
        rounds=rounds,
        runs=run + 1,
        problems=problem + 1,
        seed=18,
        policy={"alpha": alpha},
    )
    ready = entry(experiment, experiment.contenders[0], problem)
    # To a linear policy arms without features are equal, up to rounding, when they were paid alike.
    most = rounds // 20 if environment == "bernoulli" and row.estimator == "linear" else MOST_TIES
    tally = replay(ready, run, alpha, most, **policy)
    print(f"{row.name} on {environment}: events {dict(tally.events)}, ties {tally.ties}")
    return tally


@pytest.mark.parametrize(("environment", "name"), PAIRS)
def test_names(environment: str, name: str) -> None:
    """The named ones, with what they preset."""
    seen: Counter[str] = Counter()
    for problem, run, accounting, alpha in [
        (0, 0, "paper", 0.1137),
        (1, 1, "union", 0.2213),
        (2, 0, "paper", 0.3719),
    ]:
        policy: dict[str, Any] = {"accounting": accounting, "checkpoint_every": 7}
        seen += _follow(environment, name, problem, run, alpha, **policy).events
    assert seen["optimistic"]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("past", ["own", "martingale", "larger"])
@pytest.mark.parametrize("lesson", [True, "mean"])
def test_learning_from_baseline_rounds(environment: str, past: str, lesson: bool | str) -> None:
    """Rewards of the baseline are drawn, and learned from; or its mean is."""
    estimator = "means" if environment == "bernoulli" else "linear"
    own = "arm-sums" if estimator == "means" else "self-normalised"
    parts = Parts(estimator, own if past == "own" else past, "constrained", "every-round")
    mine = handrail.Algorithm("mine", *parts)
    tally = _follow(environment, mine, 0, 1, learn_baseline=lesson)
    assert tally.events["baseline"]


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("past", ["own", "martingale", "larger"])
def test_learned_baseline(environment: str, past: str, schedule: str) -> None:
    """Nothing is told of the baseline's mean."""
    estimator = "means" if environment == "bernoulli" else "linear"
    own = "arm-sums" if estimator == "means" else "self-normalised"
    parts = Parts(estimator, own if past == "own" else past, "constrained", schedule)
    mine = handrail.Algorithm("mine", *parts)
    _follow(environment, mine, 0, 1, 0.5, baseline_mean="learned", checkpoint_every=7)


@pytest.mark.parametrize("cumulative", ["mixture", "bernstein"])
@pytest.mark.parametrize("width", ["kl", "mixture"])
def test_bounds_of_rewards_in_a_range(width: str, cumulative: str) -> None:
    """Bernoulli arms."""
    for past in ("martingale", "larger"):
        mine = handrail.Algorithm("mine", "means", past, "constrained", "checkpoints")
        more: dict[str, Any] = {"width": width, "cumulative": cumulative, "checkpoint_every": 9}
        _follow("bernoulli", mine, 1, 0, 0.2213, **more)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_listed_checkpoints(environment: str) -> None:
    """Known rounds."""
    estimator = "means" if environment == "bernoulli" else "linear"
    mine = handrail.Algorithm("mine", estimator, "martingale", "constrained", "checkpoints")
    _follow(environment, mine, 1, 0, 0.2213, checkpoints=[10, 11, 60, 200])
