"""The theorems with the constants the paper prints, slips included: to compare, not to rely on.

The main text states both theorems up to constants; the constants are those of its appendix.

- The linear term belongs to another ellipsoid, of radius sigma sqrt(2 log(1/delta) +
  d log(1 + n D^2/(lambda d))) + B sqrt(lambda), which is smaller than the one the algorithm uses.
- Theorem 1 adds the lemma's rounds to the regret without the factor Delta_h. In the lemma psi is
  counted once, though it is needed twice, and its logarithm of a square as one of a plain argument.
- Theorem 2 is off its own lemma by a factor of 2, and drops mu_h where T~ is small. Its C_b has a
  mu_b that nothing defines; it is read as mu_l.

References
----------
E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved algorithms for conservative
exploration in bandits, appendix A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from handrail.theory.closed import constants
from handrail.theory.first_phase import free_stretch
from handrail.theory.setting import Setting

__all__ = ["Printed", "as_printed"]


@dataclass(frozen=True, slots=True)
class Printed:
    """What the paper's formulas give.

    Attributes
    ----------
    linear_regret : float
        The first term of both theorems.
    rounds_every_round : float
        Lemma 1, on the rounds of CLUCB2 without the most optimistic action.
    regret_every_round : float
        Theorem 1.
    rounds_threshold : float
        C_b of Theorem 2, its mu_b read as mu_l.
    rounds_checkpoints : float
        Lemma 3, on the same rounds of CLUCB2T.
    regret_checkpoints : float
        Theorem 2.
    """

    linear_regret: float
    rounds_every_round: float
    regret_every_round: float
    rounds_threshold: float
    rounds_checkpoints: float
    regret_checkpoints: float


def as_printed(setting: Setting) -> Printed:
    """Return both theorems and their lemmas as the paper prints them.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    Printed
        The values.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> printed = as_printed(setting)
    >>> f"{printed.regret_every_round:.2g}, {printed.regret_checkpoints:.2g}"
    '3.3e+07, 6.2e+07'
    """
    linear = _linear(setting)
    every_round = _lemma_1(setting)
    threshold, at_checkpoints, cost = _theorem_2(setting)
    return Printed(
        linear_regret=linear,
        rounds_every_round=every_round,
        regret_every_round=linear + every_round,
        rounds_threshold=threshold,
        rounds_checkpoints=at_checkpoints,
        regret_checkpoints=linear + cost,
    )


def _linear(setting: Setting) -> float:
    n, d = setting.rounds, setting.dim
    spread = math.log(1.0 + n * setting.feature_bound**2 / (setting.ridge * d))
    root = math.sqrt(2.0 * math.log(1.0 / setting.delta) + d * spread)
    radius = math.sqrt(setting.ridge) * setting.theta_bound + setting.noise * root
    return 4.0 * math.sqrt(n * d * spread) * radius


def _lemma_1(setting: Setting) -> float:
    am = setting.alpha * setting.baseline_low
    D0 = constants(setting).D0
    bias = math.sqrt(setting.ridge) * setting.theta_bound
    K = 4.0 * setting.dim * (bias + 2.0 * setting.noise) + math.sqrt(2.0) * setting.noise
    root = math.sqrt(D0 / setting.delta)
    log = math.log(36.0 * root * K / am)
    L = math.log(root / math.sqrt(am) + 12.0 * root * (K / am) ** 2 * log**2) * log
    return (
        2.0 * setting.baseline_high / am
        + 4.0 / (3.0 * am) * L
        + 4.0 / (math.sqrt(3.0 * am) * am) * K * L
        + 2.0 / am**2 * K**2 * L
    )


def _theorem_2(setting: Setting) -> tuple[float, float, float]:
    """Return C_b, the rounds by Lemma 3, and what Theorem 2 adds to the linear term."""
    am = setting.alpha * setting.baseline_low
    d, delta = setting.dim, setting.delta
    D0, E, _, _ = constants(setting)
    C_b = 28.0 * (d * E / am) ** 2 * math.log(696.0 * d**2 * D0 * E**2 / (delta * am**2)) ** 2
    stretch = free_stretch(setting)
    if stretch >= C_b:
        x = stretch + 1.0
        rise = 4.0 * d * E * math.sqrt(x) * math.log(D0 * x / delta)
        most = max(setting.baseline_high + rise - 0.5 * am * x, 0.0)
        return C_b, 2.0 / am * most, setting.gap / am * most
    log = math.log(44.0 * d**2 * math.sqrt(D0 / delta) * E**2 / am)
    most = 57.0 * d**2 / am * (E * log) ** 2
    return C_b, 2.0 / am * most, setting.gap / am * most
