"""Changing contexts: decide and learn against LinUCB loops.

Run in a process of its own, once with BLAS on one thread and once on its default: NumPy reads the
number of threads when it is loaded, and the reference is to have the one that suits it better.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from typing import Any

import numpy as np

import handrail
from benchmarks.linucb import Floats, NumpyLinUCB, compiled_linucb
from benchmarks.measure import Row, interleave, median, ratio, timed

ACTIONS, DIM, POOL = 30, 100, 500
ROUNDS = 4_500
"""More than the 4,096 rewards after which handrail computes V^-1 afresh."""
REPETITIONS = 5
BELIEF: dict[str, Any] = {
    "noise": 0.1,
    "delta": 0.05,
    "theta_bound": 1.0,
    "feature_bound": 1.0,
    "ridge": 1.0,
}
ALPHA, BASELINE = 0.5, 0
NAMES = ("CLUCB2", "CLUCB", "LinUCB")
PLAYED = 0.9
"""Share of rounds in which a conservative policy must play another action than the baseline."""
LIMIT = 1.0
"""Largest ratio to the NumPy loop."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def draw(actions: int, dim: int, pool: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Draw contexts, rewards and baseline means; the baseline, action 0, is a poor one."""
    rng = np.random.default_rng(seed)
    theta = np.abs(rng.standard_normal(dim))
    theta /= np.linalg.norm(theta)
    contexts = np.abs(rng.standard_normal((pool, actions, dim)))
    contexts *= rng.uniform(0.5, 1.0, (pool, actions, 1)) / np.linalg.norm(
        contexts, axis=2, keepdims=True
    )
    contexts[:, BASELINE] *= 0.1
    means = contexts @ theta
    rewards = means + BELIEF["noise"] * rng.standard_normal(means.shape)
    return contexts, rewards, means[:, BASELINE].copy()


def make(name: str, dim: int) -> handrail.Policy:
    """Make a policy for contexts that change."""
    given: dict[str, Any] = {**BELIEF, "dim": dim, "mean_range": (0, 1), "baseline": BASELINE}
    if handrail.algorithm(name).conservative:
        given["alpha"] = ALPHA
    return handrail.make_policy(name, **given)


def play(
    policy: handrail.Policy, contexts: Floats, rewards: Floats, means: Floats, rounds: int
) -> float:
    """Play a policy; return the share of rounds that were not the baseline."""
    table, lows, pool = rewards.tolist(), means.tolist(), len(contexts)
    others = 0
    for t in range(rounds):
        i = t % pool
        decision = policy.decide(features=contexts[i], baseline_mean=lows[i])
        policy.learn(decision, table[i][decision.action])
        others += decision.event != "baseline"
    return others / rounds


def play_numpy(contexts: Floats, rewards: Floats) -> None:
    """Play the NumPy reference."""
    policy = NumpyLinUCB(DIM, **BELIEF)
    table, pool = rewards.tolist(), len(contexts)
    for t in range(ROUNDS):
        i = t % pool
        action = policy.decide(contexts[i])
        policy.learn(contexts[i, action], table[i][action])


def check_same(contexts: Floats, rewards: Floats) -> None:
    """Make sure that LinUCB and both loops play the same actions: they do the same work."""
    policy, loop, total = make("LinUCB", DIM), NumpyLinUCB(DIM, **BELIEF), 0
    for t in range(POOL):
        decision, action = policy.decide(features=contexts[t]), loop.decide(contexts[t])
        assert decision.action == action, f"LinUCB differs from the NumPy loop in round {t + 1}"
        policy.learn(decision, rewards[t, action])
        loop.learn(contexts[t, action], rewards[t, action])
        total += action
    compiled = compiled_linucb(contexts, rewards, POOL, *BELIEF.values())
    assert total == compiled, "the Numba loop differs from the NumPy loop"


def slowest(contexts: Floats, rewards: Floats, means: Floats) -> float:
    """Return the seconds of the slowest round of CLUCB2, the median of some runs."""
    found = []
    for _ in range(REPETITIONS):
        policy, longest = make("CLUCB2", DIM), 0.0
        for t in range(ROUNDS):
            i = t % POOL
            start = time.perf_counter()
            decision = policy.decide(features=contexts[i], baseline_mean=means[i])
            policy.learn(decision, rewards[i, decision.action])
            longest = max(longest, time.perf_counter() - start)
        found.append(longest)
    return statistics.median(found)


def measure() -> dict[str, Any]:
    """Time all contestants in this process."""
    contexts, rewards, means = draw(ACTIONS, DIM, POOL)
    check_same(contexts, rewards)
    shares: dict[str, float] = {}

    def ours(name: str) -> float:
        policy = make(name, DIM)

        def work() -> None:
            shares[name] = play(policy, contexts, rewards, means, ROUNDS)

        return timed(work)

    seconds = interleave(
        {
            "NumPy": lambda: timed(lambda: play_numpy(contexts, rewards)),
            "Numba": lambda: timed(
                lambda: compiled_linucb(contexts, rewards, ROUNDS, *BELIEF.values())
            ),
            **{name: partial(ours, name) for name in NAMES},
        },
        REPETITIONS,
    )
    for name in NAMES:
        assert shares[name] >= PLAYED, f"{name} played the baseline too often: {shares[name]:.0%}"
    return {
        "seconds": seconds,
        "shares": shares,
        "slowest": slowest(contexts, rewards, means),
    }


def _rows(found: dict[str, Any], threads: str, judged: bool) -> list[Row]:
    seconds, group = found["seconds"], f"contexts K={ACTIONS} d={DIM}, BLAS {threads}"
    rows = [
        Row(group, f"{name} loop (LinUCB)", median(seconds[name], ROUNDS), "us/round")
        for name in ("NumPy", "Numba")
    ]
    return (
        rows
        + [
            Row(
                group,
                name,
                median(seconds[name], ROUNDS),
                "us/round",
                other,
                ratio(seconds[name], seconds[other]),
                LIMIT if judged and other == "NumPy" else None,
                f"{found['shares'][name]:.0%} other than the baseline",
            )
            for name in NAMES
            for other in ("NumPy", "Numba")
        ]
        + [
            Row(
                group,
                f"CLUCB2, slowest of {ROUNDS:,} rounds",
                found["slowest"] * 1e6,
                "us",
            )
        ]
    )


def rows() -> list[Row]:
    """Measure with both numbers of BLAS threads; the one that suits NumPy better is judged."""
    found = {}
    for threads in ("1 thread", "default"):
        env = {key: value for key, value in os.environ.items() if key not in THREADS}
        if threads == "1 thread":
            env |= dict.fromkeys(THREADS, "1")
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.contexts"],
            env=env,
            stdout=subprocess.PIPE,
            check=True,
        )
        found[threads] = json.loads(done.stdout)
    best = min(found, key=lambda threads: median(found[threads]["seconds"]["NumPy"]))
    return [
        row for threads in found for row in _rows(found[threads], threads, judged=threads == best)
    ]


if __name__ == "__main__":
    print(json.dumps(measure()))
