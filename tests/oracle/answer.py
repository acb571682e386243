"""What the oracle says about one round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """The decision of one round, in the user's units.

    ``margin``, ``upper`` and ``lower`` belong to ``action``. The arrays hold one value per action
    (``margins`` is nan for the baseline, and everywhere where nothing has to be certified).
    ``magnitude`` is the size of the sums whose difference a margin is. ``baseline_mean`` is an
    interval, of no length where the mean is known. ``held``: the baseline was asked for.
    """

    round: int
    action: int
    event: str
    margin: float | None
    upper: float
    lower: float
    uppers: Floats
    lowers: Floats
    margins: Floats
    baseline: int | None
    baseline_mean: tuple[float, float] | None
    baseline_margin: float | None
    magnitude: float
    selection: str
    retired: frozenset[int] = frozenset()
    held: bool = False
