"""Random numbers without state: the j-th number of a stream is a function of its key and j.

A key is 64 bits; keys of streams within streams are made by `child`. The j-th word of a stream is
SplitMix64's output function of key + (j + 1) G. No state is carried, so any worker can draw any
number of any run, in any order, and algorithms compared on one problem see the same rewards.

References
----------
G. L. Steele, D. Lea, C. H. Flood (2014). Fast splittable pseudorandom number generators.
M. J. Wichura (1988). Algorithm AS 241: the percentage points of the normal distribution.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import compiled
from handrail.records import Floats, Ints

__all__ = [
    "child",
    "children",
    "normal",
    "normals",
    "quantiles",
    "root",
    "shares",
    "uniform",
    "word",
]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_ODD: Final = np.uint64(0xD1342543DE82EF95)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_ONE: Final = np.uint64(1)
_BLOCK: Final = 1 << 9
"""Values whose quantiles are computed together: with all there is besides, they fit the cache."""


@compiled
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@compiled
def child(key: np.uint64, part: int) -> np.uint64:
    """Return the key of a stream within a stream; different parts, different keys."""
    return _mix(_mix(np.uint64(key) + _GOLDEN) ^ (np.uint64(part) * _ODD))


@compiled
def children(key: np.uint64, parts: int) -> NDArray[np.uint64]:
    """Return the keys of the streams 0, 1, ... within a stream."""
    keys = np.empty(parts, np.uint64)
    for part in range(parts):
        keys[part] = child(key, part)
    return keys


def root(seed: int, *parts: int) -> np.uint64:
    """Return the key of a stream named by a seed and any number of parts.

    Parameters
    ----------
    seed : int
        From 0 to 2^63 - 1.
    *parts : int
        For instance a purpose, a problem and a run.

    Returns
    -------
    numpy.uint64
        The key.
    """
    key = np.uint64(0)
    for part in (seed, *parts):
        key = np.uint64(child(key, part))  # Numba hands Python a plain int
    return key


@compiled
def word(key: np.uint64, j: int) -> np.uint64:
    """Return the j-th 64-bit word of a stream."""
    return _mix(np.uint64(key) + (np.uint64(j) + _ONE) * _GOLDEN)


@compiled
def uniform(key: np.uint64, j: int) -> float:
    """Return the j-th number of a stream, uniform in [0, 1): 53 bits of its word."""
    return float(np.float64(word(key, j) >> np.uint64(11)) * 2.0**-53)


@compiled
def normal(key: np.uint64, j: int) -> float:
    """Return the j-th standard normal number of a stream, the quantile of 52 bits of its word."""
    return _quantile(_share(word(key, j)))


@compiled
def shares(key: np.uint64, first: int, out: Floats) -> None:
    """Fill in what the normal numbers first, first + 1, ... of a stream are the quantiles of."""
    for j in range(out.size):
        out[j] = _share(word(key, first + j))


@compiled
def normals(key: np.uint64, first: int, out: Floats) -> None:
    """Fill in the standard normal numbers first, first + 1, ... of a stream.

    The same bits as `normal` gives one by one, in a third of the time.
    """
    shares(key, first, out)
    quantiles(out)


@compiled
def quantiles(values: Floats) -> None:
    """Turn shares into their standard normal quantiles, in place.

    Notes
    -----
    A block of values at a time. The rational function of the middle is computed of all of them,
    then the tails' values, one in seven, are put in their place: the loops have no branches, so
    the compiler vectorises them, all but that of the logarithm.
    """
    places = np.empty(_BLOCK, np.int64)
    tails = np.empty((2, _BLOCK))
    for start in range(0, values.size, _BLOCK):
        _block_quantiles(values[start : start + _BLOCK], places, tails[0], tails[1])


@compiled
def _block_quantiles(values: Floats, places: Ints, root: Floats, tail: Floats) -> None:
    count = 0
    for j in range(values.size):
        places[count] = j
        count += abs(values[j] - 0.5) > 0.425
    for k in range(count):
        tail[k] = values[places[k]]
        root[k] = math.sqrt(-math.log(min(tail[k], 1.0 - tail[k])))
    for j in range(values.size):
        values[j] = _middle(values[j] - 0.5)
    for k in range(count):
        size = _near(root[k])
        tail[k] = -size if tail[k] < 0.5 else size
    for k in range(count):
        values[places[k]] = tail[k] if root[k] <= 5.0 else math.copysign(_far(root[k]), tail[k])


@compiled
def _share(word: np.uint64) -> float:
    """Return 52 bits of a word as a number in (0, 1)."""
    return float((np.float64(word >> np.uint64(12)) + 0.5) * 2.0**-52)


@compiled
def _quantile(share: float) -> float:
    """Return the standard normal quantile (AS 241, about 16 digits)."""
    centred = share - 0.5
    if abs(centred) <= 0.425:
        return _middle(centred)
    r = math.sqrt(-math.log(share if centred < 0.0 else 1.0 - share))
    size = _near(r) if r <= 5.0 else _far(r)
    return -size if centred < 0.0 else size


@compiled
def _middle(centred: float) -> float:
    """Return the quantile where |share - 1/2| <= 0.425."""
    r = 0.180625 - centred * centred
    above = (
        ((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r
             + 6.7265770927008700853e4) * r + 4.5921953931549871457e4) * r
           + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r
         + 1.3314166789178437745e2) * r + 3.3871328727963666080
    )  # fmt: skip
    below = (
        ((((((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r
             + 3.9307895800092710610e4) * r + 2.1213794301586595867e4) * r
           + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r
         + 4.2313330701600911252e1) * r + 1.0
    )  # fmt: skip
    return centred * above / below


@compiled
def _near(r: float) -> float:
    """Return the quantile's size in a tail of exp(-r^2), r <= 5."""
    r -= 1.6
    above = (
        ((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r
             + 2.41780725177450611770e-1) * r + 1.27045825245236838258) * r
           + 3.64784832476320460504) * r + 5.76949722146069140550) * r
         + 4.63033784615654529590) * r + 1.42343711074968357734
    )  # fmt: skip
    below = (
        ((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r
             + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1) * r
           + 6.89767334985100004550e-1) * r + 1.67638483018380384940) * r
         + 2.05319162663775882187) * r + 1.0
    )  # fmt: skip
    return above / below


@compiled
def _far(r: float) -> float:
    """Return the quantile's size in a tail of exp(-r^2), r > 5."""
    r -= 5.0
    above = (
        ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
             + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2) * r
           + 2.96560571828504891230e-1) * r + 1.78482653991729133580) * r
         + 5.46378491116411436990) * r + 6.65790464350110377720
    )  # fmt: skip
    below = (
        ((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r
             + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4) * r
           + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
         + 5.99832206555887937690e-1) * r + 1.0
    )  # fmt: skip
    return above / below
