"""The certificate: how many independent runs broke the promise, and what that proves."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from handrail import checks
from handrail.certificate.interval import CONFIDENCE, clopper_pearson, verdict
from handrail.certificate.knowledge import Knowledge, parse_knowledge
from handrail.certificate.online import play
from handrail.certificate.proposer import IN_TURN
from handrail.certificate.schedules import EVERY_ROUND, Schedule, parse_schedule
from handrail.certificate.worlds import PLAIN, WORLDS, World
from handrail.environments.registry import environment_names, make_environment
from handrail.errors import InputError, nearest
from handrail.policies.algorithm import Algorithm
from handrail.policies.catalogue import algorithm as named
from handrail.records import Floats
from handrail.simulation.experiment import Experiment
from handrail.simulation.meter import ROUNDING
from handrail.simulation.prepare import policy_parameters, prepare
from handrail.simulation.simulate import make_experiment
from handrail.simulation.stop import Stop

__all__ = ["ROUNDS", "Certificate", "certify"]

ROUNDS: Final = 1000
"""Rounds of a run unless others are asked for."""
_EVERY: Final = "every:10"
"""The schedule of an algorithm with checkpoints unless another is asked for."""
_EVERY_ROUND: Final = ("every-round", "adversarial")
_SIMULATED: Final = (*_EVERY_ROUND, "every", "min-gap", "gaps")
"""Schedules that the simulator measures as promised; after a list it would have to look on."""
_STREAM: Final = 0xCE27
"""Keeps the numbers of online runs apart from others drawn from the same seed."""
_DOUBTS: Final = 0xD0B7
"""The same for whether an interval is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What independent runs say about a promise.

    Parameters
    ----------
    algorithm, environment : str
        Who played what.
    alpha, delta : float
        The promise: with probability 1 - delta the budget never falls below 0.
    runs : int
        Independent runs, each on a problem of its own.
    violations : int
        Runs in which the true budget was below 0, by more than rounding (1e-9), at any round or,
        for a schedule with checkpoints, at any checkpoint.
    share, low, high : float
        Their share, with its Clopper-Pearson interval.
    holds : bool
        False if and only if low > delta. An algorithm that keeps its promise is failed with
        probability at most (1 - confidence) / 2.
    verdict : {"holds", "not refuted", "fails"}
        "holds": high <= delta, too.
    confidence : float
        Of the interval.
    schedule : str
        When the promise was checked.
    baseline : str
        What was known of the baseline's mean.
    rounds, seed : int
        The horizon of every run, and what all randomness is a function of.
    parameters : mapping
        Further parameters of the environment and of the policy.
    """

    algorithm: str
    environment: str
    alpha: float
    delta: float
    runs: int
    violations: int
    share: float
    low: float
    high: float
    holds: bool
    verdict: str
    confidence: float
    schedule: str
    baseline: str
    rounds: int
    seed: int
    parameters: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, ready for JSON."""
        return asdict(self)


def certify(
    algorithm: str | Algorithm,
    environment: str,
    alpha: float,
    delta: float,
    runs: int | None = None,
    seed: int = 0,
    schedule: str | None = None,
    *,
    baseline: str = "known",
    rounds: int = ROUNDS,
    parameters: Mapping[str, Any] | None = None,
    workers: int | None = None,
) -> Certificate:
    """Run an algorithm on independent problems and count the runs that break its promise.

    Parameters
    ----------
    algorithm : str or Algorithm
        A name from the catalogue, or parts put together by hand.
    environment : str
        One of `handrail.environment_names()`, or a world in which more happens: rewards come late
        (``late-clicks``, ``late-news``: delays depend on the reward, treated by the window rule;
        the same with ``-naive``: used as they come; ``late-any``: delays do not depend on it),
        decisions are not carried out (``unanswered``, ``unsaid``, ``choices``, ``fallbacks``,
        ``timeouts``), arms come and go (``comings``, ``comings-declared``), rewards lie elsewhere
        than in [0, 1] (``shifted``, ``shifted-clicks``).
    alpha, delta : float
        The promise.
    runs : int, optional
        Runs, each on a problem of its own; by default ceil(100 / delta).
    seed : int, default=0
        Everything is a function of it.
    schedule : str, optional
        See `handrail.certificate.schedules.parse_schedule`; for algorithms with checkpoints
        ``every:10`` unless given.
    baseline : str, default="known"
        See `handrail.certificate.knowledge.parse_knowledge`.
    rounds : int, default=1000
        The horizon of every run.
    parameters : mapping, optional
        Parameters of the environment and of the policy, as for `handrail.simulate`; a guard's
        `proposer`, which otherwise proposes the actions in turn, whatever they are worth.
    workers : int, optional
        Threads; by default one for each core.

    Returns
    -------
    Certificate
        The count, the share, its interval and the verdict.

    Notes
    -----
    The interval is two-sided at confidence 0.9999. If the promise is kept, low > delta happens with
    probability at most 5e-5.

    Examples
    --------
    >>> found = certify("CUCB2", "loud", alpha=0.3, delta=0.2, runs=200, rounds=300)
    >>> found.violations, found.holds, found.verdict
    (2, True, 'holds')
    """
    row = algorithm if isinstance(algorithm, Algorithm) else named(algorithm)
    promise = checks.share("alpha", alpha), checks.share("delta", delta)
    count = (
        math.ceil(100.0 / promise[1]) if runs is None else checks.whole("runs", runs, most=10**6)
    )
    plan = _plan(row, schedule, checks.whole("rounds", rounds))
    chosen = dict(parameters or {})
    for field in ("alpha", "delta"):
        if field in chosen:
            raise InputError(field, "is given twice", "give it once")
    if environment not in WORLDS and environment not in environment_names():
        near = nearest(environment, [*environment_names(), *WORLDS])
        raise InputError("environment", f"{environment!r} is not known", near)
    world = WORLDS.get(environment)
    drawn = environment if world is None else world.environment
    common = {} if world is None else dict(world.parameters)
    common |= {"alpha": promise[0], "delta": promise[1], **chosen}
    simulated = world is None and plan.kind in _SIMULATED
    known = parse_knowledge(baseline)
    if known.doubt and not simulated:
        raise InputError("baseline", f"{baseline} is for the simulator alone", "see --baseline")
    if row.estimator == "none":
        common.setdefault("proposer", IN_TURN)
    if simulated:
        common |= known.simulated()
        if row.schedule == "checkpoints":
            common |= plan.parameters()
    size = {"rounds": rounds, "runs": 1, "problems": count, "seed": seed, "points": 1}
    experiment = make_experiment(drawn, [row], common, **size)
    if simulated:
        smallest = _simulated(experiment, row, plan, known, workers)
    else:
        smallest = _online(experiment, row, plan, world or PLAIN, known)
    violations = int(np.sum(smallest < -ROUNDING))
    low, high = clopper_pearson(violations, count)
    said = verdict(low, high, promise[1])
    return Certificate(
        algorithm=row.name,
        environment=environment,
        alpha=promise[0],
        delta=promise[1],
        runs=count,
        violations=violations,
        share=violations / count,
        low=low,
        high=high,
        holds=said != "fails",
        verdict=said,
        confidence=CONFIDENCE,
        schedule=plan.text,
        baseline=known.text,
        rounds=rounds,
        seed=seed,
        parameters=chosen,
    )


