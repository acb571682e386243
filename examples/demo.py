"""All sixteen algorithms on two small problems: a table each, and one picture in out/demo.png.

Every algorithm of a problem sees the same rewards: in run r, the j-th reward of arm a is the same
for all. Budgets and regrets use the true means; delta is spent by `union` accounting (default).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import handrail

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "out" / "demo.png"
SEED = 2020
RUNS = 16
DELTA = 0.05
ALPHA = 0.05
BERNOULLI = {"seed": 2, "arms": 10, "rank": 4, "rounds": 20_000, "checkpoint_every": 1_000}
LINEAR = {"seed": 1, "arms": 20, "dim": 20, "rank": 3, "rounds": 8_000, "checkpoint_every": 500}
NOISE = 0.1
RIDGE = 0.5
ROUNDING = 1e-9
"""A budget this far below 0 is the sum's rounding: oracles go down to 0 itself."""
EVENTS = ("optimistic", "safe", "baseline")


@dataclass(frozen=True)
class Problem:
    """A drawn model, and what every algorithm is told about it."""

    title: str
    estimator: str
    means: Floats
    baseline: int
    rounds: int
    checkpoint_every: int
    draw_rewards: Callable[[np.random.Generator], Floats]
    told: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """One algorithm's runs: regret and budget by run and round, and the rounds by event."""

    algorithm: handrail.Algorithm
    regret: Floats
    budget: Floats
    shares: dict[str, float]

    def lowest(self, every: int) -> float:
        """Return the lowest budget over all runs and the rounds every, 2 every, ..."""
        return float(self.budget[:, every - 1 :: every].min())


# ---------------------------------------------------------------- problems


def ranked(means: Floats, rank: int) -> int:
    """Return the arm with the rank-th largest mean."""
    return int(np.argsort(-means)[rank - 1])


def bernoulli_problem() -> Problem:
    """Draw arms with means ~ U[0.25, 0.75] and rewards of 0 or 1."""
    arms, rounds, rank = BERNOULLI["arms"], BERNOULLI["rounds"], BERNOULLI["rank"]
    means = np.random.default_rng(BERNOULLI["seed"]).uniform(0.25, 0.75, arms)

    def rewards(rng: np.random.Generator) -> Floats:
        return (rng.random((arms, rounds)) < means[:, None]).astype(np.float64)

    return Problem(
        title=f"Bernoulli arms: K={arms}, baseline = rank {rank}",
        estimator="means",
        means=means,
        baseline=ranked(means, rank),
        rounds=rounds,
        checkpoint_every=BERNOULLI["checkpoint_every"],
        draw_rewards=rewards,
        told={"arms": arms, "reward_range": (0, 1)},
    )


def linear_problem() -> Problem:
    """Draw a linear model, shifted and scaled so that the best mean is 1 and the worst 0."""
    arms, dim, rounds, rank = (LINEAR[key] for key in ("arms", "dim", "rounds", "rank"))
    rng = np.random.default_rng(LINEAR["seed"])
    theta = rng.standard_normal(dim)
    theta *= rng.uniform(0.5, 1.0) / np.linalg.norm(theta)
    features = np.empty((arms, dim))
    for a in range(arms):
        row = rng.standard_normal(dim)
        while row @ theta <= 0.0:
            row = rng.standard_normal(dim)
        features[a] = row * rng.uniform(0.5, 1.0)
    features /= np.linalg.norm(features, axis=1).max()
    raw = features @ theta
    features = (features - features[raw.argmin()]) / (raw.max() - raw.min())
    means: Floats = features @ theta

    def rewards(rng: np.random.Generator) -> Floats:
        table: Floats = means[:, None] + NOISE * rng.standard_normal((arms, rounds))
        return table

    return Problem(
        title=f"Linear model: K={arms}, d={dim}, baseline = rank {rank}",
        estimator="linear",
        means=means,
        baseline=ranked(means, rank),
        rounds=rounds,
        checkpoint_every=LINEAR["checkpoint_every"],
        draw_rewards=rewards,
        told={
            "features": features,
            "theta_bound": float(np.linalg.norm(theta)),
            "mean_range": (0, 1),
            "noise": NOISE,
            "ridge": RIDGE,
        },
    )


# ---------------------------------------------------------------- runs


