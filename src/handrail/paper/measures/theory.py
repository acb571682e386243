"""The theorems' bounds beside what was measured."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from handrail.paper.measures.summary import spread
from handrail.paper.numbers import curve, per_run, pick
from handrail.paper.settings import LINEAR
from handrail.records import Floats, Ints
from handrail.theory import Course, Setting, course, evaluate

__all__ = ["SYMBOLS", "Case", "cases", "informative_from", "theory_summary"]

SYMBOLS: Final = ("dim", "noise", "theta_bound", "feature_bound", "baseline_mean", "gap")
"""Labels of the tables that say what model was drawn."""


class Case(NamedTuple):
    """One algorithm on one model: its setting, its bounds and what it did."""

    algorithm: str
    wanted: dict[str, Any]
    """Its rows in the tables."""
    setting: Setting
    bounds: Course
    regret: Floats
    """Mean over runs, at the same horizons as the bounds."""
    unsafe: Floats
    """Rounds without the most optimistic action, mean over runs."""

    @property
    def horizons(self) -> Ints:
        """The recorded rounds."""
        return self.bounds.horizons


def cases(tables: Any, algorithm: str) -> list[Case]:
    """Return an algorithm's cases, the shortest features first.

    Parameters
    ----------
    tables : Tables
        Curves and runs, labelled with `SYMBOLS`.
    algorithm : str
        CLUCB2 or CLUCB2T.

    Returns
    -------
    list of Case
        One a model.
    """
    own = pick(tables.curves, algorithm=algorithm)
    found = []
    for dim in np.unique(own.column("dim").to_numpy()).tolist():
        wanted = {"algorithm": algorithm, "dim": dim}
        row = pick(own, dim=dim).slice(0, 1).to_pylist()[0]
        regret = curve(tables.curves, "regret", **wanted)
        optimistic = curve(tables.curves, "e1", **wanted)
        setting = Setting(
            alpha=LINEAR["alpha"],
            delta=LINEAR["delta"],
            ridge=LINEAR["ridge"],
            dim=dim,
            noise=row["noise"],
            theta_bound=row["theta_bound"],
            feature_bound=row["feature_bound"],
            baseline_low=row["baseline_mean"],
            baseline_high=row["baseline_mean"],
            gap=row["gap"],
            checkpoint_every=row["checkpoint_every"] or 1,
            rounds=int(regret.rounds[-1]),
        )
        unsafe = (1.0 - optimistic.values[0]) * optimistic.rounds
        bounds = course(setting, regret.rounds)
        found.append(Case(algorithm, wanted, setting, bounds, regret.values[0], unsafe))
    return found


def informative_from(case: Case) -> int | None:
    """Return the recorded round from which on the regret bound is below Delta_h n.

    Parameters
    ----------
    case : Case
        The case.

    Returns
    -------
    int or None
        None where it is vacuous at the last round.
    """
    vacuous = np.flatnonzero(case.bounds.regret >= case.setting.gap * case.horizons)
    if vacuous.size == 0:
        return int(case.horizons[0])
    after = int(vacuous[-1]) + 1
    return int(case.horizons[after]) if after < case.horizons.size else None


def theory_summary(tables: Any, algorithms: tuple[str, ...]) -> dict[str, Any]:
    """Return bounds and measurements at the last round.

    Parameters
    ----------
    tables : Tables
        Curves and runs.
    algorithms : tuple of str
        Whose.

    Returns
    -------
    dict
        By algorithm and d: the setting and its bounds, the regret (mean and spread over runs, and
        the largest of any run), the same for rounds without the most optimistic action, whether
        every run is below both bounds, and from which round on the bound says anything.
    """
    found: dict[str, Any] = {}
    for algorithm in algorithms:
        for case in cases(tables, algorithm):
            bounds = evaluate(case.setting)
            regrets = per_run(tables.runs, "regret", **case.wanted)
            share = 1.0 - per_run(tables.runs, "e1", **case.wanted)
            unsafe = np.round(share * case.setting.rounds)
            below = regrets.max() <= bounds.numeric.regret and unsafe.max() <= bounds.numeric.rounds
            found.setdefault(algorithm, {})[f"d = {case.setting.dim}"] = {
                "bounds": bounds.json(),
                "regret": {**spread(regrets[0]), "largest": float(regrets.max())},
                "unsafe_rounds": {**spread(unsafe[0]), "largest": float(unsafe.max())},
                "every_run_below": bool(below),
                "informative_from": informative_from(case),
            }
    return {"theory": found}
