"""Which combination of parts measures best, on problems other than the paper's.

Run with ``python -m benchmarks.defaults``: minutes. Every candidate differs from HANDRAIL or
LinHANDRAIL in one part; its regret is divided by theirs on the same problems and rewards. What is
behind the presets of the catalogue, see docs/decisions.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import handrail
from handrail import Contender
from handrail.policies.algorithm import Algorithm
from handrail.simulation.simulate import make_experiment, run_experiment

SEED = 20_000
"""Far from the seeds of the figures."""


@dataclass(frozen=True)
class Field:
    """Problems to choose on."""

    name: str
    environment: str
    drawing: Mapping[str, Any]
    alpha: float
    rounds: int


_COINS = {"arms": 5, "low": 0.05, "high": 0.95, "baseline_rank": 2}
_CLICKS = {"arms": 20, "low": 0.005, "high": 0.05, "baseline_rank": 5}
_CLOSE = {"arms": 10, "low": 0.4, "high": 0.6, "baseline_rank": 3}
_NOISY = {"arms": 15, "dim": 5, "baseline_rank": 4, "noise": 0.3}
ARMS = (
    Field("5 coins", "bernoulli", _COINS, 0.1, 50_000),
    Field("20 clicks", "bernoulli", _CLICKS, 0.1, 200_000),
    Field("10 close", "bernoulli", _CLOSE, 0.02, 100_000),
    Field("15 noisy", "linear", _NOISY, 0.1, 50_000),
)
_FEW = {"arms": 12, "dim": 5, "baseline_rank": 3, "noise": 0.3}
_MANY = {"arms": 60, "dim": 8, "baseline_rank": 10, "noise": 0.2}
_WIDE = {"arms": 20, "dim": 40, "baseline_rank": 5, "noise": 0.1}
_CONTEXTS = {"actions": 10, "dim": 6, "noise": 0.1}
LINEAR = (
    Field("12 of 5", "linear", _FEW, 0.1, 20_000),
    Field("60 of 8", "linear", _MANY, 0.05, 20_000),
    Field("20 of 40", "linear", _WIDE, 0.02, 20_000),
    Field("contexts", "contextual-linear", _CONTEXTS, 0.1, 10_000),
)

TUNING: dict[str, dict[str, Any]] = {
    f"boundaries tightest at {rewards}": {"tightest_at": rewards}
    for rewards in (10, 30, 100, 300, 1000, 3000)
}
SHARES: dict[str, dict[str, Any]] = {
    "delta 1:3": {"delta_weights": {"estimator": 1, "martingale": 3}},
    "delta 3:1": {"delta_weights": {"estimator": 3, "martingale": 1}},
}
MEANS_CHANGES: dict[str, dict[str, Any]] = {
    "width mixture": {"width": "mixture"},
    "width wu": {"width": "wu"},
    "cumulative subgaussian": {"cumulative": "subgaussian"},
    "cumulative mixture": {"cumulative": "mixture"},
    "past martingale": {"past": "martingale"},
    "past arm-sums": {"past": "arm-sums"},
    "selection two-step": {"selection": "two-step"},
    "selection largest-lower": {"selection": "largest-lower"},
    **TUNING,
    **SHARES,
    "oracle": {"past": "oracle"},
}
LINEAR_CHANGES: dict[str, dict[str, Any]] = {
    "width determinant": {"width": "determinant"},
    "width paper": {"width": "paper"},
    "cumulative subgaussian": {"cumulative": "subgaussian"},
    "past martingale": {"past": "martingale"},
    "past self-normalised": {"past": "self-normalised"},
    "selection two-step": {"selection": "two-step"},
    "selection largest-lower": {"selection": "largest-lower"},
    "ridge 1": {"ridge": 1.0},
    "ridge 0.1": {"ridge": 0.1},
    "ridge 0.001": {"ridge": 0.001},
    "baseline rounds teach rewards": {"learn_baseline": True},
    "baseline rounds teach known means": {"learn_baseline": "mean"},
    "baseline rounds teach nothing": {"learn_baseline": False},
    **TUNING,
    **SHARES,
    "oracle": {"past": "oracle"},
}
_PARTS = ("past", "selection")


def _contender(row: Algorithm, name: str, change: Mapping[str, Any]) -> Contender:
    """Return the row with one part changed."""
    parts = {part: change[part] for part in _PARTS if part in change}
    own = {field: value for field, value in change.items() if field not in _PARTS}
    return Contender(replace(row, **parts), own, {"change": name})


def _allowed(field: Field, change: Mapping[str, Any]) -> bool:
    """Say whether a change is one: without a range of rewards, `mixture` is the preset."""
    return field.environment == "bernoulli" or change != {"cumulative": "mixture"}


def measure(
    row: Algorithm, field: Field, changes: Mapping[str, Mapping[str, Any]], problems: int, runs: int
) -> dict[str, tuple[float, int]]:
    """Return each candidate's mean regret, and its runs with a violation."""
    named = {"": {}, **{name: each for name, each in changes.items() if _allowed(field, each)}}
    contenders = [_contender(row, name, change) for name, change in named.items()]
    experiment = make_experiment(
        field.environment,
        contenders,
        {"environment." + name: value for name, value in field.drawing.items()}
        | {"policy.alpha": field.alpha},
        rounds=field.rounds,
        runs=runs,
        problems=problems,
        seed=SEED,
        points=10,
    )
    table = run_experiment(experiment).runs
    changed = np.array(table["change"].to_pylist())
    regret = table["regret"].to_numpy()
    smallest = table["smallest_budget"].to_numpy()
    return {
        name: (
            float(regret[changed == name].mean()),
            int((smallest[changed == name] < -1e-9).sum()),
        )
        for name in named
    }


def report(
    row: Algorithm, fields: tuple[Field, ...], changes: Mapping[str, Mapping[str, Any]], size: int
) -> None:
    """Measure all candidates on all fields and print their regret in units of the row's own."""
    found = {field.name: measure(row, field, changes, size, 4) for field in fields}
    print(f"\n{row.name}: regret " + ", ".join(f"{f} {v[''][0]:.1f}" for f, v in found.items()))
    print(
        f"{'changed':32}"
        + "".join(f"{name:>11}" for name in found)
        + f"{'geo. mean':>11}  violated"
    )
    for name in ("", *changes):
        ratios = {
            field: values[name][0] / values[""][0]
            for field, values in found.items()
            if name in values
        }
        violated = sum(values[name][1] for values in found.values() if name in values)
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        cells = "".join(f"{ratios[f]:11.2f}" if f in ratios else f"{'':>11}" for f in found)
        print(f"{name or 'nothing':32}{cells}{mean:11.2f}  {violated}", flush=True)


def main() -> None:
    """Measure both families."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("--problems", type=int, default=10, help="problems a field, 4 runs each")
    parser.add_argument("--only", choices=("means", "linear"), help="one of the two")
    given = parser.parse_args()
    if given.only != "linear":
        report(handrail.algorithm("HANDRAIL"), ARMS, MEANS_CHANGES, given.problems)
    if given.only != "means":
        report(handrail.algorithm("LinHANDRAIL"), LINEAR, LINEAR_CHANGES, given.problems)


if __name__ == "__main__":
    main()
