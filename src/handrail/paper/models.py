"""Which of the drawn models is shown: where the new algorithm helps least, and where most."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from handrail.paper.numbers import per_run, problem_numbers
from handrail.records import Floats, Ints

__all__ = ["Choice", "choose", "reduction"]


class Choice(NamedTuple):
    """The models a figure shows."""

    numbers: Ints
    """Numbers of all problems."""
    advantages: Floats
    """1 - R_2(n)/R_C(n) of each problem, on regret averaged over its runs."""
    worst: int
    """Row of the smallest advantage."""
    best: int
    """Row of the largest advantage."""


def reduction(new: Floats, old: Floats) -> Floats:
    """Return by which share the new regret is below the old; 0 where the old is 0.

    Parameters
    ----------
    new, old : numpy.ndarray
        Regrets.

    Returns
    -------
    numpy.ndarray
        1 - new/old.

    Examples
    --------
    >>> reduction(np.array([3.0, 2.0]), np.array([4.0, 1.0])).tolist()
    [0.25, -1.0]
    """
    return np.where(old == 0.0, 0.0, 1.0 - new / np.where(old == 0.0, 1.0, old))


def choose(runs: Any, new: str, old: str, **wanted: object) -> Choice:
    """Choose the worst and the best model as the paper does.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    new, old : str
        The algorithms compared, CUCB2 and CUCB or CLUCB2 and CLUCB.
    **wanted
        Labels, where a table holds several experiments.

    Returns
    -------
    Choice
        The choice; of equal advantages the first.
    """
    rows = [per_run(runs, "regret", algorithm=name, **wanted) for name in (new, old)]
    advantages = reduction(rows[0].mean(axis=1), rows[1].mean(axis=1))
    return Choice(
        problem_numbers(runs), advantages, int(advantages.argmin()), int(advantages.argmax())
    )
