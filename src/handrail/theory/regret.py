"""Bounds on the regret: what exploring costs, and what playing it safe costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handrail import checks
from handrail.errors import InputError
from handrail.records import Floats, Ints
from handrail.theory.closed import closed_rounds
from handrail.theory.rounds import conservative_rounds, linear_regrets, running_rounds
from handrail.theory.setting import Setting

__all__ = ["Course", "course", "linear_regret", "regret_bound"]


def linear_regret(setting: Setting) -> float:
    """Return Lin(n), the regret of the rounds in which something is learned.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    float
        max(1, 2 beta) sqrt(2 n d log(1 + n D^2 / (lambda d))), beta the paper's radius at n rows.

    Notes
    -----
    A round's regret is at most min(1, 2 beta |phi|) <= max(1, 2 beta) min(1, |phi|), the norm that
    of V^-1. The squares of min(1, |phi|) add up to 2 log(det V / det lambda I) at most, and the
    rest is the inequality of Cauchy and Schwarz.

    References
    ----------
    Y. Abbasi-Yadkori, D. Pal, C. Szepesvari (2011). Improved algorithms for linear stochastic
    bandits, Lemma 11.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> round(linear_regret(setting))
    18257
    """
    return float(linear_regrets(setting, np.array([setting.rounds], np.int64))[0])


def regret_bound(setting: Setting, *, closed: bool = False) -> float:
    """Return the bound on the regret of CLUCB2, or of CLUCB2T where T is above 1.

    Parameters
    ----------
    setting : Setting
        The symbols.
    closed : bool, default=False
        Take the number of unsafe rounds from its closed form rather than from the maximum.

    Returns
    -------
    float
        Lin(n) + Delta_h min(n, rounds).

    Notes
    -----
    It holds with probability 1 - 1.55 delta for policies that keep the paper's accounts (each event
    at level delta) and clip the past at 0: delta for the ellipsoid, 0.55 delta for one side of the
    martingale bound.

    References
    ----------
    E. Garcelon et al. (2020), Improved algorithms for conservative exploration in bandits,
    Theorems 1 and 2.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> round(regret_bound(setting)), round(regret_bound(setting, closed=True))
    (325165, 518257)
    """
    rounds = closed_rounds(setting) if closed else conservative_rounds(setting)
    return linear_regret(setting) + setting.gap * min(float(setting.rounds), rounds)


class Course(NamedTuple):
    """The bounds at many horizons."""

    horizons: Ints
    rounds: Floats
    """Of the rounds in which the most optimistic action is found unsafe."""
    regret: Floats
    closed: Floats
    """Of the regret, by the closed form."""


def course(setting: Setting, horizons: Ints) -> Course:
    """Return the bounds at increasing horizons, for a picture.

    Parameters
    ----------
    setting : Setting
        The symbols; its own horizon is not used.
    horizons : numpy.ndarray of int
        Increasing numbers of rounds.

    Returns
    -------
    Course
        One value a horizon.

    Raises
    ------
    InputError
        The horizons are not increasing from 1 up.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> course(setting, np.array([10**3, 10**6])).regret.round().tolist()
    [883.0, 325165.0]
    """
    checked = np.array([checks.whole("horizons", each) for each in horizons], np.int64)
    if not (np.diff(checked) > 0).all():
        raise InputError("horizons", "are not increasing", "sort them, each once")
    rounds = running_rounds(setting, checked)
    linear = linear_regrets(setting, checked)
    most = checked.astype(float)
    return Course(
        checked,
        rounds,
        linear + setting.gap * np.minimum(most, rounds),
        linear + setting.gap * np.minimum(most, closed_rounds(setting)),
    )
