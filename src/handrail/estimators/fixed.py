"""Ridge regression over a fixed set of arms, kept in arm space.

With Phi the (K, d) matrix of features, everything the algorithms ask for can be had from
m = Phi theta_hat, G = Phi V^-1 Phi', the plays N of each arm and y = G N: O(K^2) a round and no
vector of length d. <theta_hat, sum phi> = N'm and ||sum phi + phi_a||^2_{V^-1} = N'y + 2 y[a] +
G[a, a].

An update subtracts from G: what it leaves of G[a, a] has the rounding error of what was there. So
everything is computed afresh, from counts, whenever some G[a, a] has become much smaller.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from handrail.bounds.arm import MIXTURE, arm_width
from handrail.bounds.ellipsoid import ellipsoid_radius
from handrail.compiled import compiled, lean
from handrail.estimators.factor import LEAST, add_row, inner, whiten
from handrail.estimators.means import share_of_arm
from handrail.records import Floats, Ints, Ledger, Rules
from handrail.vectors import padded

__all__ = [
    "SHRUNK",
    "along_plays",
    "bound_fixed",
    "intersect_means",
    "learn_fixed",
    "play_fixed",
    "rebuild_fixed",
    "worn",
]

SHRUNK: Final = 2.0**-20
"""What may be left of G[a, a] before it is computed afresh: it has lost as many bits, of 52."""


@lean
def bound_fixed(
    rules: Rules, ledger: Ledger, mean: Floats, gram: Floats, upper: Floats, lower: Floats
) -> float:
    """Fill in each arm's bounds, m[a] -+ beta sqrt(G[a, a]); return beta."""
    beta = ellipsoid_radius(rules, ledger)
    for arm in range(mean.size):
        width = beta * math.sqrt(gram[arm, arm])
        upper[arm] = mean[arm] + width
        lower[arm] = mean[arm] - width
    return beta


@lean
def intersect_means(rules: Rules, counts: Ints, sums: Floats, upper: Floats, lower: Floats) -> None:
    """Cut each arm's bounds to those of its own empirical mean, a normal mixture's.

    Notes
    -----
    The ellipsoid holds for every direction at once and pays for all d of them: an arm that was
    played N times has a width of about sigma sqrt(log det V / N). Its own mean pays for K arms:
    sigma sqrt(2 log(K / level) / N). Both hold at their share of the level, so does what they have
    in common.
    """
    for arm in range(counts.size):
        if counts[arm] > 0:
            width = arm_width(
                MIXTURE,
                counts[arm],
                0,
                share_of_arm(rules, arm),
                rules.noise,
                rules.estimator_level,
                rules.arm_rho,
            )
            mean = sums[arm] / counts[arm]
            upper[arm] = min(upper[arm], mean + width)
            lower[arm] = max(lower[arm], mean - width)


@lean
def along_plays(plays: Ints, mean: Floats, cross: Floats) -> tuple[float, float]:
    """Return <theta_hat, x> and ||x||^2_{V^-1} of the summed features x of all plays."""
    centre = 0.0
    square = 0.0
    for arm in range(plays.size):
        centre += plays[arm] * mean[arm]
        square += plays[arm] * cross[arm]
    return centre, square


@lean
def play_fixed(gram: Floats, plays: Ints, cross: Floats, arm: int) -> None:
    """Count a play: N[a] += 1, so y += G[:, a]."""
    plays[arm] += 1
    for other in range(cross.size):
        cross[other] += gram[arm, other]


@compiled
def learn_fixed(
    ledger: Ledger, mean: Floats, gram: Floats, cross: Floats, arm: int, reward: float
) -> None:
    """Add one row to the regression (Sherman and Morrison's formula seen from arm space).

    Notes
    -----
    With g = G[:, a] and den = 1 + g[a]: m += g (r - m[a]) / den, y -= g y[a] / den,
    G -= g g' / den, log det V += log den.
    """
    column = gram[arm].copy()
    den = 1.0 + column[arm]
    share = 1.0 / den  # one division, not one for each arm
    error = (reward - mean[arm]) * share
    drop = cross[arm] * share
    for i in range(mean.size):
        mean[i] += column[i] * error
        cross[i] -= column[i] * drop
    for i in range(mean.size):
        factor = column[i] * share
        row = gram[i]
        for j in range(mean.size):
            row[j] -= factor * column[j]
    ledger.rows += 1
    ledger.log_det += math.log(den)


@lean
def worn(gram: Floats, floors: Floats) -> bool:
    """Say whether some G[a, a] is below its floor: then all has to be computed afresh."""
    below = 0
    for arm in range(floors.size):
        below += gram[arm, arm] < floors[arm]
    return below > 0


@compiled
def rebuild_fixed(
    features: Floats,
    ridge: float,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    mean: Floats,
    gram: Floats,
    cross: Floats,
    floors: Floats,
) -> float:
    """Compute m, G and y afresh from counts, free of accumulated rounding.

    Parameters
    ----------
    features : numpy.ndarray
        Phi, (K, d).
    ridge : float
        lambda.
    plays : numpy.ndarray
        Plays of each arm in S.
    counts, sums : numpy.ndarray
        Rewards learned of each arm: how many, and their sum.
    mean, gram, cross, floors : numpy.ndarray
        Where m, G, y and the least G[a, a] to come before the next time are put.

    Returns
    -------
    float
        log det V - log det(lambda I).

    Notes
    -----
    The rows sqrt(N_a) phi_a go into the inverse Cholesky factor L^-1 of V one by one, and with
    F = Phi (L^-1)', (K, d), G = F F', m = F (F' sums) and y = F (F' N).
    """
    arms, dim = features.shape
    factor = np.zeros((dim, padded(dim)))
    for i in range(dim):
        factor[i, i] = 1.0 / math.sqrt(ridge)
    row, keep, turn, step = np.zeros((4, factor.shape[1]))
    whites = np.zeros((arms, factor.shape[1]))
    log_det = 0.0
    for arm in range(arms):
        if counts[arm] > 0:
            root = math.sqrt(counts[arm])
            for i in range(dim):
                row[i] = root * features[arm, i]
            whiten(factor, row, whites[arm])
            log_det += math.log(add_row(factor, whites[arm], keep, turn, step))
    along_sums, along_plays = np.zeros((2, factor.shape[1]))
    for arm in range(arms):
        for i in range(dim):
            row[i] = features[arm, i]
        whiten(factor, row, whites[arm])
        for i in range(dim):
            along_sums[i] += sums[arm] * whites[arm, i]
            along_plays[i] += plays[arm] * whites[arm, i]
    for arm in range(arms):
        for other in range(arm + 1):
            gram[arm, other] = gram[other, arm] = inner(whites[arm], whites[other])
        if gram[arm, arm] < LEAST and np.any(features[arm] != 0.0):
            gram[arm, arm] = LEAST
        floors[arm] = SHRUNK * gram[arm, arm]
        mean[arm] = inner(whites[arm], along_sums)
        cross[arm] = inner(whites[arm], along_plays)
    return log_det
