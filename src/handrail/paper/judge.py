"""When a measured number bears out what the paper says; the rules, in one place.

- A stated number holds if the measurement is within 5 percentage points of it, "more than x"
  ("less than x") if the measurement is on that side of x. Where it is not, but the 95 % interval
  reaches it, the claim is left open: more noise never makes a claim hold.
- A direction holds if the whole interval is on its side, fails if the whole interval is on the
  other side, and is left open if the interval contains 0.
- A stated number that depends on the horizon or on the number of models is judged only at the
  paper's own; it is measured and shown at any scale.
"""

from __future__ import annotations

from typing import Final

from handrail.paper.bootstrap import Interval
from handrail.paper.scale import PAPER, Scale

__all__ = ["TOLERANCE", "above", "at_least", "at_most", "matches", "same_size"]

TOLERANCE: Final = 0.05
"""Shares that differ by no more are called equal."""


def matches(found: Interval, stated: float, tolerance: float = TOLERANCE) -> bool | None:
    """Judge a stated number.

    Parameters
    ----------
    found : Interval
        What was measured.
    stated : float
        What the paper says.
    tolerance : float, default=0.05
        How far off is still a match.

    Returns
    -------
    bool or None
        Whether it holds; None where these runs cannot tell.

    Examples
    --------
    >>> matches(Interval(0.40, 0.39, 0.41), 0.43), matches(Interval(0.30, 0.25, 0.44), 0.43)
    (True, None)
    >>> matches(Interval(0.30, 0.28, 0.32), 0.43)
    False
    """
    if abs(found.measured - stated) <= tolerance:
        return True
    return None if found.low <= stated <= found.high else False


def at_least(found: Interval, stated: float) -> bool | None:
    """Judge "more than"; see `matches`."""
    if found.measured >= stated:
        return True
    return None if found.high >= stated else False


def at_most(found: Interval, stated: float) -> bool | None:
    """Judge "less than"; see `matches`."""
    if found.measured <= stated:
        return True
    return None if found.low <= stated else False


def above(found: Interval, level: float = 0.0) -> bool | None:
    """Judge a direction.

    Parameters
    ----------
    found : Interval
        What was measured.
    level : float, default=0.0
        What it should be above.

    Returns
    -------
    bool or None
        None where the interval contains the level: these runs cannot tell.

    Examples
    --------
    >>> above(Interval(0.2, 0.1, 0.3)), above(Interval(0.2, -0.1, 0.3))
    (True, None)
    >>> above(Interval(-1.0, -2.0, -0.5))
    False
    """
    if found.low > level:
        return True
    return False if found.high < level else None


def same_size(scale: Scale, experiment: str, *, models: bool = True) -> bool:
    """Say whether a stated number can be judged.

    Parameters
    ----------
    scale : Scale
        The scale.
    experiment : str
        The name of one of its sizes.
    models : bool, default=True
        Whether the number depends on how many models there are, as that of the worst does.

    Returns
    -------
    bool
        Whether horizon (and number of models) are the paper's.
    """
    size, full = scale.size(experiment), PAPER.size(experiment)
    return size.rounds == full.rounds and (not models or size.problems >= full.problems)
