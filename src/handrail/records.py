"""The two records every compiled rule reads: what was agreed, and what was counted so far.

A record is one row of a structured NumPy array. Compiled code reads and writes its fields by
name; Python saves it field by field. The classes below are the only definition: the array
types are derived from their annotations.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LEDGER",
    "RULES",
    "Floats",
    "Ints",
    "Ledger",
    "Record",
    "Rules",
    "new_record",
    "record_dtype",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Record: TypeAlias = NDArray[Any]


class Rules(Protocol):
    """What was agreed when the policy was made; all rewards in units where means lie in [0, 1]."""

    past: int
    selection: int
    schedule: int
    clip_zero: int
    """1: the past term is cut at 0."""
    width: int
    cumulative: int
    alpha: float
    noise: float
    estimator_level: float
    """The delta that goes into an arm's width or the ellipsoid's radius."""
    martingale_level: float
    """The delta that goes into the boundary of the cumulative reward."""
    arm_rho: float
    cumulative_rho: float
    arms: int
    dim: int
    theta_bound: float
    feature_bound: float
    ridge: float
    checkpoint_every: int
    baseline_lower: float
    knowledge: int
    """What is known of the baseline's mean: see `handrail.conservative.baseline`."""
    baseline_level: float
    """The delta that goes into the interval of a mean that a guard learns."""
    baseline_rho: float
    learn_baseline: int
    """What the estimator learns from baseline rounds: see `handrail.conservative.baseline`."""
    open_arms: int
    """1: the j-th arm ever created gets 6 / (pi j)^2 of the level; 0: each gets 1 / arms."""
    confirm: int
    """1: a round of S is in the past bound by its promise alone until its reward comes."""
    credit: int
    """1: that promise is min(max(lower, 0), mu_b), the rule of edition 1; 0: it is nothing."""


class Ledger(Protocol):
    """What a policy has counted so far. Running sums carry their rounding error in ``*_rest``."""

    rounds: int
    """Rounds decided."""
    plays: int
    """s = |S|: rounds in which an action other than the baseline was played."""
    constant: int
    """1 as long as every round had the same baseline mean."""
    baseline_mean: float
    """The baseline mean of the latest round, or the largest it can be."""
    spared: float
    """Sum of the baseline means, or the smallest they can be, over S_b, its rounds."""
    spared_rest: float
    forgone: float
    """Sum of the baseline means, or the largest they can be, over S."""
    forgone_rest: float
    pending: int
    """Rounds of S whose reward may still come."""
    promised: float
    """Sum of max(lower, 0), as of their decision, over the pending rounds; of no more than the
    baseline's mean where rounds have to be confirmed."""
    promised_rest: float
    waived: float
    """The same over rounds of S that were closed without a reward."""
    waived_rest: float
    rewards: int
    """Rewards summed in ``reward``."""
    reward: float
    reward_rest: float
    variation: float
    """Sum of (r_i - c_i)^2 over them, c_i what the earlier ones let expect."""
    truth: float
    """Sum of the true means over S (oracles with changing contexts)."""
    truth_rest: float
    rows: int
    """Rounds that a linear estimator has learned from."""
    log_det: float
    """log det V - log det(ridge I) of a linear estimator."""
    waiting: int
    """Baseline rounds whose reward may still come, where they are learned from."""
    lessons: int
    """Rewards of baseline rounds, summed in ``lesson``."""
    lesson: float
    lesson_rest: float
    checkpoint: int
    """No checkpoint comes before this round, where checkpoints are no multiples of a number."""
    checkpoints: int
    """Checkpoints of that kind that have passed."""
    missed: int
    """Rewards among ``rewards`` that no estimator learned: missing ones, counted as the lowest,
    and those of rounds in which the caller chose the baseline."""


def record_dtype(record: type) -> np.dtype[np.void]:
    """Return the array type of a record from the annotations of its class."""
    kinds = {int: np.int64, float: np.float64}
    fields = [(name, kinds[kind]) for name, kind in get_type_hints(record).items()]
    # np.record gives fields as attributes to uncompiled code too, unless NumPy's scalars have a
    # method of that name.
    assert not any(hasattr(np.record, name) for name, _ in fields)
    return np.dtype((np.record, fields))


RULES = record_dtype(Rules)
LEDGER = record_dtype(Ledger)


def new_record(dtype: np.dtype[np.void], **fields: float) -> Record:
    """Return a record with the given fields set and all others zero.

    Parameters
    ----------
    dtype : numpy.dtype
        ``RULES`` or ``LEDGER``.
    **fields : float
        Values by field name.

    Returns
    -------
    numpy.ndarray
        An array of one row.
    """
    record = np.zeros(1, dtype)
    for name, value in fields.items():
        record[name] = value
    return record
