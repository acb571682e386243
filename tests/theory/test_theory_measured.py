"""What the algorithms do beside what the theorems allow: paper accounting, past clipped at 0."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import theory
from handrail.bounds.cumulative import PAPER, cumulative
from handrail.environments.linear import Linear
from handrail.environments.problem import FixedProblem
from handrail.theory import Setting

DELTA = 1e-6
"""A run may break its bounds with probability 1.55 delta."""

POLICY: dict[str, Any] = {
    "alpha": 0.1,
    "delta": DELTA,
    "ridge": 0.5,
    "width": "paper",
    "cumulative": "paper",
    "clip": "zero",
    "accounting": "paper",
}


def setting_of(problem: FixedProblem, rounds: int, every: int = 1) -> Setting:
    mean = float(problem.means[problem.baseline])
    return Setting(
        alpha=POLICY["alpha"],
        delta=DELTA,
        ridge=POLICY["ridge"],
        dim=problem.rows().shape[1],
        noise=problem.noise,
        theta_bound=problem.theta_bound,
        feature_bound=float(np.linalg.norm(problem.rows(), axis=1).max()),
        baseline_low=mean,
        baseline_high=mean,
        gap=float(problem.means.max()) - mean,
        rounds=rounds,
        checkpoint_every=every,
    )


@pytest.mark.parametrize("every", [1, 1000, 100_000])
def test_every_run_is_below_bounds_that_say_something(every: int) -> None:
    """5 problems x 6 runs; false alarm at most 30 x 1.55e-6 < 5e-5 for each T."""
    rounds = 1_000_000
    name, own = ("CLUCB2", {}) if every == 1 else ("CLUCB2T", {"checkpoint_every": every})
    options = {**POLICY, **own, "dim": 2, "arms": 12, "baseline_rank": 3, "noise": 0.1}
    table = handrail.simulate(
        "linear", algorithms=[name], rounds=rounds, runs=6, problems=5, seed=11, per="run",
        parameters=options,
    )  # fmt: skip
    environment = Linear(arms=12, dim=2, baseline_rank=3, noise=0.1)
    bounds = [
        theory.evaluate(setting_of(environment.problem(11, index), rounds, every)).numeric
        for index in range(5)
    ]
    assert not any(bound.rounds_vacuous or bound.regret_vacuous for bound in bounds)
    rows = table.to_pylist()
    assert len(rows) == 30
    for row in rows:
        bound = bounds[row["problem"]]
        assert row["regret"] <= bound.regret
        assert round((1.0 - row["e1"]) * rounds) <= bound.rounds
    if every == 1:  # there is something to bound
        assert min(round((1.0 - row["e1"]) * rounds) for row in rows) > 10


@pytest.mark.parametrize(("name", "every"), [("CLUCB2", 1), ("CLUCB2T", 300)])
def test_the_inequality_behind_the_bounds_round_by_round(name: str, every: int) -> None:
    """In an unsafe round, alpha mu_l t <= h(s); 10 runs, false alarm at most 10 x 1.55e-6."""
    own = {} if every == 1 else {"checkpoint_every": every}
    unsafe, closest = 0, math.inf
    for index in range(10):
        problem = Linear(arms=8, dim=2, baseline_rank=3, noise=0.3).problem(5, index)
        setting = setting_of(problem, 1500, every)
        policy = handrail.make_policy(
            name,
            features=problem.rows(),
            baseline=problem.baseline,
            baseline_mean=setting.baseline_low,
            noise=problem.noise,
            theta_bound=problem.theta_bound,
            feature_bound=setting.feature_bound,
            **{**POLICY, **own},
        )
        rng = np.random.default_rng([3, index])
        plays = counted = 0
        for now in range(1, setting.rounds + 1):
            decision = policy.decide()
            if decision.event != "optimistic":
                assert now > theory.free_rounds(setting)
                lost = min(plays, theory.linear_regret(replace(setting, rounds=max(plays, 1))))
                psi = cumulative(PAPER, plays, setting.noise, DELTA, 0.0)
                need = setting.baseline_high + lost + 2 * psi
                closest = min(closest, need / (setting.alpha * setting.baseline_low * now))
                counted += 1
            if decision.event != "baseline":
                plays += 1
                mean = problem.means[decision.action]
                policy.learn(decision, reward=mean + setting.noise * rng.standard_normal())
        assert counted <= theory.conservative_rounds(setting)
        unsafe += counted
    assert unsafe > 100
    assert 1.0 <= closest < 5.0  # it holds, and not by miles


def test_the_free_rounds_are_free_and_the_next_one_is_not() -> None:
    """With rewards that certify nothing, exactly floor(T~) rounds go to the optimistic action."""
    problem = Linear(arms=8, dim=2, baseline_rank=3, noise=1.0).problem(5, 0)
    for every in (1, 9, 39, 205):  # no multiples of 10, where T~ is whole and rounding decides
        setting = setting_of(problem, 1000, every)
        policy = handrail.make_policy(
            "CLUCB2T",
            features=problem.rows(),
            baseline=problem.baseline,
            baseline_mean=setting.baseline_low,
            noise=problem.noise,
            theta_bound=problem.theta_bound,
            feature_bound=setting.feature_bound,
            checkpoint_every=every,
            **POLICY,
        )
        free = 0
        while (decision := policy.decide()).event == "optimistic":
            free += 1
            policy.learn(decision, reward=0.0)
        assert free == theory.free_rounds(setting) == every // 10
