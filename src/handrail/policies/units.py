"""The user's units on the outside, means in [0, 1] on the inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from handrail import checks
from handrail.errors import InputError, shown
from handrail.records import Floats

__all__ = ["Units", "make_units"]

_ROUNDING: Final = 1e-12
"""By how much of the range a value that was computed may miss it; it is then taken as the end."""
_SHORTEST: Final = 1e-10
"""Least length of a range, as a share of its larger end: a value in it is then rounded by 1.2e-6 of
the length at most. (1e9, 1e9 + 1) is longer."""


@dataclass(frozen=True, slots=True)
class Units:
    """The range in which means lie, and whether rewards are held to it as well.

    Notes
    -----
    Inside, x becomes (x - low) / (high - low): means lie in [0, 1], as the theory has it. With
    low != 0 the guarantee is therefore one on reward above low. A linear mean <theta, phi> then
    becomes <theta, phi> / (high - low) - low / (high - low): a constant feature 1 is appended,
    with |theta| <= sqrt(B^2 + low^2) / (high - low) and |phi| <= sqrt(D^2 + 1).
    """

    low: float
    high: float
    bounded: bool
    scale: float = field(init=False)
    """The length of the range."""
    shifted: bool = field(init=False)
    """Whether the range starts elsewhere than at 0."""

    def __post_init__(self) -> None:
        """Derive what every round asks for."""
        object.__setattr__(self, "scale", self.high - self.low)
        object.__setattr__(self, "shifted", self.low != 0.0)

    def check_length(self) -> None:
        """Refuse a range in which floating point tells too few values apart."""
        if self.scale < _SHORTEST * max(abs(self.low), abs(self.high)):
            raise InputError(
                "reward_range" if self.bounded else "mean_range",
                f"[{self.low:.17g}, {self.high:.17g}] is too short for where it lies: floating "
                "point tells few values in it apart",
                "subtract a constant from all rewards and means",
            )

    def inward(self, value: float) -> float:
        """Turn a reward or a mean into inner units."""
        return (value - self.low) / self.scale

    def outward(self, value: float) -> float:
        """Turn a mean in inner units into the user's."""
        return value * self.scale + self.low

    def mean(self, field: str, value: object) -> float:
        """Check a mean given by the user; return it in inner units."""
        inner = self.inward(checks.number(field, value))
        if not -_ROUNDING <= inner <= 1.0 + _ROUNDING:
            raise InputError(
                field,
                f"{value} is outside [{self.low:g}, {self.high:g}], the range of means",
                "declare the range with reward_range (rewards lie in it) or mean_range (only "
                "means do)",
            )
        return min(max(inner, 0.0), 1.0)

    def means(self, field: str, value: object, size: int) -> Floats:
        """Check the means of all actions; return them in inner units."""
        result = checks.finite(field, checks.array(field, value, (size,)))
        return np.array([self.mean(field, float(each)) for each in result])

    def reward(self, field: str, value: object) -> float:
        """Check a reward; return it in inner units."""
        inner = self.inward(checks.number(field, value))
        if not self.bounded:
            if not abs(inner) <= _LARGEST:
                raise InputError(field, f"{value} is too large to be summed")
            return inner
        if not -_ROUNDING <= inner <= 1.0 + _ROUNDING:
            raise InputError(
                field,
                f"{value} is outside the declared reward_range [{self.low:g}, {self.high:g}]",
                "with such rewards the guarantee is void: declare the range they really have",
            )
        return min(max(inner, 0.0), 1.0)

    def augment(self, features: Floats) -> Floats:
        """Append the constant feature where the range is shifted."""
        if not self.shifted:
            return features
        return np.column_stack([features, np.ones(len(features))])

    def bare(self, row: Floats) -> Floats:
        """Return a row without the constant feature."""
        return row[:-1] if self.shifted else row


_LARGEST: Final = 1e100
"""Rewards are squared and summed."""


def make_units(reward_range: object, mean_range: object) -> Units:
    """Check the declared range; without one, means lie in [0, 1] and rewards anywhere."""
    if reward_range is not None and mean_range is not None:
        raise InputError(
            "mean_range", "is given beside reward_range", "declare one of the two ranges"
        )
    field, value = ("mean_range", mean_range)
    if reward_range is not None:
        field, value = ("reward_range", reward_range)
    if value is None:
        return Units(0.0, 1.0, bounded=False)
    ordered = isinstance(value, Sequence) or np.ndim(value) > 0  # type: ignore[arg-type]
    pair = list(value) if ordered else []  # type: ignore[call-overload]
    if len(pair) != 2:
        raise InputError(field, f"{shown(value)} is not a pair", "pass [lowest, highest]")
    low, high = checks.number(field, pair[0]), checks.number(field, pair[1])
    if not low < high:
        raise InputError(field, f"[{low:g}, {high:g}] is empty", "pass [lowest, highest]")
    checks.positive(field, high - low)
    return Units(low, high, bounded=reward_range is not None)
