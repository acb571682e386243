"""Random numbers without state: the transcription's bits, and the distribution they should have.

Seeds are fixed, so a test that passes goes on passing. Each statistic would fail for truly random
numbers with probability FALSE_ALARM; there are fewer than 300, so any false alarm had probability
below 3e-4 when the seeds were chosen.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from handrail.compiled import compiled
from handrail.counter import (
    _quantile,
    child,
    children,
    normal,
    normals,
    quantiles,
    root,
    uniform,
    word,
)
from handrail.environments.drawing import uniforms
from handrail.records import Floats
from oracle import rewards as plain

FALSE_ALARM = 1e-6
MANY = 40_000
FAR = float(stats.norm.isf(FALSE_ALARM / 2))
NAMES: list[tuple[int, ...]] = [(0,), (1,), (7, 3), (7, 3, 0, 0, 0), (2**63 - 1, 2, 69, 39, 9)]


def _uniforms(key: Any, start: int = 0, size: int = MANY) -> Floats:
    numbers = np.empty(size)
    uniforms(key, start, numbers)
    return numbers


def _normals(key: Any, start: int = 0, size: int = MANY) -> Floats:
    numbers = np.empty(size)
    normals(key, start, numbers)
    return numbers


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_as_the_transcription(name: tuple[int, ...]) -> None:
    key = root(*name)
    assert int(key) == plain.root(*name)
    assert [int(k) for k in children(key, 5)] == [plain.child(int(key), a) for a in range(5)]
    for j in (0, 1, 2, 1000, 10**9, 2**40):
        assert int(word(key, j)) == plain.word(int(key), j)
        assert uniform(key, j) == plain.uniform(int(key), j)
        assert normal(key, j) == pytest.approx(plain.normal(int(key), j), rel=1e-13, abs=1e-15)
    assert int(child(key, 2**62)) == plain.child(int(key), 2**62)


def test_known_words_of_splitmix() -> None:
    """The first outputs of the published generator seeded with 1234567 (Vigna's test values)."""
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [int(word(np.uint64(1234567), j)) for j in range(5)] == published


def test_normal_quantile_everywhere() -> None:
    """Against an independent one, from the smallest share that can come up to the largest."""
    ends = (np.arange(1, 2000) - 0.5) * 2.0**-52
    shares = np.concatenate([ends, np.geomspace(1e-15, 0.5, 5000), np.linspace(0.001, 0.999, 4999)])
    for share in np.concatenate([shares, 1.0 - ends]):
        expected = float(special.ndtri(share))
        assert _quantile(float(share)) == pytest.approx(expected, rel=2e-13, abs=1e-15)


@compiled
def _one_by_one(key: Any, start: int, out: Floats) -> None:
    for j in range(out.size):
        out[j] = normal(key, start + j)


@compiled
def _quantile_of_each(values: Floats) -> None:
    for j in range(values.size):
        values[j] = _quantile(values[j])


def test_normals_are_normal_one_by_one() -> None:
    """To the last bit: a million of one stream, many short streams, from anywhere."""
    sizes = [0, 1, 2, 7, 8, 9, 19, 100, 511, 512, 513, 1025]
    pieces = [(root(3), 0, 1_000_000), (root(4), 2**40, 100_000)]
    pieces += [(root(5, i), i % 7, sizes[i % len(sizes)]) for i in range(2000)]
    for key, start, size in pieces:
        expected = np.empty(size)
        _one_by_one(key, start, expected)
        assert _normals(key, start, size).tobytes() == expected.tobytes()


def test_quantiles_are_the_quantile_of_each() -> None:
    """To the last bit, in both tails down to the smallest share, and where the formulas meet."""
    ends = np.concatenate([(np.arange(1, 2000) - 0.5) * 2.0**-52, np.geomspace(1e-16, 0.1, 9001)])
    meet = np.concatenate([0.075 + np.arange(-50, 50) * 2.0**-52, np.linspace(1.3e-11, 1.5e-11)])
    low = np.concatenate([ends, meet])
    found = np.concatenate([low, 1.0 - low, np.linspace(0.07, 0.93, 1001)])
    expected = found.copy()
    quantiles(found)
    _quantile_of_each(expected)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_uniform(name: tuple[int, ...]) -> None:
    numbers = _uniforms(root(*name))
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    assert stats.kstest(numbers, "uniform").pvalue > FALSE_ALARM
    cells = np.bincount((numbers * 256).astype(int), minlength=256)
    assert stats.chisquare(cells).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", NAMES)
def test_normal(name: tuple[int, ...]) -> None:
    """Distribution, and the first four moments against their own standard errors."""
    numbers = _normals(root(*name))
    assert stats.kstest(numbers, "norm").pvalue > FALSE_ALARM
    for power, mean, variance in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]:
        z = (np.mean(numbers**power) - mean) / math.sqrt(variance / MANY)
        assert abs(z) < FAR, power


def test_every_bit_is_fair() -> None:
    words = np.array([word(root(5), j) for j in range(MANY)], np.uint64)
    ones = [int(np.sum((words >> np.uint64(bit)) & np.uint64(1))) for bit in range(64)]
    z = (np.array(ones) - MANY / 2) / math.sqrt(MANY / 4)
    assert np.abs(z).max() < FAR


def _independent(one: Floats, other: Floats) -> None:
    """Uncorrelated, and all 16 x 16 cells of a pair alike."""
    z = 12 * np.mean((one - 0.5) * (other - 0.5)) * math.sqrt(len(one))
    assert abs(z) < FAR
    cells = np.bincount((one * 16).astype(int) * 16 + (other * 16).astype(int), minlength=256)
    assert stats.chisquare(cells).pvalue > FALSE_ALARM


@pytest.mark.parametrize("lag", [1, 2, 3, 10, 4096])
def test_numbers_of_one_stream_are_independent(lag: int) -> None:
    numbers = _uniforms(root(11), size=MANY + lag)
    _independent(numbers[:MANY], numbers[lag:])


NEIGHBOURS = {
    "seeds": [root(seed, 3, 0, 0, 0) for seed in range(6)],
    "purposes": [root(0, purpose, 0, 0, 0) for purpose in range(6)],
    "problems": [root(0, 3, problem, 0, 0) for problem in range(6)],
    "runs": [root(0, 3, 0, run, 0) for run in range(6)],
    "arms": [root(0, 3, 0, 0, arm) for arm in range(6)],
    "levels": [root(*[0] * depth) for depth in range(1, 7)],
}


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_neighbouring_streams_are_independent(kind: str) -> None:
    for one, other in pairwise(NEIGHBOURS[kind]):
        _independent(_uniforms(one), _uniforms(other))


def test_first_numbers_of_many_streams_are_independent() -> None:
    """Across streams instead of along one: what a problem's runs begin with."""
    first, second = np.empty(MANY), np.empty(MANY)
    base = root(3, 3, 0)
    for run in range(MANY):
        key = np.uint64(child(base, run))
        first[run], second[run] = uniform(key, 0), uniform(key, 1)
    assert stats.kstest(first, "uniform").pvalue > FALSE_ALARM
    _independent(first, second)
    _independent(first[:-1], first[1:])


def test_no_two_keys_are_alike() -> None:
    """All streams of a whole experiment; a collision of 84,000 random keys: probability 2e-10."""
    keys = {
        int(key)
        for problem in range(70)
        for run in range(40)
        for key in children(root(0, 3, problem, run), 30)
    }
    assert len(keys) == 70 * 40 * 30
