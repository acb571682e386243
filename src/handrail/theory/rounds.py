"""How often the most optimistic action can be found unsafe: the bound as a maximum, in numbers.

Let tau be the last round in which it was, and s the rounds before tau in which an action other than
the baseline was played. Its margin was below 0 there, and on the confidence events that says

    alpha mu_l tau < h(s),   h(s) = mu_h + min(s, Lin(s)) + 2 psi(s):

the rounds of S earned at most min(s, Lin(s)) less than the baseline would have, because every one
of their actions had an upper bound of at least mu_b; psi comes once from the certified margin and
once from the distance of their rewards to their means. The unsafe rounds are tau minus those of S
with the most optimistic action, and that gives at most (2 / (alpha mu_l)) g(s) of them with
g(s) = h(s) - (alpha mu_l / 2)(s + 1).

References
----------
E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved algorithms for conservative
exploration in bandits, Lemmas 1 and 3; the constants are our own.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from handrail.bounds.cumulative import PAPER as PAPER_BOUND
from handrail.bounds.cumulative import cumulative
from handrail.bounds.ellipsoid import PAPER as PAPER_ELLIPSOID
from handrail.bounds.ellipsoid import radius_at
from handrail.compiled import lean
from handrail.records import RULES, Floats, Ints, Record, Rules, new_record
from handrail.theory.first_phase import free_rounds
from handrail.theory.setting import Setting

__all__ = ["conservative_rounds", "linear_regrets", "running_rounds"]

_TOLERANCE: Final = 1e-12
"""Relative to the maximum: stretches that could exceed it by less are not looked into."""

_PARTS: Final = 8
"""Into how many parts a stretch that may hold the maximum is cut."""


@lean
def _linear(rules: Rules, rounds: int) -> float:
    """Return Lin(s): see `handrail.theory.regret.linear_regret`."""
    spread = rules.feature_bound * rules.feature_bound / (rules.ridge * rules.dim)
    squares = 2.0 * rounds * rules.dim * math.log1p(rounds * spread)
    return max(1.0, 2.0 * radius_at(rules, rounds, 0.0)) * math.sqrt(squares)


@lean
def _fill_linear(rules_: Record, rounds: Ints, found: Floats) -> None:
    rules = rules_[0]
    for place in range(rounds.size):
        found[place] = _linear(rules, rounds[place])


@lean
def _fill_needs(rules_: Record, high: float, plays: Ints, found: Floats) -> None:
    rules = rules_[0]
    for place in range(plays.size):
        count = plays[place]
        lost = min(float(count), _linear(rules, count))
        psi = cumulative(rules.cumulative, count, rules.noise, rules.martingale_level, 0.0)
        found[place] = high + lost + 2.0 * psi


def _rules(setting: Setting) -> Record:
    return new_record(
        RULES,
        width=PAPER_ELLIPSOID,
        cumulative=PAPER_BOUND,
        noise=setting.noise,
        estimator_level=setting.delta,
        martingale_level=setting.delta,
        dim=setting.dim,
        theta_bound=setting.theta_bound,
        feature_bound=setting.feature_bound,
        ridge=setting.ridge,
    )


def linear_regrets(setting: Setting, rounds: Ints) -> Floats:
    """Return Lin at each of these numbers of rounds."""
    found = np.empty(rounds.size)
    _fill_linear(_rules(setting), rounds, found)
    return found


class _Search:
    """Looks for the largest g, stretch by stretch; what it knows is never below what it has seen.

    Notes
    -----
    g is not unimodal in general, because of the smaller of s and Lin(s), so no derivative or
    bisection is trusted. But h never falls and the rest of g never rises. So on the stretch
    a <= s <= b no g exceeds h(b) - (alpha mu_l / 2)(a + 1), and a stretch for which that is below
    the largest g seen is done with. The others are cut into parts. A stretch that could exceed the
    largest g by 10^-12 of it only is not looked into; its ceiling is taken instead, so that the
    result is never below the maximum.
    """

    def __init__(self, setting: Setting) -> None:
        self._rules = _rules(setting)
        self._high = setting.baseline_high
        self._half = 0.5 * setting.alpha * setting.baseline_low
        self.seen = 0.0
        self.ceiling = 0.0

    def _needs(self, plays: Ints) -> Floats:
        found = np.empty(plays.size)
        _fill_needs(self._rules, self._high, plays, found)
        return found

    def _see(self, plays: Ints) -> Floats:
        needs = self._needs(plays)
        self.seen = max(self.seen, float((needs - self._half * (plays + 1.0)).max()))
        return needs

    def look(self, first: int, last: int) -> None:
        """Look at first, ..., last."""
        below, above = np.array([first], np.int64), np.array([last], np.int64)
        self._see(below)
        while below.size:
            ceilings = self._see(above) - self._half * (below + 1.0)
            close = ceilings <= self.seen * (1.0 + _TOLERANCE)
            if close.any():
                self.ceiling = max(self.ceiling, float(ceilings[close].max()))
            open_ = ~close & (above > below)
            below, above = below[open_], above[open_]
            # The parts of a..b are a..c_1, c_1 + 1..c_2, and so on; short stretches have fewer.
            steps = (above - below) // _PARTS + 1
            starts = below[:, None] + steps[:, None] * np.arange(_PARTS)
            ends = np.minimum(starts + steps[:, None] - 1, above[:, None])
            there = starts <= above[:, None]
            below, above = starts[there], ends[there]
            if below.size:
                self._see(below)

    @property
    def largest(self) -> float:
        """The largest g so far, or 0 where all are below; exceeds it by 10^-12 of it at most."""
        return max(self.seen, self.ceiling)


def running_rounds(setting: Setting, horizons: Ints) -> Floats:
    """Return `conservative_rounds` at increasing horizons; each looks only at what is new.

    Parameters
    ----------
    setting : Setting
        The symbols; its own horizon is not used.
    horizons : numpy.ndarray of int
        Increasing numbers of rounds.

    Returns
    -------
    numpy.ndarray
        One bound a horizon.
    """
    search = _Search(setting)
    next_ = free_rounds(setting)
    found = np.zeros(horizons.size)
    for place, horizon in enumerate(horizons.tolist()):
        if horizon > next_:
            search.look(next_, horizon - 1)
            next_ = horizon
        found[place] = 2.0 * search.largest / (setting.alpha * setting.baseline_low)
    return found


def conservative_rounds(setting: Setting) -> float:
    """Return how many rounds there can be in which the most optimistic action is found unsafe.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    float
        max(0, (2 / (alpha mu_l)) max g(s)) over the whole s from `free_rounds` to n - 1; 0 where
        there is none. It may exceed n, and says nothing then.

    Notes
    -----
    With g(s) = mu_h + min(s, Lin(s)) + 2 psi(s) - (alpha mu_l / 2)(s + 1), the paper's ellipsoid in
    Lin and the paper's psi, both at level delta. Rounds in which the baseline itself is the most
    optimistic action are not counted: they are played by choice.

    Such rounds may be among the free ones and leave s below `free_rounds`. The bound holds all the
    same: v of them lower the count by v, and (2 / (alpha mu_l)) g cannot fall by more than v in v
    steps.

    References
    ----------
    E. Garcelon et al. (2020), Improved algorithms for conservative exploration in bandits,
    Lemmas 1 and 3.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> round(conservative_rounds(setting))
    613816
    """
    return float(running_rounds(setting, np.array([setting.rounds], np.int64))[0])
