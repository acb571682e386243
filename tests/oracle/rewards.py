"""Random numbers by counting, and the rewards made of them, in plain integers.

A word is SplitMix64's output function of key + (j + 1) G; a key within a key is made by two rounds
of the same function, with the number of the part, spread by an odd factor, between them. Rewards of
a run are the numbers of one stream for each action: of a fixed arm the j-th reward is number j, of
changing contexts the reward of round t (from 0) is number t.
"""

from __future__ import annotations

from scipy.special import ndtri

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
ODD = 0xD1342543DE82EF95

PROBLEMS, CONTEXTS, REWARDS = 1, 2, 3
"""What the streams of a seed are for."""


def mix(word: int) -> int:
    """SplitMix64's output function (Steele, Lea and Flood 2014, figure 16)."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def child(key: int, part: int) -> int:
    """The key of part number ``part`` within a key."""
    return mix(mix((key + GOLDEN) & MASK) ^ ((part * ODD) & MASK))


def root(*parts: int) -> int:
    """The key of a seed, a purpose, a problem, ...: one within the other, from 0."""
    key = 0
    for part in parts:
        key = child(key, part)
    return key


def word(key: int, j: int) -> int:
    """64 bits."""
    return mix((key + (j + 1) * GOLDEN) & MASK)


def uniform(key: int, j: int) -> float:
    """The upper 53 bits as a fraction: in [0, 1)."""
    return (word(key, j) >> 11) / 2**53


def normal(key: int, j: int) -> float:
    """The normal quantile at the middle of one of 2^52 equal cells."""
    return float(ndtri((2 * (word(key, j) >> 12) + 1) / 2**53))


def reward(
    kind: str, mean: float, noise: float, seed: int, problem: int, run: int, action: int, j: int
) -> float:
    """Number j of an action in a run, as a reward of this mean."""
    key = root(seed, REWARDS, problem, run, action)
    if kind == "bernoulli":
        return 1.0 if uniform(key, j) < mean else 0.0
    return mean + noise * normal(key, j)
