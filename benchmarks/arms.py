"""Fixed arms: CUCB2 against river's UCB; linear models over fixed arms for information."""

from __future__ import annotations

from typing import Any

import numpy as np

import handrail
from benchmarks.contexts import ALPHA, BELIEF, PLAYED, draw
from benchmarks.measure import Row, interleave, median, ratio, timed

ARMS, ROUNDS, REPETITIONS = 10, 20_000, 7
MEANS = np.linspace(0.2, 0.7, ARMS)
LINEAR_ARMS, LINEAR_DIM = 30, 100


def make_cucb2() -> handrail.Policy:
    """Make CUCB2 with a poor baseline, so that most rounds play another arm and learn."""
    return handrail.make_policy(
        "CUCB2",
        arms=ARMS,
        baseline=0,
        baseline_mean=float(MEANS[0]),
        alpha=ALPHA,
        delta=0.05,
        reward_range=(0, 1),
    )


def draw_rewards(rounds: int) -> list[list[float]]:
    """Draw Bernoulli rewards: one row a round, one column an arm."""
    table: list[list[float]]
    table = (np.random.default_rng(0).random((rounds, ARMS)) < MEANS).astype(float).tolist()
    return table


def play(policy: handrail.Policy, rewards: list[list[float]]) -> float:
    """Play a policy; return the share of rounds that were not the baseline."""
    others = 0
    for row in rewards:
        decision = policy.decide()
        policy.learn(decision, row[decision.action])
        others += decision.event != "baseline"
    return others / len(rewards)


def play_river(policy: Any, rewards: list[list[float]]) -> None:
    """Play river's policy."""
    arms = list(range(ARMS))
    for row in rewards:
        arm = policy.pull(arms)
        policy.update(arm, row[arm])


def rows() -> list[Row]:
    """Measure."""
    rewards = draw_rewards(ROUNDS)
    contexts, linear_rewards, means = draw(LINEAR_ARMS, LINEAR_DIM, 1)
    linear = (linear_rewards[0] + np.zeros((ROUNDS, 1))).tolist()
    shares: dict[str, float] = {}

    def arms() -> float:
        policy = make_cucb2()
        return timed(lambda: shares.update(CUCB2=play(policy, rewards)))

    def fixed() -> float:
        policy = handrail.make_policy(
            "CLUCB2",
            features=contexts[0],
            baseline=0,
            baseline_mean=float(means[0]),
            alpha=ALPHA,
            mean_range=(0, 1),
            **BELIEF,
        )
        return timed(lambda: shares.update(CLUCB2=play(policy, linear)))

    contestants = {"CUCB2": arms, "CLUCB2": fixed}
    try:
        from river import bandit
    except ImportError:
        print("river is not installed: CUCB2 has no peer here (pip install 'handrail[peers]')\n")
    else:
        contestants["river"] = lambda: timed(lambda: play_river(bandit.UCB(delta=1), rewards))
    seconds = interleave(contestants, REPETITIONS)
    for name, share in shares.items():
        assert share >= PLAYED, f"{name} played the baseline too often: {share:.0%}"
    notes = {name: f"{share:.0%} other than the baseline" for name, share in shares.items()}
    group, time = f"arms K={ARMS}", {name: median(seconds[name], ROUNDS) for name in seconds}
    found = []
    if "river" in seconds:
        against = ratio(seconds["CUCB2"], seconds["river"])
        found.append(Row(group, "bandit.UCB (river)", time["river"], "us/round"))
        found.append(
            Row(group, "CUCB2", time["CUCB2"], "us/round", "river", against, 1.0, notes["CUCB2"])
        )
    else:
        found.append(Row(group, "CUCB2", time["CUCB2"], "us/round", note=notes["CUCB2"]))
    against = ratio(seconds["CLUCB2"], seconds["CUCB2"])
    return [
        *found,
        Row(
            f"fixed arms K={LINEAR_ARMS} d={LINEAR_DIM}",
            "CLUCB2",
            time["CLUCB2"],
            "us/round",
            "CUCB2 K=10",
            against,
            note=notes["CLUCB2"],
        ),
    ]
