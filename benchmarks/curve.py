"""A measured curve: time against a size, and the power of the size that it grows with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["Curve", "slope"]


@dataclass(frozen=True)
class Curve:
    """Seconds at increasing sizes."""

    name: str
    """Of what was timed."""
    quantity: str
    """What grows."""
    order: float
    """The largest power of the size that time should grow with."""
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]


def slope(curve: Curve) -> float:
    """Return the power of the size that time grows with, over the upper half of the sizes.

    Half on a logarithmic scale: below it, what is done once outweighs what is done often.
    """
    across = [math.log(size) for size in curve.sizes]
    middle = (across[0] + across[-1]) / 2
    upper = [i for i, place in enumerate(across) if place >= middle - 1e-9]
    return float(
        np.polyfit([across[i] for i in upper], [math.log(curve.seconds[i]) for i in upper], 1)[0]
    )
