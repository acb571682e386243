"""Proposals in the simulator: the same seeds, streams and tables, and the promise of a guard.

Of RUNS * PROBLEMS runs of a guard that fails with probability exactly delta, more than MOST would
be violated one time in a million (FALSE_ALARM); with 8 such tests a false alarm has probability
below 8e-6. Seeds are fixed.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import handrail
from handrail import Contender
from handrail.counter import children, root
from handrail.environments.problem import ContextProblem, FixedProblem
from handrail.environments.rewards import REWARDS, draw
from handrail.simulation.blocks import blocks, entry
from handrail.simulation.experiment import Experiment
from handrail.simulation.proposers.registry import (
    make_proposer,
    proposer_digest,
    unguarded,
)
from handrail.simulation.simulate import make_experiment
from handrail.simulation.stop import Interrupted, Stop
from simulation import proposing
from simulation.test_bits import bits

ALPHA, DELTA = 0.2, 0.1
FIXED = ("thompson", "epsilon-greedy", "explore-then-commit")
RUNS, PROBLEMS, ROUNDS = 60, 4, 400
FALSE_ALARM = 1e-6
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS * PROBLEMS, DELTA))
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "known": ("GUARD", {}),
    "interval": ("GUARD", {"baseline_offsets": (0.1, 0.05)}),
    "learned": ("GUARD", {"baseline_mean": "learned"}),
    "every 20": ("GUARD-T", {"checkpoint_every": 20}),
    "list": ("GUARD-T", {"checkpoints": [30, 100, 250]}),
    "gaps": ("GUARD-T", {"checkpoint_gap": stats.poisson(12, loc=1)}),
    "least gap, learned": ("GUARD-T", {"checkpoint_gap": 9, "baseline_mean": "learned"}),
    "mixture": ("GUARD", {"cumulative": "mixture", "tightest_at": 50.0}),
}


def _experiment(*contenders: Contender, environment: str = "bernoulli", **more: Any) -> Experiment:
    given: dict[str, Any] = {"alpha": ALPHA, "delta": DELTA}
    size = {"rounds": ROUNDS, "runs": 12, "problems": 2, "seed": 3, "points": 20}
    size |= {key: more.pop(key) for key in list(more) if key in size}
    return make_experiment(environment, contenders, given | more, **size)


# -- the engine is the policy ----------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_are_those_of_a_guard_by_hand(variant: str) -> None:
    """Fixed arms, round by round: `handrail.make_policy` with the same proposals and rewards."""
    name, more = VARIANTS[variant]
    contender = Contender(name, {"proposer": "thompson", **more})
    chosen = _experiment(contender, arms=4, baseline_rank=2)
    for run in range(3):
        made = entry(chosen, chosen.contenders[0], 1)
        curve, meter, actions = made.play(run, trace=True)
        problem = made.problem
        assert isinstance(problem, FixedProblem)
        mean = float(problem.means[problem.baseline])
        told = {key: value for key, value in more.items() if key != "baseline_offsets"}
        told.setdefault("baseline_mean", mean)
        if "baseline_offsets" in more:
            below, above = more["baseline_offsets"]
            told["baseline_mean"] = (max(mean - below, 0.0), min(mean + above, 1.0))
        policy = handrail.make_policy(
            name, baseline=problem.baseline, alpha=ALPHA, delta=DELTA, reward_range=(0, 1), **told
        )
        seed = int(root(3, 6, 1, run)) >> 32
        proposer = make_proposer("thompson", 4, None, seed)
        keys, counts = children(root(3, 3, 1, run), 4), [0] * 4
        due = list(made._checkpoints(run)[0])
        budgets, regrets = [], []
        for number in range(ROUNDS):
            decision = policy.decide(proposal=proposer.select())
            arm = decision.action
            assert arm == actions[number], f"round {number + 1}"
            reward = draw(0, problem.means[arm], 0.5, keys[arm], counts[arm])
            counts[arm] += 1
            policy.learn(decision, reward)
            proposer.update(arm, reward)
            budgets.append(problem.means[arm] - (1 - ALPHA) * mean)
            regrets.append(problem.means.max() - problem.means[arm])
            if "checkpoint_gap" in more and number + 1 in due:
                policy.checkpoint()
        at = made.grid - 1
        assert curve[:, 0] == pytest.approx(np.cumsum(regrets)[at], abs=1e-9)
        assert curve[:, 1] == pytest.approx(np.cumsum(budgets)[at], abs=1e-9)
        assert meter["smallest"][0] == pytest.approx(np.cumsum(budgets).min(), abs=1e-9)


@pytest.mark.parametrize("variant", ["known", "interval", "every 20", "list"])
def test_context_runs_are_those_of_a_guard_by_hand(variant: str) -> None:
    name, more = VARIANTS[variant]
    contender = Contender(name, {"proposer": "linear-epsilon-greedy", **more})
    chosen = _experiment(
        contender, environment="contextual-linear", actions=4, dim=3, perturbation=0.3
    )
    made = entry(chosen, chosen.contenders[0], 1)
    curve, meter, actions = made.play(5, trace=True)
    problem = made.problem
    assert isinstance(problem, ContextProblem)
    told = {key: value for key, value in more.items() if key != "baseline_offsets"}
    if name == "GUARD-T":
        told["baseline_lower"] = problem.baseline_lower
    policy = handrail.make_policy(name, alpha=ALPHA, delta=DELTA, noise=problem.noise, **told)
    below, above = more.get("baseline_offsets", (0.0, 0.0))
    proposer = make_proposer("linear-epsilon-greedy", 4, 3, int(root(3, 6, 1, 5)) >> 32)
    keys = children(root(3, 3, 1, 5), 4)
    brought = problem.bring(5, 0, ROUNDS)
    steps = []
    for number, (features, means, baseline) in enumerate(zip(*brought, strict=True)):
        mean = float(means[baseline])
        decision = policy.decide(
            proposal=proposer.select(features),
            baseline=int(baseline),
            baseline_mean=(max(mean - below, 0.0), min(mean + above, 1.0)),
        )
        action = decision.action
        assert action == actions[number], f"round {number + 1}"
        reward = draw(1, means[action], problem.noise, keys[action], number)
        policy.learn(decision, reward)
        proposer.update(action, reward, features)
        steps.append(means[action] - (1 - ALPHA) * mean)
    assert curve[:, 1] == pytest.approx(np.cumsum(steps)[made.grid - 1], abs=1e-9)
    assert meter["smallest"][0] == pytest.approx(np.cumsum(steps).min(), abs=1e-9)


@pytest.mark.parametrize("environment", ["bernoulli", "linear", "contextual-linear"])
@pytest.mark.parametrize("guarded", [True, False])
def test_a_proposer_is_told_the_rewards_of_the_streams(environment: str, guarded: bool) -> None:
    """Of every round, the baseline's too; the j-th of an arm, or the round's."""
    row = "GUARD" if guarded else unguarded("in turn")
    contender = Contender(row, {"proposer": proposing.Recorder})
    made = entry(_experiment(contender, environment=environment), contender, 0)
    proposing.Recorder.made.clear()
    _, _, actions = made.play(2, trace=True)
    (recorder,) = proposing.Recorder.made
    assert recorder.seed == int(root(3, 6, 0, 2)) >> 32
    assert [action for action, _ in recorder.told] == actions.tolist()
    problem = made.problem
    keys, counts = children(root(3, 3, 0, 2), recorder.arms), [0] * recorder.arms
    contexts = isinstance(problem, ContextProblem)
    brought = problem.bring(2, 0, ROUNDS).means if isinstance(problem, ContextProblem) else None
    for number, (action, reward) in enumerate(recorder.told):
        if brought is not None:
            mean = brought[number, action]
        else:
            assert isinstance(problem, FixedProblem)
            mean = problem.means[action]
        j = number if contexts else counts[action]
        counts[action] += 1
        assert reward == draw(REWARDS[problem.rewards], mean, problem.noise, keys[action], j)
    if not guarded:
        assert len(set(actions.tolist())) == recorder.arms


# -- bits ------------------------------------------------------------------------------------

COMPANY = [
    *(Contender("GUARD", {"proposer": name}) for name in FIXED),
    Contender(unguarded("TS"), {"proposer": "thompson"}),
    Contender("GUARD-T", {"proposer": "epsilon-greedy", "checkpoint_gap": stats.poisson(9, loc=1)}),
]


def _tables(**more: Any) -> tuple[bytes, bytes]:
    given: dict[str, Any] = {"rounds": 80, "runs": 23, "problems": 2, "points": 20, "alpha": ALPHA}
    given |= {"algorithms": COMPANY, "arms": 4, **more}
    first, second = (handrail.simulate("bernoulli", per=per, **given) for per in ("round", "run"))
    return bits(first), bits(second)


def test_workers_and_blocks() -> None:
    expected = _tables(workers=1, block=1000)
    for workers, block in [(1, 10), (3, 20), (2, None)]:
        assert _tables(workers=workers, block=block) == expected
    assert _tables(seed=1) != expected


def test_contexts_by_workers_and_blocks() -> None:
    both = [
        Contender("GUARD", {"proposer": "linear-epsilon-greedy"}),
        Contender(unguarded("greedy"), {"proposer": "linear-epsilon-greedy"}),
    ]
    given: dict[str, Any] = {"algorithms": both, "rounds": 60, "runs": 23, "actions": 3, "dim": 3}
    tables = [
        bits(handrail.simulate("contextual-linear", workers=workers, block=block, **given))
        for workers, block in [(1, 1000), (2, 10), (3, 20)]
    ]
    assert len(set(tables)) == 1


SCRIPT = """
from simulation.test_proposals import _tables
print([digest.hex() for digest in _tables(runs=5)])
"""


def test_another_process() -> None:
    home = str(Path(__file__).resolve().parent.parent)
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([home, os.environ.get("PYTHONPATH", "")])},
    )
    assert answer.stdout.strip() == str([digest.hex() for digest in _tables(runs=5)])


def test_global_random_state_is_left_alone() -> None:
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    _tables(runs=2)
    after = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    assert before == after


def test_a_block_travels() -> None:
    contender = Contender("GUARD", {"proposer": proposing.Last})
    chosen = _experiment(contender, rounds=50)
    for _, block in blocks(chosen):
        sent = pickle.loads(pickle.dumps(block))
        assert sent.compute(Stop()) == block.compute(Stop())


def test_blocks_are_named_by_the_proposer(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(proposer: Any) -> set[str]:
        contender = Contender("GUARD", {"proposer": proposer})
        return {key for key, _ in blocks(_experiment(contender))}

    names = [*FIXED, proposing.Last, "simulation.proposing:Stubborn"]
    assert len(set().union(*map(keys, names))) == len(names) * len(keys("thompson"))
    assert keys(proposing.Last) == keys("simulation.proposing:Last")
    before = keys(proposing.Last)
    registry = "handrail.simulation.blocks.proposer_digest"
    monkeypatch.setattr(registry, lambda name: proposer_digest(name) + "edited")
    assert not before & keys(proposing.Last)


def test_an_interrupted_run_goes_on(tmp_path: Any) -> None:
    from handrail.simulation.simulate import run_experiment

    chosen = _experiment(Contender("GUARD", {"proposer": "thompson"}), runs=25, rounds=40)
    expected = bits(run_experiment(chosen).runs)
    assert bits(run_experiment(chosen, out=tmp_path / "out").runs) == expected
    assert bits(run_experiment(chosen, out=tmp_path / "out").runs) == expected


@pytest.mark.parametrize("environment", ["bernoulli", "contextual-linear"])
def test_a_run_that_is_told_to_stop_does(environment: str) -> None:
    contender = Contender("GUARD", {"proposer": proposing.Recorder})
    made = entry(_experiment(contender, environment=environment), contender, 0)
    stop = Stop()
    stop.set()
    proposing.Recorder.made.clear()
    with pytest.raises(Interrupted):
        made.play(0, stop=stop)
    assert not proposing.Recorder.made[0].told


# -- the promise -----------------------------------------------------------------------------


def _runs(environment: str, contender: Contender, **more: Any) -> Any:
    return handrail.simulate(
        environment,
        algorithms=[contender],
        rounds=ROUNDS,
        runs=RUNS,
        problems=PROBLEMS,
        per="run",
        points=1,
        parameters={"alpha": ALPHA, "delta": DELTA, **more},
    )


# The baseline is the best arm: every other round eats into the budget.
HARD: dict[str, Any] = {"arms": 5, "low": 0.0, "high": 1.0, "baseline_rank": 1}


@pytest.mark.parametrize("proposer", [*FIXED, "simulation.proposing:Last"])
def test_guarded_they_keep_the_promise(proposer: str) -> None:
    table = _runs("bernoulli", Contender("GUARD", {"proposer": proposer}), **HARD)
    count = int(np.sum(table["smallest_budget"].to_numpy() < -1e-9))
    print(f"{proposer}: {count} of {RUNS * PROBLEMS} guarded runs violated, {MOST} allowed")
    assert count <= MOST
    assert count == np.sum(table["violations"].to_numpy() > 0)
    assert 0.0 < np.mean(table["e1"].to_numpy()) < 1.0


@pytest.mark.parametrize("proposer", FIXED)
def test_unguarded_they_do_not(proposer: str) -> None:
    table = _runs("bernoulli", Contender(unguarded("alone"), {"proposer": proposer}), **HARD)
    share = np.mean(table["smallest_budget"].to_numpy() < -1e-9)
    print(f"{proposer}: {share:.0%} of unguarded runs violated")
    assert share > 0.5  # delta is 0.1
    e3 = table["e3"].to_numpy()
    assert np.all(e3 < 1.0)
    assert np.mean(e3) > 0.1  # the baseline is proposed, and counted as such


@pytest.mark.parametrize(
    "variant", ["learned", "every 20", pytest.param("gaps", marks=pytest.mark.long)]
)
def test_whatever_is_known_they_keep_the_promise(variant: str) -> None:
    name, more = VARIANTS[variant]
    table = _runs("bernoulli", Contender(name, {"proposer": "epsilon-greedy", **more}), **HARD)
    where = "smallest_budget_at_checkpoints" if name == "GUARD-T" else "smallest_budget"
    assert int(np.sum(table[where].to_numpy() < -1e-9)) <= MOST


@pytest.mark.long
def test_over_contexts_they_keep_the_promise() -> None:
    hard = {"actions": 6, "dim": 3, "perturbation": 0.1, "noise": 0.5}
    proposer = {"proposer": "linear-epsilon-greedy"}
    kept = _runs("contextual-linear", Contender("GUARD", proposer), **hard)
    assert int(np.sum(kept["smallest_budget"].to_numpy() < -1e-9)) <= MOST
    alone = _runs("contextual-linear", Contender(unguarded("alone"), proposer), **hard)
    assert np.mean(alone["smallest_budget"].to_numpy() < -1e-9) > 0.5
