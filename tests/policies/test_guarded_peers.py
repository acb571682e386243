"""Guarded policies of other libraries: no adapter is more than a few lines.

Each plays RUNS runs on arms made to hurt. With delta = DELTA, more than MOST of the guarded ones
are violated one time in a million (FALSE_ALARM); four tests, so that a false alarm has probability
below 4e-6. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import handrail

ALPHA, DELTA = 0.1, 0.1
RUNS, ROUNDS = 60, 250
FALSE_ALARM = 1e-6
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, DELTA))
MEANS = (0.8, 0.1, 0.4, 0.2)
BASELINE = 0


class River:
    """A bandit of river: ``pull`` is its select."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def select(self) -> int:
        return int(self.policy.pull(list(range(len(MEANS)))))

    def update(self, action: int, reward: float) -> None:
        self.policy.update(action, reward)


class Vowpal:
    """Vowpal Wabbit's contextual bandit, its exploration drawn here."""

    def __init__(self, vowpalwabbit: Any, seed: int) -> None:
        options = f"--cb_explore {len(MEANS)} --epsilon 0.2 --quiet --random_seed {seed}"
        self.workspace = vowpalwabbit.Workspace(options)
        self.rng = np.random.default_rng(seed)
        self.shares = np.ones(len(MEANS))

    def select(self) -> int:
        self.shares = np.array(self.workspace.predict("| bias"))
        self.shares /= self.shares.sum()
        return int(self.rng.choice(len(MEANS), p=self.shares))

    def update(self, action: int, reward: float) -> None:
        # Bounded weights, also where the guard plays what was hardly ever proposed.
        share = max(float(self.shares[action]), 0.05)
        self.workspace.learn(f"{action + 1}:{-reward}:{share} | bias")


def violated(policy: Any, rng: np.random.Generator) -> bool:
    """Play one run; return whether the budget was ever negative."""
    budget = smallest = 0.0
    for _ in range(ROUNDS):
        arm = policy.select()
        policy.update(arm, float(rng.random() < MEANS[arm]))
        budget += MEANS[arm] - (1 - ALPHA) * MEANS[BASELINE]
        smallest = min(smallest, budget)
    return smallest < -1e-9


def compare(factory: Callable[[int], Any]) -> None:
    """Alone the policy falls below, guarded it does not, and it still gets to play."""
    rng = np.random.default_rng(3)
    alone = sum(violated(factory(seed), rng) for seed in range(RUNS))
    kept, plays = 0, 0
    for seed in range(RUNS):
        guard = handrail.guard(
            baseline=BASELINE,
            baseline_mean=MEANS[BASELINE],
            alpha=ALPHA,
            delta=DELTA,
            reward_range=(0, 1),
        )
        kept += violated(handrail.Guarded(factory(seed), guard), rng)
        plays += int(guard._state.model.ledger["plays"][0])
    print(f"below 0 in {alone} of {RUNS} runs alone, in {kept} guarded ({MOST} allowed)")
    assert alone > 0.9 * RUNS
    assert kept <= MOST
    assert plays > RUNS


@pytest.mark.parametrize("name", ["EpsilonGreedy", "UCB", "ThompsonSampling"])
def test_river(name: str) -> None:
    bandit = pytest.importorskip("river.bandit", reason="river is not installed (extra: peers)")
    proba = pytest.importorskip("river.proba")
    makers: dict[str, Callable[[int], Any]] = {
        "EpsilonGreedy": lambda seed: bandit.EpsilonGreedy(epsilon=0.2, seed=seed),
        "UCB": lambda seed: bandit.UCB(delta=1, seed=seed),
        "ThompsonSampling": lambda seed: bandit.ThompsonSampling(
            reward_obj=proba.Beta(seed=seed), seed=seed
        ),
    }
    compare(lambda seed: River(makers[name](seed)))


def test_vowpal_wabbit() -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit is not installed")
    compare(lambda seed: Vowpal(vowpalwabbit, seed))
