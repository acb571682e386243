"""How much lower other lines, or a mixture of them, would make `bernstein`."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from benchmarks.boundaries import gamma_exponential, single_line, stitched
from benchmarks.measure import Row
from handrail.bounds.bernstein import bernstein, bernstein_lines
from handrail.records import Floats

__all__ = ["grid_rows"]

VARIATIONS, LEVELS = 10.0 ** np.linspace(-1.0, 7.0, 41), 10.0 ** -np.arange(1.0, 7.0)
RATIOS = (1.4, 1.75, 2.0, 2.5)


def _psi(slopes: Floats) -> Floats:
    return np.asarray(-np.log1p(-slopes) - slopes, dtype=np.float64)


def _least(ratio: float, variation: float, level: float) -> float:
    """Return the least of lines with another ratio of slopes, over the same range of them."""
    first, last = bernstein_lines()[0][0], bernstein_lines()[-1][0]
    k = np.arange(math.ceil(math.log(first / last) / math.log(ratio) - 1e-9) + 1.0)
    slopes, weights = first / ratio**k, 1.0 / ((k + 2.0) * (k + 3.0))
    heights = -np.log(weights / weights.sum() * level) + _psi(slopes) * variation
    return float(np.min(heights / slopes))


def _mixed(variation: float, level: float) -> float:
    """Return the bound of the mixture over the lines that `bernstein` takes the least of."""
    slopes, weights = np.array(bernstein_lines()).T
    logs = np.log(weights) - _psi(slopes) * variation

    def over(bound: float) -> float:
        return float(special.logsumexp(logs + slopes * bound)) + math.log(level)

    return float(optimize.brentq(over, 0.0, bernstein(variation, level) * 1.01))


def grid_rows() -> list[Row]:
    """Compare with the best line for each V, over V from 0.1 to 10^7 and six levels."""
    cases = [(float(v), float(level)) for v in VARIATIONS for level in LEVELS]
    base = np.array([single_line(*case) for case in cases])
    bounds = {
        "bernstein": [bernstein(*case) for case in cases],
        "mixture of the same lines": [_mixed(*case) for case in cases],
        **{f"slopes in ratio {r:g}": [_least(r, *case) for case in cases] for r in RATIOS},
        "gamma-exponential tuned for V = 10": [gamma_exponential(*case, 10.0) for case in cases],
        "gamma-exponential tuned for V = 100": [gamma_exponential(*case, 100.0) for case in cases],
        "stitched": [stitched(*case) for case in cases],
    }
    found = []
    ours = np.array(bounds["bernstein"])
    for name, values in bounds.items():
        against = np.array(values)
        low, high = np.min(ours / against), np.max(ours / against)
        found.append(
            Row(
                "bounds: lines, mean over V and levels",
                name,
                float(np.mean(against / base)),
                "",
                "bernstein",
                float(np.mean(against / ours)),
                note=f"bernstein is {low:.2f} to {high:.2f} times as high",
            )
        )
    return found
