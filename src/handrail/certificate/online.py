"""One run of a policy as it is used online: decide, play, learn when the reward comes.

Slower than the simulator by far, and able to do what it does not: all that happens in a `World`,
and known lists of checkpoints after whose last every round counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handrail.certificate.knowledge import KNOWN, Knowledge
from handrail.certificate.proposer import IN_TURN
from handrail.certificate.schedules import Schedule
from handrail.certificate.worlds import PLAIN, World
from handrail.environments.problem import FixedProblem, Problem
from handrail.policies.algorithm import Algorithm
from handrail.policies.decision import Decision
from handrail.policies.make import make_policy
from handrail.policies.policy import Policy
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
    world: World = PLAIN,
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
        Draws rewards, delays, gaps, and what goes wrong.
    world : World, optional
        What happens besides; by default nothing.
    knowledge : Knowledge, optional
        What is known of the baseline's mean; by default the mean.

    Returns
    -------
    float
        Infinite if no checkpoint was reached.
    """
    promised = problem
    if isinstance(problem, FixedProblem):
        promised = replace(problem, means=world.kept * problem.means)
    known = _known(algorithm, promised, knowledge, world) | dict(parameters) | dict(world.told)
    proposer = known.pop("proposer", IN_TURN)
    if algorithm.estimator != "none":
        proposer = None
    run = _Run(problem, promised, rounds, rng, algorithm, knowledge, world, proposer)
    policy = make_policy(algorithm, **known)
    checked = set(schedule.checkpoints(rounds, rng).tolist())
    coming: dict[int, list[tuple[Decision, float]]] = defaultdict(list)
    budget, smallest = 0.0, math.inf
    for now in range(1, rounds + 1):
        run.come_and_go(policy, now)
        decision = policy.decide(**run.round(now))
        lost = decision.event != "baseline" and world.lost > 0.0 and rng.random() < world.lost
        budget += run.step(now, None if lost else decision.action, alpha)
        if now in checked:
            smallest = min(smallest, budget)
            if schedule.reported:
                policy.checkpoint()
        status = "lost" if lost else "played"
        if lost and world.because:
            status = policy.fall_back(decision, because=world.because)
        elif not lost and decision.awaits_reward:
            policy.played(decision)
        if status == "choice" or (status == "played" and decision.awaits_reward):
            reward = run.reward(now, None if lost else decision.action)
            after = 0
            if world.delay is not None:
                after = world.delay(reward, float(rng.random()), world.window)
            if after >= 0:
                coming[now + after].append((decision, reward))
        elif status == "played":
            run.tell(decision, now)
        for each, reward in coming.pop(now, ()):
            policy.learn(each, world.low + world.scale * reward)
            run.tell(each, each.round, reward)
    return smallest


def _known(
    algorithm: Algorithm,
    problem: Problem,
    knowledge: Knowledge,
    world: World,
) -> dict[str, Any]:
    """Return what a policy is told of a problem."""
    known = told(algorithm, problem)
    if isinstance(problem, FixedProblem) and algorithm.conservative:
        mean = knowledge.told(float(problem.means[problem.baseline]))
        known["baseline_mean"] = _outward(world, mean)
    elif knowledge.learned:
        known["baseline_mean"] = "learned"
    if world.present:
        known |= {"arms": world.present, "baseline": world.present - 1}
    if world.low != 0.0 or world.scale != 1.0:
        bounded = known.pop("reward_range", None) is not None
        known["reward_range" if bounded else "mean_range"] = (world.low, world.low + world.scale)
        known["noise"] *= world.scale
        if "features" in known:
            known["features"] = np.column_stack(
                [known["features"], np.ones(len(known["features"]))]
            )
            known["theta_bound"] = math.hypot(world.scale * known["theta_bound"], world.low)
    return known


def _outward(world: World, mean: Any) -> Any:
    """Return a mean, or an interval for it, in the world's units."""
    if isinstance(mean, str):
        return mean
    if isinstance(mean, tuple):
        return tuple(world.low + world.scale * each for each in mean)
    return world.low + world.scale * mean


class _Run:
    """What a run meets: features, means, rewards, and for a guard somebody who proposes."""

    def __init__(
        self,
        problem: Problem,
        promised: Problem,
        rounds: int,
        rng: np.random.Generator,
        algorithm: Algorithm,
        knowledge: Knowledge,
        world: World,
        proposer: str | None,
    ) -> None:
        self._world = world
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
            # Arms by the numbers that the policy has for them: those that come later come last.
            self._order = np.arange(problem.means.size)
            if world.present:
                first = np.delete(self._order, problem.baseline)
                self._order = np.insert(first, world.present - 1, problem.baseline)
        elif not isinstance(problem, FixedProblem):
            self._contexts = problem.bring(0, 0, rounds)
            shape = (problem.actions, problem.dim)
        self._proposer = None
        if proposer is not None:
            self._proposer = make_proposer(proposer, *shape, int(rng.integers(2**32)))

    def come_and_go(self, policy: Policy, now: int) -> None:
        """Retire the arm that is there longest, and add the next one, every so often."""
        present = self._world.present
        if not present or now % self._world.stay:
            return
        gone = now // self._world.stay - 1
        baseline, arms = present - 1, policy.actions
        assert arms is not None
        if arms < self._order.size:
            policy.retire_arm(gone if gone < baseline else gone + 1)
            policy.add_arm()

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

    def step(self, now: int, action: int | None, alpha: float) -> float:
        """Return by how much an action moves the budget; None: the baseline's."""
        if self._fixed:
            means, baseline = self._promised, self._baseline
        else:
            means, baseline = self._contexts.means[now - 1], self._contexts.baselines[now - 1]
        earned = self._world.worth * means[baseline] if action is None else means[self._arm(action)]
        return float(earned - (1.0 - alpha) * means[baseline])

    def _arm(self, action: int) -> int:
        """Return which of the problem's actions a policy means."""
        return int(self._order[action]) if self._fixed else action

    def reward(self, now: int, action: int | None) -> float:
        """Draw the reward of an action; None: of the baseline where nothing else was played."""
        chance = float(self._chances[now - 1])
        if self._fixed:
            means, baseline = self._means, self._baseline
        else:
            means, baseline = self._contexts.means[now - 1], self._contexts.baselines[now - 1]
        mean = means[baseline] * self._world.worth if action is None else means[self._arm(action)]
        if self._bernoulli:
            return 1.0 if chance < mean else 0.0
        return float(mean + self._noise * chance)
