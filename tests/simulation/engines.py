"""One run of a made-up problem by both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import handrail
from handrail.environments.problem import FixedProblem
from handrail.records import Floats, Ints, Record
from handrail.simulation.experiment import Contender, Experiment, recorded_rounds
from handrail.simulation.prepare import prepare
from oracle.catalogue import Parts
from oracle.problems import arguments


def arms(means: Any, baseline: int, **more: Any) -> FixedProblem:
    """Arms without features."""
    drawn = np.array(means, np.float64)
    facts: dict[str, Any] = {
        "features": np.eye(len(drawn)),
        "rewards": "bernoulli",
        "noise": 0.5,
        "theta_bound": max(float(np.linalg.norm(drawn)), 1e-3),
    }
    return FixedProblem(means=drawn, baseline=baseline, **{**facts, **more})


def play(
    problem: FixedProblem,
    algorithm: str | handrail.Algorithm,
    rounds: int,
    engine: str,
    *,
    points: int = 500,
    run: int = 0,
    seed: int = 0,
    **policy: Any,
) -> tuple[Floats, Record, Ints]:
    """One run by one engine; of the parameters the algorithm takes those it uses."""
    row = algorithm if isinstance(algorithm, handrail.Algorithm) else handrail.algorithm(algorithm)
    parts = Parts(row.estimator, row.past, row.selection, row.schedule)
    settings = {"alpha": 0.2, "delta": 0.1, "accounting": "paper", **policy}
    contender = Contender(algorithm, arguments(parts, settings))
    common = {"alpha": settings["alpha"]}
    experiment = Experiment(
        "bernoulli", {}, (contender,), rounds, 1, 1, seed, common, points, engine=engine
    )
    grid = recorded_rounds(rounds, points)
    return prepare(experiment, contender, problem, 0, grid).play(run, trace=True)


def same(
    problem: FixedProblem, algorithm: str | handrail.Algorithm, rounds: int, **more: Any
) -> Ints:
    """Both engines: the same actions, curves and measurements; return the actions."""
    curve, meter, actions = play(problem, algorithm, rounds, "fast", **more)
    plain_curve, plain_meter, plain_actions = play(problem, algorithm, rounds, "plain", **more)
    context = f"{algorithm}, {rounds} rounds, {problem}, {more}"
    differ = np.flatnonzero(actions != plain_actions)
    assert not len(differ), f"round {differ[0] + 1} differs: {context}"
    assert curve.tobytes() == plain_curve.tobytes(), context
    for name in ("optimistic", "safe", "violations"):
        assert meter[name][0] == plain_meter[name][0], f"{name}: {context}"
    for name in ("smallest", "smallest_at_checkpoints"):
        # Within a streak budgets come from steps: those of single rounds up to rounding.
        expected = pytest.approx(plain_meter[name][0], rel=1e-9, abs=1e-9)
        assert meter[name][0] == expected, f"{name}: {context}"
    return actions
