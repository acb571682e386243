"""One contender on one problem: from names and numbers to what was agreed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from handrail import checks
from handrail.environments.problem import ContextProblem, Problem
from handrail.errors import InputError, nearest
from handrail.policies.algorithm import Algorithm
from handrail.policies.defaults import DEFAULTS, used_parameters
from handrail.policies.gaps import plain_gap
from handrail.policies.knowledge import LEARNED
from handrail.policies.parameters import settle
from handrail.records import Ints
from handrail.simulation.entry import Entry
from handrail.simulation.experiment import Contender, Experiment
from handrail.simulation.proposers.registry import check_proposer, proposer_name, proposer_names

__all__ = ["SIMULATED", "budget_alpha", "policy_parameters", "prepare", "told"]

_MOST_ARMS: Final = 4096
"""Arm space takes K^2 numbers a run: 128 MB at this K."""
_DEFAULTS: Final[Mapping[str, Any]] = {"alpha": 0.05, "delta": 0.01}
_FREE: Final = (
    "alpha",
    "delta",
    "noise",
    "theta_bound",
    "feature_bound",
    "ridge",
    "width",
    "cumulative",
    "accounting",
    "delta_weights",
    "tightest_at",
    "clip",
    "checkpoint_every",
    "checkpoints",
    "checkpoint_gap",
    "baseline_lower",
    "baseline_mean",
    "baseline_delta",
    "learn_baseline",
)
"""The parameters of a policy that are not the environment's to say."""
_OFFSETS: Final = "baseline_offsets"
"""A simulation's own: how far the interval that is told reaches from the baseline's mean."""
_PROPOSER: Final = "proposer"
"""A simulation's own: who makes the proposals that a guard answers."""
SIMULATED: Final = (_OFFSETS, _PROPOSER)
"""Parameters that only simulations have."""


def policy_parameters(experiment: Experiment, contender: Contender) -> dict[str, Any]:
    """Return the parameters a contender's policy is made with, besides what the problem says.

    Parameters
    ----------
    experiment : Experiment
        Its `policy` holds for all contenders, as far as their algorithms use it.
    contender : Contender
        Its own parameters come first; each must be one its algorithm uses.

    Returns
    -------
    dict
        Names and values.
    """
    for field in (*experiment.policy, *contender.parameters):
        if field not in (*_FREE, *SIMULATED):
            known = field in DEFAULTS
            raise InputError(
                field,
                "is not for a simulation to say" if known else "is no parameter of a policy",
                "leave it out: problems say it, and rewards come at once"
                if known
                else nearest(field, _FREE),
            )
    common = {**_DEFAULTS, **experiment.policy}
    everything = {**DEFAULTS, **common, **contender.parameters}
    _check_knowledge(everything)
    used = used_parameters(contender.row, everything)
    if contender.row.conservative:
        used |= {_OFFSETS}
    if contender.row.selection == "proposal":
        used |= {_PROPOSER}
    kept = {k: v for k, v in common.items() if k in used} | dict(contender.parameters)
    if (_PROPOSER in kept) != (_PROPOSER in used):
        raise InputError(
            _PROPOSER,
            f"is required: {contender.row.name} makes no proposals"
            if _PROPOSER in used
            else f"{contender.row.name} makes its own proposals",
            f"pass one of {', '.join(proposer_names())}, or a factory of your own"
            if _PROPOSER in used
            else "leave it out",
        )
    if _PROPOSER in kept:
        kept[_PROPOSER] = proposer_name(kept[_PROPOSER])
    return {k: plain_gap(v) for k, v in kept.items()}


def _check_knowledge(given: Mapping[str, Any]) -> None:
    """Refuse a baseline mean that only the problem can say."""
    if given["baseline_mean"] not in (None, LEARNED):
        raise InputError(
            "baseline_mean",
            "is the problem's to say",
            f"pass {LEARNED!r}, or {_OFFSETS}=(below, above) for an interval around it",
        )
    if given.get(_OFFSETS) is not None and given["baseline_mean"] is not None:
        raise InputError(_OFFSETS, "an interval cannot be learned", "pass one of the two")


def _offsets(chosen: dict[str, Any]) -> tuple[float, float]:
    """Return how far from the baseline's mean a policy's interval for it reaches."""
    if chosen.get("baseline_mean") == LEARNED:
        return math.inf, math.inf
    value = chosen.pop(_OFFSETS, None)
    if value is None:
        return 0.0, 0.0
    pair = checks.array(_OFFSETS, value, (2,))
    if not (pair >= 0.0).all():
        raise InputError(_OFFSETS, f"{value} reaches the wrong way", "pass (below, above) >= 0")
    return float(pair[0]), float(pair[1])


