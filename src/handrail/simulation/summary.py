"""One line an algorithm: where all runs of an experiment ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handrail.simulation.experiment import Experiment, Label
from handrail.simulation.meter import ROUNDING
from handrail.simulation.tables import Tables

__all__ = ["summarise"]


def _rows(table: Any, name: str, labels: Mapping[str, Label]) -> NDArray[np.bool_]:
    """Return which rows of a table are those of a contender."""
    wanted = {"algorithm": name, **labels}
    same = [np.array(table.column(key).to_pylist()) == value for key, value in wanted.items()]
    return np.asarray(np.logical_and.reduce(same))


def summarise(experiment: Experiment, tables: Tables) -> list[dict[str, Any]]:
    """Return what came out of each algorithm, over all problems and runs.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    tables : Tables
        Its tables.

    Returns
    -------
    list of dict
        algorithm; regret with its standard error (over problems, or over the runs of a single
        one), budget at the horizon, smallest budget of any run, share of runs that violated the
        promise they made, shares of the events.
    """
    runs, curves = tables.runs.to_pydict(), tables.curves.to_pydict()
    column = {name: np.array(values) for name, values in runs.items()}
    last = np.array(curves["round"]) == max(curves["round"])
    rows = []
    for contender in experiment.contenders:
        labels = {**experiment.labels, **contender.labels}
        mine = _rows(tables.runs, contender.row.name, labels)
        regret, problem = column["regret"][mine], column["problem"][mine]
        means = np.array([regret[problem == each].mean() for each in np.unique(problem)])
        spread = means if len(means) > 1 else regret
        error = None if len(spread) < 2 else float(spread.std(ddof=1) / math.sqrt(len(spread)))
        smallest = column["smallest_budget"][mine]
        promised = smallest
        if contender.row.schedule == "checkpoints":
            # A run that reached no checkpoint has promised nothing yet.
            reached = column["smallest_budget_at_checkpoints"][mine]
            promised = np.array([0.0 if low is None else low for low in reached])
        at_end = last & _rows(tables.curves, contender.row.name, labels)
        rows.append(
            {
                "algorithm": contender.row.name,
                **contender.labels,
                "regret": float(means.mean()),
                "regret_se": error,
                "budget": float(np.array(curves["budget_mean"])[at_end].mean()),
                "smallest_budget": float(smallest.min()),
                "violated": float(np.mean(promised < -ROUNDING)),
                **{event: float(column[event][mine].mean()) for event in ("e1", "e2", "e3")},
            }
        )
    return rows
