"""The same bound in closed form, by Lambert's function."""

from __future__ import annotations

import math
from typing import NamedTuple

from handrail.theory.first_phase import free_rounds
from handrail.theory.setting import Setting

__all__ = ["Constants", "closed_rounds", "constants", "rounds_threshold"]


class Constants(NamedTuple):
    """What the paper abbreviates, and the peak of f."""

    D0: float
    """max(3, 2 D^2 / lambda)."""
    E: float
    """2/3 + sqrt(lambda) B + 2 sigma."""
    c: float
    """8 d E / (alpha mu_l)."""
    w: float
    """-W_{-1}(-1 / (e u)) with u = c sqrt(D0 / delta)."""


def constants(setting: Setting) -> Constants:
    """Return the abbreviations."""
    from scipy.special import lambertw

    D0 = max(3.0, 2.0 * setting.feature_bound**2 / setting.ridge)
    E = 2.0 / 3.0 + math.sqrt(setting.ridge) * setting.theta_bound + 2.0 * setting.noise
    c = 8.0 * setting.dim * E / (setting.alpha * setting.baseline_low)
    u = c * math.sqrt(D0 / setting.delta)
    return Constants(D0, E, c, -float(lambertw(-1.0 / (math.e * u), -1).real))


def rounds_threshold(setting: Setting) -> float:
    """Return C_b, exactly: from this T~ on the free rounds lower the closed form.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    float
        x* = (c w)^2, where f is largest.

    Notes
    -----
    f(x) = mu_h + 4 d E sqrt(x) log(D0 x / delta) - (alpha mu_l / 2) x rises from x = 1 to x* and
    falls from there. With sqrt(x) = c w its derivative is 0 where w = 1 + log(u w), that is where
    -w exp(-w) = -1 / (e u); the larger solution is on the branch W_{-1}. The paper bounds x* where
    it can be had exactly.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=100, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=10.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=20_000,
    ... )
    >>> f"{rounds_threshold(setting):.2g}"
    '8e+11'
    """
    known = constants(setting)
    return (known.c * known.w) ** 2


def closed_rounds(setting: Setting) -> float:
    """Return a bound on `conservative_rounds` in closed form; it does not know n.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    float
        2 mu_h / (alpha mu_l) + c^2 (w^2 - 2 w); with at least C_b - 1 free rounds
        max(0, (2 / (alpha mu_l)) f(free rounds + 1)) instead.

    Notes
    -----
    min(s, Lin(s)) + 2 psi(s) <= 4 d E sqrt(x) log(D0 x / delta) with x = s + 1, so g(s) <= f(x):
    both logarithms of Lin are at most l = log(D0 x / delta), that of psi is at most 2 l because its
    argument is squared, and psi comes twice. f and its peak: see `rounds_threshold`.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> f"{closed_rounds(setting):.2g}"
    '1.4e+08'
    """
    known = constants(setting)
    am = setting.alpha * setting.baseline_low
    x = free_rounds(setting) + 1.0
    if x < (known.c * known.w) ** 2:
        return 2.0 * setting.baseline_high / am + known.c**2 * (known.w**2 - 2.0 * known.w)
    rise = 0.5 * am * known.c * math.sqrt(x) * math.log(known.D0 * x / setting.delta)
    return max(0.0, 2.0 * (setting.baseline_high + rise - 0.5 * am * x) / am)
