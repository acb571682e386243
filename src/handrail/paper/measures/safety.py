"""Evidence on the promise: who let the budget go negative, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy.stats import beta

from handrail.paper.bootstrap import Interval, bootstrap
from handrail.paper.claims import Evidence, Part
from handrail.paper.numbers import curve, per_run, pick
from handrail.paper.words import number, percent
from handrail.simulation.meter import ROUNDING

__all__ = ["exact_share", "safe"]

_EARLY: Final = 0.5
"""Early: the lowest point of the average budget lies before this share of the horizon."""


def exact_share(hits: int, trials: int) -> Interval:
    """Return a share with its Clopper-Pearson interval.

    Parameters
    ----------
    hits, trials : int
        How many of how many.

    Returns
    -------
    Interval
        The share and the 95 % interval.

    Examples
    --------
    >>> found = exact_share(0, 100)
    >>> found.measured, found.low, round(found.high, 4)
    (0.0, 0.0, 0.0362)
    """
    low = float(beta.ppf(0.025, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, trials - hits)) if hits < trials else 1.0
    return Interval(hits / trials, low, high)


def _kept(runs: Any, every_round: Sequence[str], checkpoints: str | None) -> list[Part]:
    """Return the parts on the algorithms that make a promise."""
    violations = [per_run(runs, "violations", algorithm=name) for name in every_round]
    # The algorithms see the same rewards: a run counts once, whoever broke its promise in it.
    broken = np.any(np.array(violations) > 0, axis=0)
    parts = [
        Part(
            "runs in which a conservative algorithm has a round below 0",
            exact_share(int(broken.sum()), broken.size),
            "none",
            not broken.any(),
        )
    ]
    if checkpoints is not None:
        rows = pick(runs, algorithm=checkpoints)
        smallest = np.asarray(rows.column("smallest_budget_at_checkpoints").to_numpy(), float)
        below = smallest < -ROUNDING  # a run without a checkpoint has no number, and breaks nothing
        parts.append(
            Part(
                f"runs of {checkpoints} below 0 at a checkpoint",
                exact_share(int(below.sum()), below.size),
                "none",
                not below.any(),
            )
        )
    return parts


def safe(
    figure: str,
    curves: Any,
    runs: Any,
    *,
    free: str,
    every_round: Sequence[str],
    checkpoints: str | None = None,
) -> Evidence:
    """Return the evidence of one figure on `safe`.

    Parameters
    ----------
    figure : str
        Its name.
    curves, runs : pyarrow.Table
        Its tables.
    free : str
        The algorithm that makes no promise.
    every_round : sequence of str
        Those that promise a budget >= 0 at every round.
    checkpoints : str, optional
        The one that promises it at checkpoints.

    Returns
    -------
    Evidence
        Shares of runs in violation; for the conservative ones the exact interval of a share.
    """
    parts = _kept(runs, every_round, checkpoints)
    violations = per_run(runs, "violations", algorithm=free)
    found = bootstrap([(violations > 0).astype(np.float64)], lambda drawn: drawn[0].mean(axis=1))
    rounds, budgets, _ = curve(curves, "budget", algorithm=free)
    average = budgets.mean(axis=0)
    lowest = int(average.argmin())
    early = bool(average[lowest] < 0 and rounds[lowest] <= _EARLY * rounds[-1])
    parts.append(
        Part(f"runs of {free} with a round below 0", found, "above 0", found.measured > 0 and early)
    )
    broken = sum(
        int(np.sum(pick(runs, algorithm=name).column("violations").to_numpy()))
        for name in every_round
    )
    total = len(every_round) * violations.size
    where = (
        f"its average budget is lowest, {number(float(average[lowest]))}, "
        f"in round {int(rounds[lowest]):,} of {int(rounds[-1]):,}"
        if average[lowest] < 0
        else "its average budget never is"
    )
    why = (
        f"{figure}: {broken:,} rounds below 0 in {total:,} runs of conservative algorithms; "
        f"{percent(found.measured)} of {free}'s runs go below 0, {where}."
    )
    return Evidence("safe", figure, tuple(parts), why)
