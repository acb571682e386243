"""Make the library's policy and the oracle from the same settings, and run both."""

from __future__ import annotations

from typing import Any

import numpy as np

import handrail
from handrail.bounds.bernstein import bernstein_lines
from oracle.catalogue import CATALOGUE, Parts
from oracle.compare import AT_ONCE, After, Plan, Tally, run
from oracle.oracle import Oracle
from oracle.problems import Problem, arguments

KINDS = {
    "optimistic": {"optimistic"},
    "two-step": {"optimistic", "baseline"},
    "largest-lower": {"optimistic", "baseline"},
    "largest-lower-literal": {"optimistic", "safe", "baseline"},
    "constrained": {"optimistic", "safe", "baseline"},
}
"""The events that a comparison must have seen to be worth something, by selection."""


def by_name(
    name: str,
    problem: Problem,
    rounds: int,
    *,
    plan: Plan = AT_ONCE,
    seed: int = 0,
    after: After | None = None,
    **more: Any,
) -> Tally:
    """An algorithm of the catalogue."""
    settings = arguments(CATALOGUE[name], {**problem.settings, **more})
    policy = handrail.make_policy(name, **settings)
    rng = np.random.default_rng(seed)
    return run(policy, Oracle(name, **with_lines(settings)), problem, rounds, rng, plan, after)


def by_hand(
    parts: Parts,
    problem: Problem,
    rounds: int,
    *,
    plan: Plan = AT_ONCE,
    seed: int = 0,
    after: After | None = None,
    **more: Any,
) -> Tally:
    """An algorithm made of four parts."""
    settings = arguments(parts, {**problem.settings, **more})
    algorithm = handrail.Algorithm(
        name="mine",
        estimator=parts.estimator,
        past=parts.past,
        selection=parts.selection,
        schedule=parts.schedule,
    )
    policy = handrail.make_policy(algorithm, **settings)
    rng = np.random.default_rng(seed)
    oracle = Oracle(parts=parts, **with_lines(settings))
    return run(policy, oracle, problem, rounds, rng, plan, after)


def preset(row: handrail.Algorithm, settings: dict[str, Any]) -> dict[str, Any]:
    """What an algorithm takes for granted: of two, the first where rewards have a range."""
    bounded = "reward_range" in settings
    taken: dict[str, Any] = {}
    for key, value in row.preset.items():
        taken[key] = value
        if isinstance(value, tuple | list):
            taken[key] = value[0 if bounded else 1]
        if value == "intersection" and "features" not in settings:
            taken[key] = "determinant"
        if value == "fixed arms":
            taken[key] = "mean" if "features" in settings else False
    return taken


def with_lines(settings: dict[str, Any]) -> dict[str, Any]:
    """Add the lines of `bernstein` where it is used: which they are is the library's to say."""
    if settings.get("cumulative") == "bernstein":
        return {**settings, "bernstein_grid": bernstein_lines()}
    return settings


def missing(name: str, tallies: list[Tally]) -> set[str]:
    """Events an algorithm should have shown in these runs and did not."""
    seen = {event for tally in tallies for event in tally.events}
    return KINDS[CATALOGUE[name].selection] - seen
