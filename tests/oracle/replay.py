"""Follow a run of the simulator with the oracle: the same actions, the same measurements.

The simulator's trace of actions is all that is taken from it, and the drawn problem. Rewards are
drawn anew (`oracle.rewards`), decided on (`oracle.oracle`) and measured (`oracle.measure`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from handrail.environments.problem import ContextProblem, FixedProblem
from handrail.simulation.entry import Entry
from oracle.answer import Answer, Floats
from oracle.catalogue import Parts
from oracle.compare import TIE, Tally, choice, tied
from oracle.measure import Measured, Step, measure
from oracle.oracle import Oracle
from oracle.pair import preset, with_lines
from oracle.problems import arguments
from oracle.rewards import reward
from oracle.selection import event

CLOSE = 1e-9


def told(problem: FixedProblem | ContextProblem, parts: Parts) -> dict[str, Any]:
    """What a policy knows of a problem."""
    known: dict[str, Any] = {"noise": problem.noise, "theta_bound": problem.theta_bound}
    if problem.rewards == "bernoulli":
        known["reward_range"] = (0.0, 1.0)
    if isinstance(problem, FixedProblem):
        known |= {
            "arms": len(problem.means),
            "features": problem.rows(),
            "baseline": problem.baseline,
            "baseline_mean": float(problem.means[problem.baseline]),
            "true_means": problem.means,
        }
    else:
        known |= {
            "dim": problem.dim,
            "feature_bound": problem.feature_bound,
            "baseline_lower": problem.baseline_lower,
        }
    return arguments(parts, known)


class Brought(NamedTuple):
    """What a round brings, and how much of it is said in `decide`."""

    means: Floats
    baseline: int
    asked: dict[str, Any]


def rounds(
    problem: FixedProblem | ContextProblem, run: int, size: int, parts: Parts
) -> Iterator[Brought]:
    """The rounds of a run."""
    if isinstance(problem, FixedProblem):
        for _ in range(size):
            yield Brought(problem.means, problem.baseline, {})
        return
    features, means, baselines = problem.contexts(run, 0, size)
    for now in range(size):
        baseline = int(baselines[now])
        asked: dict[str, Any] = {"features": features[now], "baseline": baseline}
        asked["baseline_mean"] = float(means[now, baseline])
        if parts.past == "oracle":
            asked["true_means"] = means[now]
        yield Brought(means[now], baseline, asked)


def replay(entry: Entry, run: int, alpha: float, most_ties: int, **policy: Any) -> Tally:
    """Play a run and follow it; raises AssertionError at the first difference."""
    problem, row = entry.problem, entry.algorithm
    parts = Parts(row.estimator, row.past, row.selection, row.schedule)
    policy = arguments(parts, {"alpha": alpha, **policy})
    settings = {**told(problem, parts), **policy}
    oracle = Oracle(parts=parts, **with_lines({**preset(row, settings), **settings}))
    curve, meter, actions = entry.play(run, trace=True)
    tally = Tally()
    steps: list[Step] = []
    plays: Counter[int] = Counter()
    for now, (means, baseline, asked) in enumerate(rounds(problem, run, len(actions), parts)):
        action = int(actions[now])
        if oracle.learned:
            asked.pop("baseline_mean", None)
        answer = oracle.decide(**asked, force=action)
        if answer.action != action:
            assert _tied(answer, action), f"round {now + 1}: played {action}, {answer}"
            tally.ties += 1
        kind = event(action, answer.uppers, baseline, parts.selection)
        tally.events[kind] += 1
        mean = float(means[action])
        steps.append(Step(mean, float(max(means)), float(means[baseline]), kind))
        if parts.past == "none" or action != baseline or oracle.learn_baseline:
            j = plays[action] if isinstance(problem, FixedProblem) else now
            plays[action] += 1
            place = (entry.seed, entry.index, run, action, j)
            oracle.learn(now + 1, reward(problem.rewards, mean, problem.noise, *place))
    every = int(policy.get("checkpoint_every", 0))
    measured = measure(steps, alpha, every, policy.get("checkpoints", ()))
    _compare(measured, entry, curve, meter[0], tally.ties)
    assert tally.ties <= most_ties, f"{tally.ties} ties"
    return tally


def _tied(answer: Answer, action: int) -> bool:
    """A tie, or one among the most optimistic actions, of which only some are safe."""
    if tied(answer, action):
        return True
    for leader, upper in enumerate(answer.uppers):
        uppers = answer.uppers.copy()
        uppers[leader] = upper + 2 * TIE * abs(upper)
        played = choice(answer, uppers, answer.lowers, answer.margins)
        if leader != answer.baseline and action == played:
            return True
    return False


def _compare(expected: Measured, entry: Entry, curve: Any, meter: Any, ties: int) -> None:
    """The simulator's measurements; a tie may count as another event."""
    for row, now in zip(curve, entry.grid, strict=True):
        end = int(now) - 1
        assert row[0] == pytest.approx(expected.regret[end], rel=CLOSE, abs=CLOSE), now
        assert row[1] == pytest.approx(expected.budget[end], rel=CLOSE, abs=CLOSE), now
        assert abs(row[2] - expected.optimistic[end]) <= ties, now
        assert abs(row[3] - expected.safe[end]) <= ties, now
    assert abs(meter.optimistic - expected.optimistic[-1]) <= ties
    assert abs(meter.safe - expected.safe[-1]) <= ties
    assert meter.violations == expected.violations
    assert meter.smallest == pytest.approx(expected.smallest, rel=CLOSE, abs=CLOSE)
    assert meter.smallest_at_checkpoints == pytest.approx(
        expected.smallest_at_checkpoints, rel=CLOSE, abs=CLOSE
    )
