"""What a guard keeps policies from, and what that costs them."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.paper.bootstrap import Interval
from handrail.paper.drawing.looks import Line
from handrail.paper.measures.safety import exact_share
from handrail.paper.measures.summary import budget_summary, spread
from handrail.paper.numbers import per_run

__all__ = ["Pair", "below_zero", "cost", "guard_summary"]


class Pair(NamedTuple):
    """A policy on its own, and the same one guarded."""

    name: str
    alone: Line
    guarded: Line


def below_zero(runs: Any, line: Line) -> Interval:
    """Return the share of runs with a round below 0, with its exact interval.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    line : Line
        The contender.

    Returns
    -------
    Interval
        At 95 %.
    """
    violations = per_run(runs, "violations", **line.wanted)
    return exact_share(int((violations > 0).sum()), violations.size)


def cost(runs: Any, pair: Pair) -> dict[str, Any]:
    """Return what the guard adds to a policy's final regret.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    pair : Pair
        The policy.

    Returns
    -------
    dict
        The difference, with its spread over models; it and its standard error as shares of the
        regret alone.
    """
    alone = per_run(runs, "regret", **pair.alone.wanted).mean(axis=1)
    guarded = per_run(runs, "regret", **pair.guarded.wanted).mean(axis=1)
    difference = spread(guarded - alone)
    own = float(alone.mean())
    return {
        "regret": difference,
        "share": difference["mean"] / own,
        "share_se": difference["se"] / own,
    }


def guard_summary(tables: Any, pairs: list[Pair]) -> dict[str, Any]:
    """Return violations, baseline rounds and costs.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    pairs : list of Pair
        The policies.

    Returns
    -------
    dict
        By the policy's name: what happened to it alone and guarded, and the cost.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        own: dict[str, Any] = {}
        for what, line in (("alone", pair.alone), ("guarded", pair.guarded)):
            below = below_zero(tables.runs, line)
            own[what] = {
                "budget": budget_summary(tables.curves, tables.runs, [line])[line.name],
                "runs_below_0": {"share": below.measured, "low": below.low, "high": below.high},
                "baseline_rounds": float(per_run(tables.runs, "e3", **line.wanted).mean()),
                "regret": spread(per_run(tables.runs, "regret", **line.wanted).mean(axis=1)),
            }
        found[pair.name] = {**own, "cost": cost(tables.runs, pair)}
    return found
