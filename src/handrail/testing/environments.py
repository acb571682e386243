"""The checks every environment has to pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from handrail.environments.problem import (
    ContextProblem,
    Contexts,
    Environment,
    FixedProblem,
    Problem,
)
from handrail.errors import InputError
from handrail.records import Floats
from handrail.testing.require import require

__all__ = ["check_environment"]

_ROUNDING = 1e-9


def check_environment(
    factory: Callable[[], Environment],
    *,
    problems: int = 3,
    rounds: int = 50,
    seed: int = 0,
    single: bool = False,
) -> None:
    """Check that an environment keeps its contract.

    Parameters
    ----------
    factory : callable
        Returns a fresh environment; called several times, always for the same one.
    problems : int, default=3
        Problems looked at.
    rounds : int, default=50
        Rounds looked at where contexts change.
    seed : int, default=0
        The seed they are drawn from.
    single : bool, default=False
        Whether the environment means to have one problem only, whatever seed and index.

    Raises
    ------
    AssertionError
        With what was violated.

    Notes
    -----
    The checks: a problem is a function of seed and index, from any copy of the environment and
    any thread; another seed or index gives another; means lie in [0, 1]; the baseline is one of
    the actions; means are linear in the features, within the declared bounds; contexts are a
    function of run and round, whatever portions they are asked for in, and the baseline's mean
    never falls below its declared lower bound; what `describe` returns is JSON.

    Examples
    --------
    >>> from handrail.environments.bernoulli import Bernoulli
    >>> check_environment(lambda: Bernoulli(arms=4))
    """
    try:
        _check(factory, problems, rounds, seed, single)
    except InputError as error:
        raise AssertionError(str(error)) from error


def _check(
    factory: Callable[[], Environment], problems: int, rounds: int, seed: int, single: bool
) -> None:
    environment = factory()
    require(
        _described(environment) == _described(factory()),
        "describe() differs between two environments of the same factory",
    )
    drawn = [environment.problem(seed, index) for index in range(problems)]
    with ThreadPoolExecutor(2) as threads:
        again = list(threads.map(lambda index: factory().problem(seed, index), range(problems)))
    for one, two in zip(drawn, again, strict=True):
        require(_same(one, two, rounds), "the same seed and index gave another problem")
    if not single:
        others = {f"index {i}": drawn[i] for i in range(1, problems)}
        others["another seed"] = environment.problem(seed + 1, 0)
        for name, other in others.items():
            require(not _same(drawn[0], other, rounds), f"{name} gave the same problem as index 0")
    for problem in drawn:
        if isinstance(problem, FixedProblem):
            _check_means(problem.means, problem.rows(), problem.theta_bound)
        else:
            _check_contexts(problem, rounds)


def _described(environment: Environment) -> str:
    try:
        return json.dumps(environment.describe(), sort_keys=True)
    except TypeError as error:
        raise AssertionError(f"describe() does not return plain data: {error}") from error


def _arrays(problem: Problem, rounds: int) -> list[Any]:
    if isinstance(problem, FixedProblem):
        return [problem.means, problem.rows(), problem.baseline]
    return list(problem.bring(0, 0, rounds))


def _same(one: Problem, two: Problem, rounds: int) -> bool:
    return type(one) is type(two) and all(
        np.array_equal(a, b)
        for a, b in zip(_arrays(one, rounds), _arrays(two, rounds), strict=True)
    )


def _check_means(means: Floats, features: Floats, theta_bound: float) -> None:
    """Check that some theta within the bound explains the means."""
    theta, *_ = np.linalg.lstsq(features, means, rcond=None)
    require(np.allclose(features @ theta, means, atol=1e-7), "means are not linear in the features")
    # The least-squares solution is the shortest of all theta that explain the means.
    require(
        np.linalg.norm(theta) <= theta_bound * (1.0 + 1e-6),
        "theta_bound is below the length of every theta that explains the means",
    )


def _check_contexts(problem: ContextProblem, rounds: int) -> None:
    whole = problem.bring(1, 0, rounds)
    cut = rounds // 3
    parts = [problem.bring(1, cut, rounds), problem.bring(1, 0, cut)]
    joined = Contexts(*(np.concatenate([b, a]) for a, b in zip(*parts, strict=True)))
    require(
        all(np.array_equal(a, b) for a, b in zip(whole, joined, strict=True)),
        "contexts depend on the portions they are asked for in",
    )
    other = problem.bring(2, 0, rounds)
    require(
        not np.array_equal(whole.features, other.features), "runs 1 and 2 have the same contexts"
    )
    norms = np.linalg.norm(whole.features, axis=2)
    require(norms.max() <= problem.feature_bound + _ROUNDING, "features exceed feature_bound")
    lowest = whole.means[np.arange(rounds), whole.baselines].min()
    require(lowest >= problem.baseline_lower - _ROUNDING, "a baseline mean is below baseline_lower")
    _check_means(
        whole.means.reshape(-1), whole.features.reshape(-1, problem.dim), problem.theta_bound
    )
