"""What the user says of the baseline's mean: a number, an interval, or that it is to be learned."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from handrail.conservative.baseline import CONSTANT, GIVEN, WITHIN
from handrail.errors import InputError, shown
from handrail.policies.algorithm import Algorithm
from handrail.policies.units import Units

__all__ = ["LEARNED", "Known", "baseline_interval", "know"]

LEARNED: Final = "learned"
_REMEDY: Final = "pass a number, a pair [low, high] or 'learned'"


class Known(NamedTuple):
    """What is known of the baseline's mean, in inner units."""

    code: int
    low: float | None
    """None where every round says it."""
    high: float | None
    learned: bool

    @property
    def fixed(self) -> bool:
        """Whether one constant mean was agreed on, so that no round may say another."""
        return self.code != GIVEN


def baseline_interval(units: Units, value: object) -> tuple[float, float]:
    """Check a mean or an interval for it; return both ends in inner units."""
    if isinstance(value, str):
        raise InputError("baseline_mean", f"{value!r} is not known", _REMEDY)
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim > 0):
        pair = list(value)
        if len(pair) != 2:
            raise InputError("baseline_mean", f"{shown(value)} is no pair", _REMEDY)
        low = units.mean("baseline_mean", pair[0])
        high = units.mean("baseline_mean", pair[1])
        if low > high:
            raise InputError("baseline_mean", f"[{pair[0]}, {pair[1]}] is empty", _REMEDY)
        return low, high
    mean = units.mean("baseline_mean", value)
    return mean, mean


def know(algorithm: Algorithm, value: object, units: Units, varying: bool) -> Known:
    """Say what a given `baseline_mean` amounts to.

    Parameters
    ----------
    algorithm : Algorithm
        The row of parts.
    value : object
        As given to `make_policy`; None where every round says it.
    units : Units
        The user's units.
    varying : bool
        Whether the mean may differ from round to round: contexts, and guards.

    Returns
    -------
    Known
        What the rules are told.
    """
    if value is None:
        return Known(GIVEN, None, None, learned=False)
    if isinstance(value, str) and value == LEARNED:
        if algorithm.past == "oracle":
            raise InputError("baseline_mean", "an oracle knows it", "pass the baseline's mean")
        code = WITHIN if algorithm.estimator == "linear" else CONSTANT
        return Known(code, 0.0, 1.0, learned=True)
    low, high = baseline_interval(units, value)
    constant = low < high and not varying
    return Known(CONSTANT if constant else GIVEN, low, high, learned=False)
