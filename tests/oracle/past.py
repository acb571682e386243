"""Lower bounds on the reward of the rounds in S, alone and with one more action.

past_and_now of docs/algorithms.md, also for rounds whose reward has not come. Every function
returns the bound of S alone and the array of those of S and each action. ``clip`` is whether the
past's bound is cut at 0 (docs/algorithms.md, "Past bounds").
"""

from __future__ import annotations

import numpy as np

from oracle.answer import Floats
from oracle.estimate import Ellipsoid
from oracle.history import History

Bounds = tuple[float, Floats]


def arm_sums(history: History, lowers: Floats, *, clip: bool) -> Bounds:
    """sum_k N_k max(lower_k, 0) + max(lower_a, 0), N_k = plays of k in S that are counted.

    Where rounds have to be confirmed: those that are (edition 1: and the promises of the others).
    """
    total = history.unconfirmed
    for arm, lower in enumerate(lowers):
        plays = int(np.sum(history.counted & (history.actions == arm)))
        total += plays * (max(float(lower), 0.0) if clip else float(lower))
    return total, total + _now(history, np.maximum(lowers, 0.0))


def _now(history: History, worth: Floats) -> Floats:
    """What each action adds in the present round: nothing, where the decision may get lost."""
    return worth if history.counts_now else np.zeros_like(worth)


def self_normalised(
    history: History, ellipsoid: Ellipsoid, features: Floats, *, clip: bool
) -> Bounds:
    """max(<theta_hat, x> - beta |x|_{V^-1}, 0), x = phi_a + sum of phi over S (paper section 2).

    Features of rounds without a reward are in x and not in V. Where rounds have to be confirmed
    they are in neither (edition 1: promises are added).
    """
    x = np.sum(history.features[history.counted], axis=0)
    rows = np.vstack([x, x + _now(history, features)])  # S alone comes first
    bounds = ellipsoid.smallest(rows)
    if clip:
        bounds = np.maximum(bounds, 0.0)
    bounds = bounds + history.unconfirmed
    return float(bounds[0]), bounds[1:]


def martingale(history: History, psi: float, lowers: Floats, *, clip: bool) -> Bounds:
    """max(sum of rewards - psi, 0) + max(lower_a, 0) (paper section 4, the checkpoint set).

    A round of S without a reward adds max(lower_i, 0), its lower bound when it was chosen; where
    rounds have to be confirmed, 0 (edition 1: no more than mu_b).
    """
    bound = float(np.sum(history.rewards[history.earned])) - psi
    if clip:
        bound = max(bound, 0.0)
    waiting = float(np.sum(history.promises[history.pending]))
    return bound + waiting, bound + waiting + _now(history, np.maximum(lowers, 0.0))


def promised_nothing(history: History, psi: float, *, clip: bool) -> float:
    """max(sum of rewards - psi, 0): nothing is known of rounds without a reward, nor of now."""
    bound = float(np.sum(history.rewards[history.earned])) - psi
    return max(bound, 0.0) if clip else bound


def larger(one: Bounds, other: Bounds) -> Bounds:
    """Both hold, so the larger of them does, for S alone and for each action."""
    return max(one[0], other[0]), np.maximum(one[1], other[1])


def known(history: History, true_means: Floats) -> Bounds:
    """sum of mu_{a_i} over S + mu_a: the constraint itself (paper section 2, figure 1).

    Where rounds have to be confirmed: those that are (edition 1: the others by the smaller mean).
    """
    mine = history.in_s & history.learned if history.confirm else history.in_s
    total = float(np.sum(history.true_means[mine]))
    if history.edition == 1:
        lost = history.in_s & ~mine
        total += float(np.sum(np.minimum(history.true_means, history.baseline_los)[lost]))
    return total, total + _now(history, true_means)
