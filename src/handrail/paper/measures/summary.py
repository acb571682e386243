"""The numbers behind a figure as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from handrail.paper.drawing.looks import Line
from handrail.paper.measures.checkpoints import differences, gaps_of
from handrail.paper.models import choose, reduction
from handrail.paper.numbers import curve, per_run
from handrail.paper.settings import Family
from handrail.records import Floats

__all__ = ["budget_summary", "checkpoint_summary", "line_summary", "regret_summary", "spread"]


def spread(values: Floats) -> dict[str, float]:
    """Return mean, standard error and standard deviation of numbers.

    Parameters
    ----------
    values : numpy.ndarray
        One number a model, or one a run.

    Returns
    -------
    dict
        ``mean``, ``se`` and ``sd``; the latter are 0 for a single number.
    """
    sd = float(values.std(ddof=1)) if values.size > 1 else 0.0
    return {"mean": float(values.mean()), "se": sd / float(np.sqrt(values.size)), "sd": sd}


def regret_summary(runs: Any, family: Family, **wanted: object) -> dict[str, Any]:
    """Return final regrets in the worst, best and average model.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    family : Family
        The algorithms.
    **wanted
        Labels, where a table holds several experiments.

    Returns
    -------
    dict
        The models chosen, the advantage in each model, and per algorithm its regret and its
        reduction against the old algorithm. Spreads are over runs for one model, over models for
        the average.
    """
    choice = choose(runs, family.new, family.old, **wanted)
    rows = {"worst": choice.worst, "best": choice.best}
    old = per_run(runs, "regret", algorithm=family.old, **wanted)
    regrets: dict[str, Any] = {}
    for name in family:
        own = per_run(runs, "regret", algorithm=name, **wanted)
        found: dict[str, Any] = {}
        for view, row in rows.items():
            below = reduction(own[row].mean(), old[row].mean())
            found[view] = {**spread(own[row]), "reduction": float(below)}
        below = reduction(own.mean(), old.mean())
        found["average"] = {**spread(own.mean(axis=1)), "reduction": float(below)}
        regrets[name] = found
    return {
        "models": {view: int(choice.numbers[row]) for view, row in rows.items()},
        "advantages": choice.advantages.tolist(),
        "regret": regrets,
    }


def line_summary(runs: Any, lines: Sequence[Line]) -> dict[str, Any]:
    """Return final regret and events of each line, averaged over models.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    lines : sequence of Line
        The contenders.

    Returns
    -------
    dict
        By name.
    """
    found = {}
    for line in lines:
        events = {
            event: float(per_run(runs, event, **line.wanted).mean()) for event in ("e1", "e2", "e3")
        }
        regret = spread(per_run(runs, "regret", **line.wanted).mean(axis=1))
        found[line.name] = {"regret": regret, **events}
    return found


def budget_summary(curves: Any, runs: Any, lines: Sequence[Line]) -> dict[str, Any]:
    """Return how low each line's budget went.

    Parameters
    ----------
    curves, runs : pyarrow.Table
        The figure's tables.
    lines : sequence of Line
        The contenders.

    Returns
    -------
    dict
        By name: the lowest point of the average budget, the smallest budget of any run, and the
        share of runs with a round below 0.
    """
    found = {}
    for line in lines:
        rounds, budgets, _ = curve(curves, "budget", **line.wanted)
        average = budgets.mean(axis=0)
        lowest = int(average.argmin())
        violations = per_run(runs, "violations", **line.wanted)
        found[line.name] = {
            "lowest_average": float(average[lowest]),
            "lowest_average_round": int(rounds[lowest]),
            "last_average": float(average[-1]),
            "smallest_of_any_run": float(per_run(runs, "smallest_budget", **line.wanted).min()),
            "runs_below_0": float((violations > 0).mean()),
            "rounds_below_0": int(violations.sum()),
        }
    return found


def checkpoint_summary(
    runs: Any, algorithm: str, free: str, ranks: Sequence[int]
) -> dict[str, Any]:
    """Return the regret above the unconstrained algorithm's, by rank and T.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    algorithm, free : str
        The checkpoint algorithm and the unconstrained one.
    ranks : sequence of int
        The baselines' ranks.

    Returns
    -------
    dict
        The values of T, and per rank one spread over models a value.
    """
    return {
        "checkpoint_every": gaps_of(runs, algorithm).tolist(),
        "difference": {
            str(rank): [
                spread(models) for models in differences(runs, algorithm, free, rank).mean(axis=2)
            ]
            for rank in ranks
        },
    }
