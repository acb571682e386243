"""One run of a policy as it is used online: decide, play, learn when the reward comes.

Slower than the simulator by far, and able to do what it does not: late rewards, and known lists of
checkpoints after whose last every round counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handrail.certificate.knowledge import KNOWN, Knowledge
from handrail.certificate.late import Late
from handrail.certificate.proposer import IN_TURN
from handrail.certificate.schedules import Schedule
from handrail.environments.problem import FixedProblem, Problem
from handrail.policies.algorithm import Algorithm
from handrail.policies.decision import Decision
from handrail.policies.make import make_policy
from handrail.simulation.prepare import told
from handrail.simulation.proposers.registry import make_proposer

__all__ = ["play"]


def play(
    algorithm: Algorithm,
    problem: Problem,
    parameters: Mapping[str, Any],
    *,
    rounds: int,
    schedule: Schedule,
    alpha: float,
    rng: np.random.Generator,
    late: Late | None = None,
    knowledge: Knowledge = KNOWN,
) -> float:
    """Play one run, and return the smallest true budget where the promise is checked.

    Parameters
    ----------
    algorithm : Algorithm
        Who plays.
    problem : FixedProblem or ContextProblem
        What is played.
    parameters : mapping
        Of the policy, besides what the problem says; for a guard also the `proposer`.
    rounds : int
        The horizon.
    schedule : Schedule
        When the promise is checked.
    alpha : float
        What the budget is measured with.
    rng : numpy.random.Generator
        Draws rewards, delays and gaps.
    late : Late, optional
        When rewards come; by default at once.
    knowledge : Knowledge, optional
        What is known of the baseline's mean; by default the mean.

    Returns
    -------
    float
        Infinite if no checkpoint was reached.
    """
    promised = problem
    if late is not None and isinstance(problem, FixedProblem):
        promised = replace(problem, means=late.kept * problem.means)
    known = _known(algorithm, promised, knowledge) | dict(parameters)
    proposer = known.pop("proposer", IN_TURN)
    if algorithm.estimator != "none":
        proposer = None
    world = _World(problem, promised, rounds, rng, algorithm, knowledge, proposer)
    if late is not None:
        known |= late.told()
    policy = make_policy(algorithm, **known)
    checked = set(schedule.checkpoints(rounds, rng).tolist())
    coming: dict[int, list[tuple[Decision, float]]] = defaultdict(list)
    window = 0 if late is None else late.window
    budget, smallest = 0.0, math.inf
    for now in range(1, rounds + 1):
        decision = policy.decide(**world.round(now))
        budget += world.step(now, decision.action, alpha)
        if now in checked:
            smallest = min(smallest, budget)
            if schedule.reported:
                policy.checkpoint()
        if decision.awaits_reward:
            reward = world.reward(now, decision.action)
            after = 0 if late is None else late.delay(reward, float(rng.random()), window)
            if after >= 0:
                coming[now + after].append((decision, reward))
        else:
            world.tell(decision, now)
        for each, reward in coming.pop(now, ()):
            policy.learn(each, reward)
            world.tell(each, each.round, reward)
    return smallest


def _known(algorithm: Algorithm, problem: Problem, knowledge: Knowledge) -> dict[str, Any]:
    """Return what a policy is told of a problem."""
    known = told(algorithm, problem)
    if isinstance(problem, FixedProblem) and algorithm.conservative:
        known["baseline_mean"] = knowledge.told(float(problem.means[problem.baseline]))
    elif knowledge.learned:
        known["baseline_mean"] = "learned"
    return known


class _World:
    """What a run meets: features, means, rewards, and for a guard somebody who proposes."""

    def __init__(
        self,
        problem: Problem,
        promised: Problem,
        rounds: int,
        rng: np.random.Generator,
        algorithm: Algorithm,
        knowledge: Knowledge,
        proposer: str | None,
    ) -> None:
        self._algorithm = algorithm
        self._knowledge = knowledge
        self._bernoulli = problem.rewards == "bernoulli"
        self._noise = problem.noise
        self._chances = rng.random(rounds) if self._bernoulli else rng.standard_normal(rounds)
        self._fixed = isinstance(problem, FixedProblem)
        if isinstance(problem, FixedProblem) and isinstance(promised, FixedProblem):
            self._means, self._promised = problem.means, promised.means
            self._baseline = problem.baseline
            shape: tuple[int, int | None] = (problem.means.size, None)
        elif not isinstance(problem, FixedProblem):
            self._contexts = problem.bring(0, 0, rounds)
            shape = (problem.actions, problem.dim)
        self._proposer = None
        if proposer is not None:
            self._proposer = make_proposer(proposer, *shape, int(rng.integers(2**32)))

    def round(self, now: int) -> dict[str, Any]:
        """Return the arguments of `decide`."""
        if self._fixed:
            return {} if self._proposer is None else {"proposal": self._proposer.select()}
        features, means, baseline = (each[now - 1] for each in self._contexts)
        given: dict[str, Any] = {"baseline": int(baseline)}
        if self._proposer is None:
            given["features"] = features
        else:
            given["proposal"] = self._proposer.select(features)
        if self._algorithm.conservative and not self._knowledge.learned:
            given["baseline_mean"] = self._knowledge.told(float(means[baseline]))
        if self._algorithm.past == "oracle":
            given["true_means"] = means
        return given

    def tell(self, decision: Decision, now: int, reward: float | None = None) -> None:
        """Tell the one who proposes what was played in a round, and what it earned."""
        if self._proposer is None:
            return
        action = int(decision.action)
        earned = self.reward(now, action) if reward is None else reward
        context = () if self._fixed else (self._contexts.features[now - 1],)
        self._proposer.update(action, earned, *context)

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
