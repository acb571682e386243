"""The paper's environments with the paper's parameters; figures say who plays and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handrail.paper.scale import Size
from handrail.paper.settings import JESTER, LINEAR, MEANS
from handrail.simulation.experiment import Contender, Experiment

__all__ = ["bernoulli", "contextual", "linear", "ratings", "share_gaps"]


def _experiment(
    environment: str,
    parameters: Mapping[str, Any],
    contenders: Sequence[Contender],
    size: Size,
    seed: int,
    policy: Mapping[str, Any],
    points: int,
    labels: Mapping[str, int | float | str],
) -> Experiment:
    return Experiment(
        environment=environment,
        parameters=parameters,
        contenders=tuple(contenders),
        rounds=size.rounds,
        runs=size.runs,
        problems=size.problems,
        seed=seed,
        policy=policy,
        points=points,
        labels=labels,
    )


def bernoulli(
    contenders: Sequence[Contender],
    size: Size,
    seed: int,
    points: int,
    *,
    rank: int = 4,
    width: str = "wu",
    labels: Mapping[str, int | float | str] | None = None,
) -> Experiment:
    """Return an experiment on K = 10 Bernoulli arms with means from U[0.25, 0.75].

    Parameters
    ----------
    contenders : sequence of Contender
        Who plays.
    size : Size
        For how long.
    seed : int
        Of everything random.
    points : int
        Rounds recorded.
    rank : int, default=4
        The baseline's, 1 being the best arm.
    width : str, default="wu"
        The arms' confidence width.
    labels : mapping, optional
        Further columns of the tables.

    Returns
    -------
    Experiment
        The experiment.
    """
    parameters = {"arms": 10, "low": 0.25, "high": 0.75, "baseline_rank": rank}
    policy = {**MEANS, "width": width}
    return _experiment(
        "bernoulli", parameters, contenders, size, seed, policy, points, labels or {}
    )


def linear(
    contenders: Sequence[Contender],
    size: Size,
    seed: int,
    points: int,
    *,
    rank: int = 6,
    dim: int = 100,
    labels: Mapping[str, int | float | str] | None = None,
) -> Experiment:
    """Return an experiment on K = 30 arms with d features; parameters as in `bernoulli`.

    Parameters
    ----------
    contenders : sequence of Contender
        Who plays.
    size : Size
        For how long.
    seed : int
        Of everything random.
    points : int
        Rounds recorded.
    rank : int, default=6
        The baseline's, 1 being the best arm.
    dim : int, default=100
        d, the length of the features.
    labels : mapping, optional
        Further columns of the tables.

    Returns
    -------
    Experiment
        The experiment.
    """
    parameters = {"arms": 30, "dim": dim, "baseline_rank": rank, "noise": 0.1}
    return _experiment("linear", parameters, contenders, size, seed, LINEAR, points, labels or {})


def ratings(contenders: Sequence[Contender], size: Size, seed: int, points: int) -> Experiment:
    """Return an experiment on users of Jester: K = 40 jokes, d = 35, alpha = 0.01.

    Parameters
    ----------
    contenders : sequence of Contender
        Who plays.
    size : Size
        For how long; a problem is a user.
    seed : int
        Of everything random.
    points : int
        Rounds recorded.

    Returns
    -------
    Experiment
        The experiment.
    """
    parameters = {"table": "jester", "rank": 35, "baseline_rank": 10, "noise": 0.1}
    return _experiment("ratings", parameters, contenders, size, seed, JESTER, points, {})


def contextual(contenders: Sequence[Contender], size: Size, seed: int, points: int) -> Experiment:
    """Return an experiment with K = 20 actions whose d = 20 features are new every round.

    Parameters
    ----------
    contenders : sequence of Contender
        Who plays.
    size : Size
        For how long.
    seed : int
        Of everything random.
    points : int
        Rounds recorded.

    Returns
    -------
    Experiment
        The experiment.
    """
    parameters = {"actions": 20, "dim": 20, "noise": 0.1}
    return _experiment("contextual-linear", parameters, contenders, size, seed, LINEAR, points, {})


def share_gaps(rounds: int) -> list[int]:
    """Return 5 %, 10 % and 12 % of the horizon, the paper's gaps between checkpoints.

    Parameters
    ----------
    rounds : int
        The horizon.

    Returns
    -------
    list of int
        Three values of T.

    Examples
    --------
    >>> share_gaps(100_000)
    [5000, 10000, 12000]
    """
    return [max(1, rounds * share // 100) for share in (5, 10, 12)]
