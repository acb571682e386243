"""Tables of results as arrays, one row a problem."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from handrail.extras import need_extra
from handrail.records import Floats, Ints

__all__ = ["Curve", "curve", "per_run", "pick", "problem_numbers"]


class Curve(NamedTuple):
    """One quantity of one contender over rounds."""

    rounds: Ints
    values: Floats
    """Mean over runs, by problem and recorded round."""
    errors: Floats
    """Standard error over runs, of the same shape."""

    def model(self, row: int) -> tuple[Floats, Floats]:
        """Return one problem's mean and its standard error over runs."""
        return self.values[row], self.errors[row]

    def average(self) -> tuple[Floats, Floats]:
        """Return the mean over problems and its standard error over problems."""
        count = len(self.values)
        spread = self.values.std(axis=0, ddof=1) if count > 1 else np.zeros(self.rounds.size)
        return self.values.mean(axis=0), spread / np.sqrt(count)


def pick(table: Any, **wanted: object) -> Any:
    """Return the rows of an Arrow table with these values.

    Parameters
    ----------
    table : pyarrow.Table
        Curves or runs.
    **wanted
        A value by column; None stands for "no value".

    Returns
    -------
    pyarrow.Table
        The rows.
    """
    compute = need_extra("pyarrow.compute", "simulation")
    masks = [
        compute.is_null(table.column(name))
        if value is None
        else compute.equal(table.column(name), value)
        for name, value in wanted.items()
    ]
    return table.filter(reduce(compute.and_, masks)) if masks else table


def _array(table: Any, name: str) -> Any:
    return table.column(name).to_numpy()


def problem_numbers(table: Any) -> Ints:
    """Return the numbers of the problems in a table, in the order of the rows of its arrays."""
    return np.unique(_array(table, "problem")).astype(np.int64)


def per_run(runs: Any, column: str, **wanted: object) -> Floats:
    """Return one number a run.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    column : str
        The number.
    **wanted
        Which contender.

    Returns
    -------
    numpy.ndarray of shape (problems, runs)
        In the order of their numbers.
    """
    rows = pick(runs, **wanted)
    order = np.lexsort((_array(rows, "run"), _array(rows, "problem")))
    values = np.asarray(_array(rows, column), float)[order]
    return values.reshape(problem_numbers(rows).size, -1)


def curve(curves: Any, quantity: str, **wanted: object) -> Curve:
    """Return a quantity of one contender over rounds.

    Parameters
    ----------
    curves : pyarrow.Table
        One row a problem, contender and recorded round.
    quantity : str
        "regret", "budget", or one of the shares "e1", "e2", "e3", which have no errors.
    **wanted
        Which contender.

    Returns
    -------
    Curve
        One row a problem.
    """
    rows = pick(curves, **wanted)
    order = np.lexsort((_array(rows, "round"), _array(rows, "problem")))
    shape = (problem_numbers(rows).size, -1)
    rounds = _array(rows, "round")[order].reshape(shape)[0].astype(np.int64)
    share = quantity.startswith("e")
    values = np.asarray(_array(rows, quantity if share else f"{quantity}_mean"), float)[order]
    errors = (
        np.zeros_like(values) if share else np.asarray(_array(rows, f"{quantity}_se"), float)[order]
    )
    return Curve(rounds, values.reshape(shape), errors.reshape(shape))
