"""The promise of a guard against proposers that want to break it.

RUNS short runs for each proposer, in turn over problems, arrivals of rewards and what is known of
the baseline. The proposers know the true means, and the worst of them see the margin and how
lucky they have been so far: they burn the budget exactly when the rewards overstate it. A run is
violated if its true budget is negative at any round (at any checkpoint). A test fails if more runs
are violated than a guard that fails with probability exactly delta would have but for one time in a
million (FALSE_ALARM); with 8 of them the chance of any false alarm is below 8e-6. The last tests
tell the guard of too little noise and see the proposers win.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import handrail
from handrail import Policy

RUNS, ROUNDS = 700, 80
ALPHA, DELTA = 0.3, 0.1
FALSE_ALARM = 1e-6
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, DELTA))
EVERY = 8
BASELINE = 3
ROUNDING = 1e-9


class Problem(NamedTuple):
    """What is told, and what is true."""

    told: dict[str, Any]
    means: tuple[float, ...]
    noise: float
    """Of Gaussian rewards; 0 for Bernoulli ones."""


PROBLEMS = [
    Problem({"reward_range": (0.0, 1.0)}, (0.0, 0.4, 0.35, 0.6), 0.0),
    Problem({"noise": 1.5}, (0.0, 0.05, 0.0, 0.6), 1.5),
    Problem({"reward_range": (0.0, 1.0), "cumulative": "mixture"}, (0.5, 0.45, 0.0, 0.9), 0.0),
]
ARRIVALS: list[dict[str, Any]] = [
    {"delay": 0},
    {"delay": 7},
    {"delay": 2, "window": 3, "default_reward": 0.0},
]
KNOWN: dict[str, Callable[[float], Any]] = {
    "known": lambda mean: mean,
    "interval": lambda mean: (mean - 0.1, mean + 0.05),
    "learned": lambda mean: "learned",
}


class Play(NamedTuple):
    """What a proposer may look at."""

    policy: Policy
    means: tuple[float, ...]
    luck: float
    """Rewards minus means of its rounds so far."""
    number: int


def worst(play: Play) -> int:
    return min(range(4), key=play.means.__getitem__)


def in_turn(play: Play) -> int:
    return play.number % 4


def lucky(play: Play) -> int:
    """Decent arms until the rewards are above their means, then nothing but the worst."""
    return worst(play) if play.luck > 0.0 else 1


def watchful(play: Play) -> int:
    """Saves up with the baseline until the margin allows the worst arm many times, then burns."""
    allowed = play.policy.explain(proposal=worst(play)).explanation["most_optimistic"]["margin"]
    spend = allowed >= 2.0 or 0 <= allowed <= play.luck or play.luck > 1.0
    return worst(play) if spend else 1 if play.luck <= 0.0 else BASELINE


PROPOSERS: dict[str, Callable[[Play], int]] = {
    "worst": worst,
    "in turn": in_turn,
    "lucky": lucky,
    "watchful": watchful,
}


def make(name: str, problem: Problem, arrival: dict[str, Any], known: str) -> Policy:
    given = problem.told | {"alpha": ALPHA, "delta": DELTA, "baseline": BASELINE}
    given |= {key: value for key, value in arrival.items() if key != "delay"}
    given["baseline_mean"] = KNOWN[known](problem.means[BASELINE])
    if name == "GUARD-T":
        given["checkpoint_every"] = EVERY
    return handrail.make_policy(name, **given)


def violated(
    policy: Policy,
    problem: Problem,
    delay: int,
    propose: Callable[[Play], int],
    rng: np.random.Generator,
) -> bool:
    """Play one run; rewards come `delay` rounds late."""
    every = EVERY if policy.algorithm.schedule == "checkpoints" else 1
    budget = luck = 0.0
    waiting: list[tuple[str, float]] = []
    for number in range(1, ROUNDS + 1):
        play = Play(policy, problem.means, luck, number)
        decision = policy.decide(proposal=propose(play))
        mean = problem.means[decision.action]
        budget += mean - (1.0 - ALPHA) * problem.means[BASELINE]
        if number % every == 0 and budget < -ROUNDING:
            return True
        noisy = mean + problem.noise * float(rng.standard_normal())
        reward = noisy if problem.noise else float(rng.random() < mean)
        if decision.event != "baseline":
            luck += reward - mean
        waiting.append((decision.id, reward))
        if len(waiting) > delay:
            policy.learn(*waiting.pop(0))
    return False


def violations(name: str, proposer: str, spoil: dict[str, float] | None = None) -> int:
    """Count violated runs, over problems, arrivals and knowledge in turn."""
    rng = np.random.default_rng(11)
    count = 0
    for run in range(RUNS):
        problem = PROBLEMS[run % 3]
        arrival = ARRIVALS[run // 3 % 3]
        policy = make(name, problem, arrival, list(KNOWN)[run // 9 % 3])
        for field, value in (spoil or {}).items():
            policy._state.model.rules[field] = value
        count += violated(policy, problem, arrival["delay"], PROPOSERS[proposer], rng)
    return count


def _long(proposers: Iterable[str], kept: str) -> list[Any]:
    """All but one of them take too long for every day; `make certify` has guards as well."""
    return [p if p == kept else pytest.param(p, marks=pytest.mark.long) for p in proposers]


@pytest.mark.parametrize("name", ["GUARD", "GUARD-T"])
@pytest.mark.parametrize("proposer", _long(PROPOSERS, "in turn"))
def test_at_most_delta_of_the_runs_are_violated(name: str, proposer: str) -> None:
    count = violations(name, proposer)
    print(f"{name} against {proposer}: {count} of {RUNS} runs violated, at most {MOST} allowed")
    assert count <= MOST


@pytest.mark.parametrize("proposer", _long(["lucky", "watchful"], "lucky"))
def test_a_bound_that_is_too_small_is_found(proposer: str) -> None:
    """The same rounds with next to no noise allowed for."""
    from handrail.bounds.cumulative import CUMULATIVE_BOUNDS

    spoil = {"noise": 1e-3, "cumulative": CUMULATIVE_BOUNDS["subgaussian"]}
    count = violations("GUARD", proposer, spoil)
    print(f"too little noise, against {proposer}: {count} of {RUNS} runs violated")
    assert count > MOST
