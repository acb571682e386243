"""One run of a policy as it is used online: decide, play, learn when the reward comes.

Slower than the simulator by far, and able to do what it does not: late rewards, checkpoints that
are reported as they happen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handrail.certificate.late import Late
from handrail.certificate.schedules import Schedule
from handrail.environments.problem import FixedProblem, Problem
from handrail.policies.algorithm import Algorithm
from handrail.policies.decision import Decision
from handrail.policies.make import make_policy
from handrail.policies.policy import Policy
from handrail.simulation.prepare import told

__all__ = ["play"]


def play(
    algorithm: Algorithm,
    problem: Problem,
    parameters: Mapping[str, Any],
    *,
    rounds: int,
    schedule: Schedule,
    late: Late | None,
    alpha: float,
    rng: np.random.Generator,
) -> float:
    """Play one run, and return the smallest true budget where the promise is checked.

    Parameters
    ----------
    algorithm : Algorithm
        Who plays.
    problem : FixedProblem or ContextProblem
        What is played.
    parameters : mapping
        Of the policy, besides what the problem says.
    rounds : int
        The horizon.
    schedule : Schedule
        When the promise is checked.
    late : Late, optional
        When rewards come; by default at once.
    alpha : float
        What the budget is measured with.
    rng : numpy.random.Generator
        Draws rewards, delays and gaps.

    Returns
    -------
    float
        Infinite if no checkpoint was reached.
    """
    promised = problem
    if late is not None and isinstance(problem, FixedProblem):
        promised = replace(problem, means=late.kept * problem.means)
    known = told(algorithm, promised) | dict(parameters)
    if late is not None:
        known |= late.told()
    policy = make_policy(algorithm, **known)
    world = _World(problem, promised, rounds, rng)
    checked = set(schedule.checkpoints(rounds, rng).tolist())
    coming: dict[int, list[tuple[Decision, float]]] = defaultdict(list)
    window = 0 if late is None else late.window
    budget, smallest = 0.0, math.inf
    for now in range(1, rounds + 1):
        decision = policy.decide(**world.round(now, algorithm))
        budget += world.step(now, decision.action, alpha)
        if now in checked:
            smallest = min(smallest, budget)
            if schedule.reported:
                _report(policy)
        if decision.awaits_reward:
            reward = world.reward(now, decision.action)
            after = 0 if late is None else late.delay(reward, float(rng.random()), window)
            if after >= 0:
                coming[now + after].append((decision, reward))
        for each, reward in coming.pop(now, ()):
            policy.learn(each, reward)
    return smallest


def _report(policy: Policy) -> None:
    policy.checkpoint()  # type: ignore[attr-defined]


class _World:
    """What a run meets: features, means and rewards."""

    def __init__(
        self, problem: Problem, promised: Problem, rounds: int, rng: np.random.Generator
    ) -> None:
        self._fixed = isinstance(problem, FixedProblem)
        self._bernoulli = problem.rewards == "bernoulli"
        self._noise = problem.noise
        self._chances = rng.random(rounds) if self._bernoulli else rng.standard_normal(rounds)
        if isinstance(problem, FixedProblem) and isinstance(promised, FixedProblem):
            self._means, self._baseline = problem.means, problem.baseline
            self._promised = promised.means
        elif not isinstance(problem, FixedProblem):
            self._contexts = problem.bring(0, 0, rounds)

    def round(self, now: int, algorithm: Algorithm) -> dict[str, Any]:
        """Return the arguments of `decide`."""
        if self._fixed:
            return {}
        features, means, baselines = (each[now - 1] for each in self._contexts)
        given = {"features": features, "baseline": int(baselines)}
        if algorithm.conservative:
            given["baseline_mean"] = float(means[baselines])
        if algorithm.past == "oracle":
            given["true_means"] = means
        return given

    def step(self, now: int, action: int, alpha: float) -> float:
        """Return by how much an action moves the budget."""
        if self._fixed:
            means, baseline = self._promised, self._baseline
        else:
            means, baseline = self._contexts.means[now - 1], self._contexts.baselines[now - 1]
        return float(means[action] - (1.0 - alpha) * means[baseline])

    def reward(self, now: int, action: int) -> float:
        """Draw the reward of an action."""
        means = self._means if self._fixed else self._contexts.means[now - 1]
        chance = float(self._chances[now - 1])
        if self._bernoulli:
            return 1.0 if chance < means[action] else 0.0
        return float(means[action]) + self._noise * chance
