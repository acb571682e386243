"""Runs in which somebody else's policy proposes and a guard answers, or nobody does.

The proposer is any Python object, so every round goes through the interpreter; what a round does to
ledger and measurements is compiled, and the same as for all others.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import lean
from handrail.conservative.choice import ACTION, EVENT
from handrail.conservative.past import NONE
from handrail.conservative.schedule import arrive
from handrail.conservative.selection import BASELINE_EVENT
from handrail.environments.problem import ContextProblem, FixedProblem
from handrail.environments.rewards import REWARDS, draw
from handrail.errors import InputError
from handrail.policies.guard_model import PROPOSED, decide_guard, reward_guard
from handrail.records import Floats, Ints, Ledger, Record, Rules
from handrail.simulation.meter import (
    count_event,
    end_rounds,
    fixed_budget,
    observe_checkpoint,
    observe_context,
    record_fixed,
    record_point,
)
from handrail.simulation.stop import Interrupted, Stop

__all__ = ["Run", "propose_contexts", "propose_fixed"]

_PORTION = 1024
"""Rounds of contexts that are brought at a time."""


class Run(NamedTuple):
    """What a run reads and writes."""

    rules: Record
    ledger: Record
    meter: Record
    keys: NDArray[np.uint64]
    grid: Ints
    curve: Floats
    actions: Ints
    below: float
    above: float
    checkpoints: Ints
    assured: Ints
    stop: Stop


@lean
def _settle(rules: Rules, ledger: Ledger, ledger_: Record, event: int, reward: float) -> bool:
    """Take a reward at once; return whether the round was held for the baseline."""
    held = event == BASELINE_EVENT and rules.past != NONE
    if not held:
        reward_guard(ledger_, False, 0.0, reward)
    elif ledger.waiting > 0:
        reward_guard(ledger_, True, 0.0, reward)
    return held


@lean
def _play_fixed(
    rules_: Record,
    ledger_: Record,
    meter_: Record,
    means: Floats,
    plays: Ints,
    counts: Ints,
    keys: NDArray[np.uint64],
    actions: Ints,
    checkpoints: Ints,
    assured: Ints,
    baseline: int,
    proposal: int,
    low: float,
    high: float,
    kind: int,
    noise: float,
) -> tuple[int, float]:
    """Answer a proposal over fixed arms; return the arm played and its reward.

    Every round earns a reward, the baseline's too: the proposer sees it, whoever else does not.
    """
    rules, ledger, meter = rules_[0], ledger_[0], meter_[0]
    if assured.size > 0:
        arrive(ledger, checkpoints, assured)
    choice = decide_guard(rules_, ledger_, proposal == baseline, low, high)
    arm = proposal if choice[ACTION] == PROPOSED else baseline
    reward = draw(kind, means[arm], noise, keys[arm], counts[arm])
    counts[arm] += 1
    if not _settle(rules, ledger, ledger_, choice[EVENT], reward):
        plays[arm] += 1
    mean = means[baseline]
    end_rounds(meter, ledger, plays, means, mean, arm, choice[EVENT], ledger.rounds - 1, actions)
    if assured.size > 0:
        budget = fixed_budget(meter, ledger, plays, means, mean)
        observe_checkpoint(meter, ledger, checkpoints, budget)
    return arm, reward


@lean
def _record_fixed(
    ledger_: Record,
    meter_: Record,
    plays: Ints,
    means: Floats,
    baseline: int,
    curve: Floats,
    point: int,
) -> None:
    record_fixed(meter_[0], ledger_[0], plays, means, means[baseline], curve, point)


@lean
def _play_context(
    rules_: Record,
    ledger_: Record,
    meter_: Record,
    means: Floats,
    keys: NDArray[np.uint64],
    actions: Ints,
    checkpoints: Ints,
    assured: Ints,
    baseline: int,
    proposal: int,
    below: float,
    above: float,
    kind: int,
    noise: float,
) -> tuple[int, float]:
    """Answer a proposal in a round with features of its own, likewise."""
    rules, ledger, meter = rules_[0], ledger_[0], meter_[0]
    now = ledger.rounds
    mean = means[baseline]
    if assured.size > 0:
        arrive(ledger, checkpoints, assured)
    low, high = max(mean - below, 0.0), min(mean + above, 1.0)
    choice = decide_guard(rules_, ledger_, proposal == baseline, low, high)
    action = proposal if choice[ACTION] == PROPOSED else baseline
    reward = draw(kind, means[action], noise, keys[action], now)
    _settle(rules, ledger, ledger_, choice[EVENT], reward)
    if actions.size > 0:
        actions[now] = action
    count_event(meter, choice[EVENT], 1)
    best = mean
    for each in range(means.size):
        best = max(best, means[each])
    observe_context(meter, now + 1, means[action], best, mean)
    if assured.size > 0:
        observe_checkpoint(meter, ledger, checkpoints, meter.budget + meter.budget_rest)
    return action, reward


@lean
def _record_context(meter_: Record, curve: Floats, point: int) -> None:
    meter = meter_[0]
    regret, budget = meter.regret + meter.regret_rest, meter.budget + meter.budget_rest
    record_point(meter, regret, budget, curve, point)


def _checked(proposal: Any, actions: int) -> int:
    """Return a proposal as the index of an action."""
    try:
        index = operator.index(proposal)
    except TypeError:
        index = -1
    if not 0 <= index < actions:
        raise InputError(
            "proposer", f"{proposal!r} is no action", f"select() must return 0 to {actions - 1}"
        )
    return index


def propose_fixed(proposer: Any, problem: FixedProblem, run: Run) -> None:
    """Play one run over fixed arms.

    Parameters
    ----------
    proposer : object
        With ``select()`` and ``update(action, reward)``; made for this run.
    problem : FixedProblem
        What is played.
    run : Run
        What is read and written.

    Raises
    ------
    Interrupted
        If it is told to stop.
    """
    means, baseline, arms = problem.means, problem.baseline, problem.means.size
    mean = float(means[baseline])
    low, high = max(mean - run.below, 0.0), min(mean + run.above, 1.0)
    kind, noise = REWARDS[problem.rewards], problem.noise
    plays, counts = np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    select, update, stopped = proposer.select, proposer.update, run.stop.is_set
    state: list[Any] = [run.rules, run.ledger, run.meter, means, plays, counts]
    state += [run.keys, run.actions, run.checkpoints, run.assured, baseline]
    done = 0
    for point, until in enumerate(run.grid.tolist()):
        while done < until:
            if stopped():
                raise Interrupted
            given: list[Any] = [*state, _checked(select(), arms), low, high, kind, noise]
            action, reward = _play_fixed(*given)
            update(action, reward)
            done += 1
        _record_fixed(run.ledger, run.meter, plays, means, baseline, run.curve, point)


def propose_contexts(proposer: Any, problem: ContextProblem, number: int, run: Run) -> None:
    """Play one run with features that change every round.

    Parameters
    ----------
    proposer : object
        With ``select(features)`` and ``update(action, reward, features)``; made for this run.
    problem : ContextProblem
        What is played.
    number : int
        The run's, by which the problem brings its rounds.
    run : Run
        What is read and written.

    Raises
    ------
    Interrupted
        If it is told to stop.
    """
    kind, noise = REWARDS[problem.rewards], problem.noise
    state = [run.rules, run.ledger, run.meter]
    told = [run.keys, run.actions, run.checkpoints, run.assured]
    rounds = int(run.grid[-1])
    points = {until: point for point, until in enumerate(run.grid.tolist())}
    for start in range(0, rounds, _PORTION):
        stop = min(start + _PORTION, rounds)
        features, means, baselines = problem.bring(number, start, stop)
        features.flags.writeable = False  # a proposer looks and does not touch
        for i in range(stop - start):
            if run.stop.is_set():
                raise Interrupted
            seen, baseline = features[i], int(baselines[i])
            proposal = _checked(proposer.select(seen), problem.actions)
            given: list[Any] = [*state, means[i], *told, baseline, proposal]
            given += [run.below, run.above, kind, noise]
            action, reward = _play_context(*given)
            proposer.update(action, reward, seen)
            if start + i + 1 in points:
                _record_context(run.meter, run.curve, points[start + i + 1])
