"""What the baseline's mean adds to the margins and takes from them, when it is not known exactly.

Two readings of an interval [lo, hi]. One constant mean m in it: its coefficients are collected
first and the worse end is taken. A mean of every round, in an interval of every round: each term
takes the end that is worse for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracle.answer import Floats
from oracle.estimate import Ellipsoid, Interval
from oracle.history import History


class Ledger(NamedTuple):
    """Margins without past_and_now: of another action, of the baseline; the size of the sums."""

    action: float
    baseline: float
    magnitude: float


def constant(interval: Interval, alpha: float, checkpoint: int, rounds: int) -> Ledger:
    """The smallest over m = lo, hi of m (alpha c - s - 1), and of m (alpha c - s) for the baseline.

    c is the next checkpoint, s the number of rounds in S. The terms are m (t - 1 - s) for S_b,
    alpha m (c - t) for the slack, - (1 - alpha) m t, and for the baseline m once more.
    """
    coefficient = alpha * checkpoint - rounds - 1
    return Ledger(
        action=min(m * coefficient for m in interval),
        baseline=min(m * (coefficient + 1) for m in interval),
        magnitude=interval[1] * (alpha * checkpoint + rounds + 1),
    )


def varying(history: History, interval: Interval, alpha: float, slack: float) -> Ledger:
    """alpha lo_i for every i in S_b, - (1 - alpha) hi_i for S and for the present round, slack.

    Playing the baseline now has alpha lo in place of - (1 - alpha) hi. For an exactly known mean
    this is sum of mu_b over S_b + slack - (1 - alpha) sum of mu_b up to now.
    """
    lo, hi = interval
    credit = float(np.sum(history.baseline_los[~history.in_s])) + slack
    owed = float(np.sum(history.baseline_los[~history.in_s]))
    owed += float(np.sum(history.baseline_his[history.in_s]))
    return Ledger(
        action=credit - (1 - alpha) * (owed + hi),
        baseline=credit + lo - (1 - alpha) * (owed + lo),
        magnitude=credit + (1 - alpha) * (owed + hi),
    )


def differences(
    history: History, ellipsoid: Ellipsoid, rows: Floats, baseline: int, alpha: float
) -> Floats:
    """min over Theta_t of <theta, z>, one for each action a; never cut, for z is a difference.

    z = phi_a + sum of phi over S + sum of phi_b over S_b - (1 - alpha) sum of phi_b(i) over i <= t.
    Rounds of S that are not confirmed are left out of the first sum and add what they promise.
    """
    z = np.sum(history.features[history.counted | ~history.in_s], axis=0)
    z = z - (1 - alpha) * (np.sum(history.baseline_features, axis=0) + rows[baseline])
    return ellipsoid.smallest(_played(history, rows, baseline) + z) + history.unconfirmed


def _played(history: History, rows: Floats, baseline: int) -> Floats:
    """phi_a of each action; 0 where the decision may get lost, unless it is the baseline's."""
    if history.counts_now:
        return rows
    kept = np.zeros_like(rows)
    kept[baseline] = rows[baseline]
    return kept


def rewards_and_differences(
    history: History, ellipsoid: Ellipsoid, rows: Floats, baseline: int, alpha: float
) -> Floats:
    """The part beside the summed rewards of S, one for each action a: min over Theta_t of

    <theta, phi_a + alpha sum of phi_b over S_b - (1 - alpha) sum of phi_b over S and now>.
    """
    ours = history.baseline_features
    z = alpha * np.sum(ours[~history.in_s], axis=0)
    z = z - (1 - alpha) * (np.sum(ours[history.in_s], axis=0) + rows[baseline])
    return ellipsoid.smallest(_played(history, rows, baseline) + z)
