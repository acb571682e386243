"""How long a checkpoint algorithm explores freely before its first checkpoint can bind."""

from __future__ import annotations

import math
from fractions import Fraction

from handrail.theory.setting import Setting

__all__ = ["free_rounds", "free_stretch"]


def _stretch(setting: Setting) -> Fraction:
    # A Fraction of the number as it is written: 0.06 x 50 is 3 here, and not a little less.
    alpha, low, high = (
        Fraction(repr(value))
        for value in (setting.alpha, setting.baseline_low, setting.baseline_high)
    )
    return alpha * low * setting.checkpoint_every / ((1 - alpha) * high + alpha * low)


def free_stretch(setting: Setting) -> float:
    """Return T~, the length of the stretch in which every action is safe.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    float
        alpha mu_l T / ((1 - alpha) mu_h + alpha mu_l).

    Notes
    -----
    Before the first checkpoint the slack is alpha mu_l (T - t). Nothing else is needed while it
    covers (1 - alpha) mu_h t, all that t rounds without a certified reward can be asked for. The
    paper leaves the factor t out of this condition.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ...     checkpoint_every=1_010,
    ... )
    >>> free_stretch(setting), free_rounds(setting)
    (50.5, 50)
    """
    return float(_stretch(setting))


def free_rounds(setting: Setting) -> int:
    """Return how many rounds of the first phase are free: the whole part of T~, 0 for T = 1.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    int
        In so many rounds at the start the most optimistic action is played, whatever happens.

    Notes
    -----
    Where T~ is a whole number the last of them has a margin of exactly 0, and the rounding of a
    running policy may decide against it.
    """
    return math.floor(_stretch(setting))