def parameters(problem: Problem, row: handrail.Algorithm) -> dict[str, Any]:
    """Return what `make_policy` needs: each algorithm is given what it uses, and no more."""
    given = {**problem.told, "delta": DELTA, "baseline": problem.baseline}
    if row.conservative:
        given |= {"alpha": ALPHA, "baseline_mean": float(problem.means[problem.baseline])}
    if row.past == "oracle":
        given |= {"true_means": problem.means}
    if row.schedule == "checkpoints":
        given |= {"checkpoint_every": problem.checkpoint_every}
    return given


def play(
    policy: handrail.Policy, rewards: Sequence[Sequence[float]], counts: dict[str, int]
) -> Any:
    """Play one run and return its actions; rewards[a][j] is the j-th reward of arm a."""
    streams = [iter(stream) for stream in rewards]
    actions = np.empty(len(rewards[0]), np.int64)
    for t in range(actions.size):
        decision = policy.decide()
        policy.learn(decision, next(streams[decision.action]))
        actions[t] = decision.action
        counts[decision.event] += 1
    return actions


def run(problem: Problem) -> list[Result]:
    """Play all algorithms of a problem on the same rewards."""
    rows = [row for row in handrail.algorithms() if row.estimator == problem.estimator]
    actions = {row.name: np.empty((RUNS, problem.rounds), np.int64) for row in rows}
    counts = {row.name: dict.fromkeys(EVENTS, 0) for row in rows}
    for r in range(RUNS):
        rewards = problem.draw_rewards(np.random.default_rng([SEED, r])).tolist()
        for row in rows:
            policy = handrail.make_policy(row, **parameters(problem, row))
            actions[row.name][r] = play(policy, rewards, counts[row.name])
    results = []
    for row in rows:
        earned = problem.means[actions[row.name]]
        regret = np.cumsum(problem.means.max() - earned, axis=1)
        budget = np.cumsum(earned - (1 - ALPHA) * problem.means[problem.baseline], axis=1)
        shares = {event: counts[row.name][event] / earned.size for event in EVENTS}
        results.append(Result(row, regret, budget, shares))
    return results


# ---------------------------------------------------------------- table


def verdict(result: Result, every: int) -> str:
    """Say whether the promise was kept in every run, and what it was."""
    low = result.lowest(every)
    below = int((result.budget.min(axis=1) < -ROUNDING).sum())
    if not result.algorithm.conservative:
        return f"none (below 0 in {below} of {RUNS} runs)" if below else "none"
    if low < -ROUNDING:
        return f"BROKEN: {low:.2f}"
    return f"kept at checkpoints: {low:.2f}" if every > 1 else "kept"


def show(problem: Problem, results: list[Result]) -> None:
    """Print the table of a problem."""
    print(f"\n{problem.title}, n={problem.rounds:,}, alpha={ALPHA}, delta={DELTA}, {RUNS} runs")
    head = ("algorithm", "regret", "lowest budget", *EVENTS, "promise")
    form = "  {:<10} {:>16} {:>14}   {:>10} {:>6} {:>8}   {}"
    print(form.format(*head))
    for result in results:
        final = result.regret[:, -1]
        low = result.lowest(1)
        checked = result.algorithm.schedule == "checkpoints"
        print(
            form.format(
                result.algorithm.name,
                f"{final.mean():.1f} ± {final.std(ddof=1) / np.sqrt(RUNS):4.1f}",
                f"{low:.2f}{'!' if low < -ROUNDING else ' '}",
                *(f"{result.shares[event]:.1%}" for event in EVENTS),
                verdict(result, problem.checkpoint_every if checked else 1),
            ).rstrip()
        )


def main() -> int:
    """Solve both problems, print the tables, draw the picture."""
    start = time.perf_counter()
    print(
        "Regret: mean ± standard error at the last round. '!': the budget went below 0 somewhere."
    )
    solved = []
    for problem in (bernoulli_problem(), linear_problem()):
        results = run(problem)
        show(problem, results)
        solved.append((problem, results))
    try:
        from examples.demo_figure import draw
    except ImportError as error:
        print(f"\nno picture: {error.name} is missing; pip install 'handrail[figures]'")
    else:
        settings = f"α = {ALPHA}, δ = {DELTA}, union accounting"
        draw([(problem.title, results) for problem, results in solved], settings, PICTURE)
        print(f"\npicture: {PICTURE}")
    print(f"took {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # as a script, it would find modules in examples/ only
    sys.exit(main())
