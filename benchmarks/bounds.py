"""Bounds for rewards in [0, 1]: how wide they are, and what a call costs.

Each is put at the level that makes it fail with a probability of at most `LEVEL`, at all times
together. The normal mixtures are tuned for `TUNED` rewards. Rewards are taken to be right on their
mean: S = n mean, V = n mean (1 - mean).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module

import numba

from benchmarks.boundaries import gamma_exponential, single_line, stitched
from benchmarks.bounds_grid import grid_rows
from benchmarks.measure import Row, interleave, median, ratio, timed
from handrail.bounds.arm import MIXTURE as ARM_MIXTURE
from handrail.bounds.arm import TWO_ZETA_3, WU, arm_width
from handrail.bounds.bernstein import bernstein
from handrail.bounds.cumulative import MIXTURE, PAPER, SPENT_ONE_SIDED, SUBGAUSSIAN, cumulative
from handrail.bounds.kl import kl_interval
from handrail.bounds.mixture import mixture_rho

LEVEL, NOISE, TUNED = 0.05, 0.5, 1000
COUNTS, MEANS = (100, 10_000, 1_000_000), (0.01, 0.1, 0.5)
CALLS, REPETITIONS = 200_000, 9


def _arm(count: int) -> list[Row]:
    """Return the lengths of the intervals of one arm's mean, against the best at one count."""
    group = f"bounds: length of an arm's interval, n = {count:,}"
    name = "hoeffding at this n only"
    fixed = 2.0 * math.sqrt(math.log(2.0 / LEVEL) / (2.0 * count))
    rho = mixture_rho(TUNED * NOISE * NOISE, LEVEL)
    found = {
        "wu": 2.0 * arm_width(WU, count, count, 1, NOISE, LEVEL / TWO_ZETA_3, rho),
        "mixture": 2.0 * arm_width(ARM_MIXTURE, count, count, 1, NOISE, LEVEL, rho),
    }
    for mean in MEANS:
        lower, upper = kl_interval(count, mean * count, LEVEL)
        found[f"kl, mean {mean:g}"] = upper - lower
    found |= _others(count)
    rows = [Row(group, name, fixed, "", note="holds for rewards of any mean")]
    return rows + [Row(group, key, value, "", name, value / fixed) for key, value in found.items()]


def _others(count: int) -> dict[str, float]:
    """Return lengths of the package confseq's mixture, where it is installed."""
    try:
        confseq = import_module("confseq.boundaries")
    except ImportError:
        return {}
    found = {}
    for mean in MEANS:
        for tuned in (TUNED, count):
            lower, upper = confseq.bernoulli_confidence_interval(mean * count, count, LEVEL, tuned)
            found[f"confseq tuned for {tuned:,}, mean {mean:g}"] = upper - lower
    return found


def _sums(count: int) -> list[Row]:
    """Return the bounds on a sum of rewards, against `subgaussian`."""
    group = f"bounds: excess of a sum of rewards, n = {count:,}"
    rho = mixture_rho(TUNED * NOISE * NOISE, LEVEL)
    level = LEVEL / SPENT_ONE_SIDED
    found = {
        "subgaussian": cumulative(SUBGAUSSIAN, count, NOISE, level, rho),
        "paper": cumulative(PAPER, count, NOISE, level, rho),
        "mixture": cumulative(MIXTURE, count, NOISE, LEVEL, rho),
    }
    for mean in MEANS:
        variation = count * mean * (1.0 - mean)
        found |= {
            f"bernstein, mean {mean:g}": bernstein(variation, LEVEL),
            f"gamma-exponential tuned for V = 10, mean {mean:g}": gamma_exponential(
                variation, LEVEL, 10.0
            ),
            f"stitched, mean {mean:g}": stitched(variation, LEVEL),
            f"best line, V known before, mean {mean:g}": single_line(variation, LEVEL),
        }
    base = found["subgaussian"]
    rows = [Row(group, key, value, "", "subgaussian", value / base) for key, value in found.items()]
    return [Row(group, "subgaussian", base, ""), *rows[1:]]


@numba.njit(nogil=True)
def _many_arm(width: int, calls: int, mean: float) -> float:
    total = 0.0
    for n in range(1, calls + 1):
        total += arm_width(width, n, n, 1, 0.5, 0.05 + mean / n, 10.0)
    return total


@numba.njit(nogil=True)
def _many_kl(calls: int, mean: float) -> float:
    total = 0.0
    for n in range(1, calls + 1):
        lower, upper = kl_interval(n, mean * n, 0.05 + 0.1 / n)
        total += upper - lower
    return total


@numba.njit(nogil=True)
def _many_bernstein(calls: int, mean: float) -> float:
    total = 0.0
    for n in range(1, calls + 1):
        total += bernstein(mean * (1.0 - mean) * n, 0.05 + 0.1 / n)
    return total


def _times() -> list[Row]:
    """Time calls from compiled code, for n = 1, 2, ..., with a level that moves."""
    reference = "arm_width, wu"
    work: dict[str, Callable[[], float]] = {
        reference: partial(_many_arm, WU, CALLS, 0.1),
        "arm_width, mixture": partial(_many_arm, ARM_MIXTURE, CALLS, 0.1),
    }
    for mean in MEANS:
        work[f"kl_interval, both ends, mean {mean:g}"] = partial(_many_kl, CALLS, mean)
    work["bernstein"] = partial(_many_bernstein, CALLS, 0.1)
    seconds = interleave({name: partial(timed, call) for name, call in work.items()}, REPETITIONS)
    group = "bounds: time of a call"
    rows = []
    for name, taken in seconds.items():
        against = "" if name == reference else reference
        share = None if name == reference else ratio(taken, seconds[reference])
        rows.append(Row(group, name, median(taken, CALLS) * 1e3, "ns", against, share))
    return rows


def rows() -> list[Row]:
    """Measure."""
    widths = [row for count in COUNTS for row in (*_arm(count), *_sums(count))]
    return [*widths, *grid_rows(), *_times()]