def budget_alpha(experiment: Experiment, contender: Contender) -> float:
    """Return the alpha that budgets are measured with, also of algorithms that know none."""
    alpha = {**_DEFAULTS, **experiment.policy, **contender.parameters}["alpha"]
    return checks.share("alpha", alpha)


def prepare(
    experiment: Experiment, contender: Contender, problem: Problem, index: int, grid: Ints
) -> Entry:
    """Settle a contender's parameters on a problem.

    Parameters
    ----------
    experiment, contender
        Who plays, and how.
    problem : FixedProblem or ContextProblem
        What is played.
    index : int
        The problem's number, which its rewards are drawn by.
    grid : numpy.ndarray
        The rounds to record.

    Returns
    -------
    Entry
        Ready to run.
    """
    row = contender.row
    chosen = policy_parameters(experiment, contender)
    if isinstance(problem, ContextProblem):
        _check_bounds(problem, chosen)
    below, above = _offsets(chosen)
    proposer = _proposer(chosen, problem)
    given: dict[str, Any] = {**DEFAULTS, **told(row, problem, below, above), **chosen}
    settings = settle(row, given, warn=False)
    return Entry(
        algorithm=row,
        problem=problem,
        rules=settings.rules,
        alpha=budget_alpha(experiment, contender),
        engine=experiment.engine,
        below=below,
        above=above,
        schedule=settings.schedule,
        proposer=proposer,
        seed=experiment.seed,
        index=index,
        grid=grid,
    )


def _proposer(chosen: dict[str, Any], problem: Problem) -> str | None:
    """Take the proposer out of the parameters; refuse one that is not made for the problem."""
    name: str | None = chosen.pop(_PROPOSER, None)
    if name is None:
        return None
    if not isinstance(problem, ContextProblem):
        check_proposer(name, problem.means.size, None)
        return name
    check_proposer(name, problem.actions, problem.dim)
    if chosen.get("baseline_mean") == LEARNED:
        raise InputError(
            "baseline_mean",
            "changes with the contexts, which a guard has no model of",
            f"leave it out, or pass {_OFFSETS} for an interval around it",
        )
    return name


def _check_bounds(problem: ContextProblem, chosen: Mapping[str, Any]) -> None:
    """Refuse bounds that the contexts of some round would break."""
    bound = chosen.get("feature_bound", problem.feature_bound)
    if checks.number("feature_bound", bound) < problem.feature_bound:
        raise InputError(
            "feature_bound",
            f"{bound} is below the environment's {problem.feature_bound:g}",
            "leave it out, or pass a larger one",
        )
    lower = chosen.get("baseline_lower", problem.baseline_lower)
    if checks.number("baseline_lower", lower) > problem.baseline_lower:
        raise InputError(
            "baseline_lower",
            f"{lower} is above the environment's {problem.baseline_lower:g}",
            "leave it out, or pass a smaller one",
        )


def told(
    row: Algorithm, problem: Problem, below: float = 0.0, above: float = 0.0
) -> dict[str, Any]:
    """Return what a policy is told about a problem."""
    told: dict[str, Any] = {"noise": problem.noise}
    if problem.rewards == "bernoulli":
        told["reward_range"] = (0.0, 1.0)
    if isinstance(problem, ContextProblem):
        if row.estimator == "means":
            raise InputError(
                "algorithms",
                f"{row.name} needs arms that stay the same",
                "choose a linear algorithm for contexts that change",
            )
        if row.estimator == "linear":
            told |= {"dim": problem.dim, "feature_bound": problem.feature_bound}
        if row.schedule == "checkpoints":
            told["baseline_lower"] = problem.baseline_lower
    else:
        told["baseline"] = problem.baseline
        if row.conservative:
            mean = float(problem.means[problem.baseline])
            told["baseline_mean"] = mean
            if below > 0.0 or above > 0.0:
                told["baseline_mean"] = (max(mean - below, 0.0), min(mean + above, 1.0))
        if row.past == "oracle":
            told["true_means"] = problem.means
        if row.estimator == "means":
            told["arms"] = problem.means.size
        elif row.estimator == "none":
            pass  # a guard knows no arms
        elif problem.means.size > _MOST_ARMS:
            raise InputError(
                "algorithms",
                f"{row.name} over {problem.means.size} fixed arms takes too much memory",
                f"stay within {_MOST_ARMS} arms",
            )
        else:
            told["features"] = problem.rows()
    if row.estimator == "linear":
        told["theta_bound"] = problem.theta_bound
    return told
