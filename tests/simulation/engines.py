"""One run of a made-up problem by both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import handrail
from handrail.environments.problem import FixedProblem
from handrail.records import Floats, Ints, Record
from handrail.simulation.entry import Entry
from handrail.simulation.experiment import Contender, Experiment, recorded_rounds
from handrail.simulation.prepare import prepare
from oracle.catalogue import Parts
from oracle.problems import arguments
from simulation.follow import TIE, follow


def arms(means: Any, baseline: int, **more: Any) -> FixedProblem:
    """Arms without features of their own: linear algorithms see the canonical basis."""
    drawn = np.array(means, np.float64)
    facts: dict[str, Any] = {
        "features": np.eye(len(drawn)),
        "rewards": "bernoulli",
        "noise": 0.5,
        "theta_bound": max(float(np.linalg.norm(drawn)), 1e-3),
    }
    return FixedProblem(means=drawn, baseline=baseline, **{**facts, **more})


def featured(features: Any, theta: Any, baseline: int, **more: Any) -> FixedProblem:
    """Arms with features; the means <theta, phi> must lie in [0, 1]."""
    rows, along = np.array(features, np.float64), np.array(theta, np.float64)
    facts: dict[str, Any] = {"rewards": "gaussian", "noise": 0.1}
    bound = max(float(np.linalg.norm(along)), 1e-3)
    means = np.clip(rows @ along, 0.0, 1.0)
    return FixedProblem(
        means=means, features=rows, baseline=baseline, theta_bound=bound, **{**facts, **more}
    )


def generic(count: int, dim: int, seed: int, **more: Any) -> FixedProblem:
    """Arms in general position, with means between 0.1 and 0.9; a middling one is the baseline."""
    rng = np.random.default_rng([count, dim, seed])
    theta = np.abs(rng.normal(size=dim))
    theta /= np.linalg.norm(theta)
    rows = rng.normal(size=(count, dim))
    wanted = rng.uniform(0.1, 0.9, count)
    rows += np.outer(wanted - rows @ theta, theta)
    baseline = int(np.argsort(wanted)[count // 2])
    return featured(rows, theta, baseline, **more)


def enter(
    problem: FixedProblem,
    algorithm: str | handrail.Algorithm,
    rounds: int,
    engine: str,
    *,
    points: int = 500,
    seed: int = 0,
    **policy: Any,
) -> Entry:
    """Of the parameters the algorithm takes those it uses."""
    row = algorithm if isinstance(algorithm, handrail.Algorithm) else handrail.algorithm(algorithm)
    parts = Parts(row.estimator, row.past, row.selection, row.schedule)
    settings = {"alpha": 0.2, "delta": 0.1, "accounting": "paper", **policy}
    contender = Contender(algorithm, arguments(parts, settings))
    common = {"alpha": settings["alpha"]}
    experiment = Experiment(
        "bernoulli", {}, (contender,), rounds, 1, 1, seed, common, points, engine=engine
    )
    return prepare(experiment, contender, problem, 0, recorded_rounds(rounds, points))


def play(
    problem: FixedProblem,
    algorithm: str | handrail.Algorithm,
    rounds: int,
    engine: str,
    *,
    run: int = 0,
    **more: Any,
) -> tuple[Floats, Record, Ints]:
    """One run by one engine."""
    return enter(problem, algorithm, rounds, engine, **more).play(run, trace=True)


def same(
    problem: FixedProblem,
    algorithm: str | handrail.Algorithm,
    rounds: int,
    *,
    run: int = 0,
    ties: int = 0,
    tie: float = TIE,
    **more: Any,
) -> Ints:
    """Both engines: the same actions, curves and measurements; return the actions.

    Multi-armed algorithms must agree to the last bit. Linear ones are followed
    (`simulation.follow`); no more rounds than `ties` may be ties, values within `tie`, that went
    the other way.
    """
    fast = enter(problem, algorithm, rounds, "fast", **more)
    curve, meter, actions = fast.play(run, trace=True)
    context = f"{algorithm}, {rounds} rounds, run {run}, {problem}, {more}"
    unclear = 0
    if fast.algorithm.estimator == "linear":
        assert fast.kind == "fixed"
        found = follow(fast, run, actions, tie)
        assert found.differs == 0, f"round {found.differs} differs and is no tie: {context}"
        if found.ties or ties:
            print(f"{found.ties} ties in {rounds} rounds of {fast.algorithm.name}")
        assert found.ties <= ties, f"{found.ties} ties: {context}"
        plain_curve, plain_meter, unclear = found.curve, found.meter, found.unclear
    else:
        assert fast.kind == "arms"
        plain = enter(problem, algorithm, rounds, "plain", **more)
        assert plain.kind == "arms-plain"
        plain_curve, plain_meter, plain_actions = plain.play(run, trace=True)
        differ = np.flatnonzero(actions != plain_actions)
        assert not len(differ), f"round {differ[0] + 1} differs: {context}"
    # Regret and budget are counts times means; an event may be a tie too.
    assert curve[:, :2].tobytes() == plain_curve[:, :2].tobytes(), context
    assert np.abs(curve[:, 2:] - plain_curve[:, 2:]).max() <= unclear, context
    for name in ("optimistic", "safe"):
        assert abs(meter[name][0] - plain_meter[name][0]) <= unclear, f"{name}: {context}"
    assert meter["violations"][0] == plain_meter["violations"][0], context
    for name in ("smallest", "smallest_at_checkpoints"):
        # Within a streak budgets come from steps: those of single rounds up to rounding.
        expected = pytest.approx(plain_meter[name][0], rel=1e-9, abs=1e-9)
        assert meter[name][0] == expected, f"{name}: {context}"
    return actions