def _plan(row: Algorithm, text: str | None, rounds: int) -> Schedule:
    """Return the schedule, if it is one the algorithm can keep."""
    if row.schedule != "checkpoints":
        plan = EVERY_ROUND if text is None else parse_schedule(text)
        if plan.kind not in _EVERY_ROUND:
            raise InputError(
                "schedule",
                f"{row.name} is checked in every round",
                "leave it out, or choose an algorithm with checkpoints such as CUCB2T",
            )
        return Schedule(plan.text, "every-round")
    plan = parse_schedule(_EVERY if text is None else text)
    first = plan.numbers[0] if plan.numbers else 1
    if first > rounds:
        raise InputError(
            "schedule", f"no checkpoint in {rounds} rounds", "ask for more rounds, or earlier ones"
        )
    return plan


def _simulated(
    experiment: Experiment, row: Algorithm, plan: Schedule, known: Knowledge, workers: int | None
) -> Floats:
    """Return the smallest budget that counts of each run, from the compiled simulator.

    Problem by problem and without tables: a promise is tested on many runs of a few rounds.
    """
    family = make_environment(experiment.environment, **experiment.parameters)
    (contender,) = experiment.contenders
    at_checkpoints = row.schedule == "checkpoints" and plan.kind not in _EVERY_ROUND
    field = "smallest_at_checkpoints" if at_checkpoints else "smallest"
    grid = np.array([experiment.rounds])
    stop = Stop()

    def play_one(index: int) -> float:
        problem = family.problem(experiment.seed, index)
        entry = prepare(experiment, contender, problem, index, grid)
        if known.doubt:
            chance = np.random.default_rng([_DOUBTS, experiment.seed, index]).random()
            wrong = known.offsets(float(chance))
            if wrong is not None:
                entry = replace(entry, below=wrong[0], above=wrong[1])
        _, meter, _ = entry.play(0, stop=stop)
        return float(meter[field][0])  # infinite in a run that reached no checkpoint

    threads = checks.whole("workers", os.cpu_count() or 1 if workers is None else workers)
    if threads == 1:
        return np.array([play_one(index) for index in range(experiment.problems)])
    with ThreadPoolExecutor(threads) as pool:
        try:
            return np.array(list(pool.map(play_one, range(experiment.problems))))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _online(
    experiment: Experiment,
    row: Algorithm,
    plan: Schedule,
    world: World,
    known: Knowledge,
) -> Floats:
    """Return the same from policies that are asked round by round."""
    family = make_environment(experiment.environment, **experiment.parameters)
    (contender,) = experiment.contenders
    chosen = policy_parameters(experiment, contender)
    if row.schedule == "checkpoints":
        chosen |= plan.parameters()
    smallest = np.empty(experiment.problems)
    for index in range(experiment.problems):
        smallest[index] = play(
            row,
            family.problem(experiment.seed, index),
            chosen,
            rounds=experiment.rounds,
            schedule=plan,
            alpha=float(experiment.policy["alpha"]),
            rng=np.random.default_rng([_STREAM, experiment.seed, index]),
            world=world,
            knowledge=known,
        )
    return smallest
