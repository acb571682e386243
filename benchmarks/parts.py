"""The parts of the benchmarks; a part's module is loaded when it is run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benchmarks.measure import Row

__all__ = ["PARTS", "Part", "run"]


@dataclass(frozen=True)
class Part:
    """A module of this package with a function `rows`."""

    name: str
    about: str
    by_default: bool = True


PARTS = (
    Part("rounds", "simulated rounds, bernoulli and linear, against bare compiled loops"),
    Part("rounds_contexts", "simulated rounds, contextual-linear, against bare linear algebra"),
    Part("growth_simulation", "simulations: time against rounds, runs, problems, arms, dimension"),
    Part("contexts", "policies with contexts against LinUCB loops"),
    Part("arms", "policies with fixed arms against river"),
    Part("policy_growth", "policies: time, memory and file size over 100,000 rounds"),
    Part("startup", "wall time of fresh processes, cold and warm"),
    Part("choices", "the measurements behind docs/decisions.md"),
    Part("bounds", "bounds for rewards in [0, 1]: widths, and the time of a call"),
    Part("service", "the decision service against a bare endpoint: minutes", by_default=False),
    Part(
        "frameworks",
        "servers, frameworks and ways to commit, by one bare endpoint",
        by_default=False,
    ),
    Part("drift", "rounding of linear runs over 10^7 rounds", by_default=False),
    Part("precision", "rounding of widths with steep features, by what is kept", by_default=False),
    Part("paper", "handrail reproduce --scale paper: minutes", by_default=False),
)


def run(part: Part, **options: Any) -> list[Row]:
    """Load a part and run it."""
    found: list[Row] = import_module(f"benchmarks.{part.name}").rows(**options)
    return found
