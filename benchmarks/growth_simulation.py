"""Growth of simulations: CPU time against rounds, runs, problems, arms and dimension."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import handrail
from benchmarks.curve import Curve, slope
from benchmarks.measure import Row, interleave, timed
from handrail.extras import need_extra
from handrail.paper.settings import LINEAR, MEANS

REPETITIONS = 3
STEEPEST = 1.1
"""Allowed where time should be linear; less is fine, as long runs have long streaks."""

ROUNDS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
FEW_ROUNDS = ROUNDS[:5]
MANY = (1, 3, 10, 30, 100, 300)
FEW = MANY[:5]
ARMS = (2, 5, 10, 20, 50, 100, 200)
DIMS = ARMS

BOLD = 0.5

Sizes = dict[str, Any]


@dataclass(frozen=True)
class Sweep:
    """A size that grows, the others, and the largest power of it that time should grow with."""

    quantity: str
    sizes: tuple[int, ...]
    order: float
    others: Sizes
    limit: float | None = None
    alpha: float = 0.05
    """The paper's, or a large one, with which most rounds play another arm and learn."""
    note: str = ""


@dataclass(frozen=True)
class World:
    """An environment, an algorithm, how its parameters follow from sizes, and its sweeps."""

    name: str
    environment: str
    algorithm: str
    policy: Mapping[str, Any]
    parameters: Callable[[Sizes], Sizes]
    sweeps: tuple[Sweep, ...]


def _linear_in(
    rounds: tuple[int, ...], many: tuple[int, ...], most: Sizes, few: Sizes
) -> tuple[Sweep, ...]:
    """Return the sweeps that time should be linear in."""
    return (
        Sweep("rounds", rounds, 1, most, STEEPEST),
        Sweep("runs", many, 1, {**few, "problems": 1}, STEEPEST),
        Sweep("problems", many, 1, {**few, "runs": 1}, STEEPEST),
    )


WORLDS = (
    World(
        "bernoulli, CUCB2",
        "bernoulli",
        "CUCB2",
        MEANS,
        lambda size: {"arms": size["arms"], "baseline_rank": max(2, 2 * size["arms"] // 5)},
        (
            *_linear_in(
                ROUNDS,
                MANY,
                {"runs": 10, "problems": 1, "arms": 10},
                {"rounds": 20_000, "arms": 10},
            ),
            Sweep("arms", ARMS, 1, {"rounds": 100_000, "runs": 5, "problems": 1}),
        ),
    ),
    World(
        "linear, CLUCB2",
        "linear",
        "CLUCB2",
        LINEAR,
        lambda size: {
            "arms": size["arms"],
            "dim": size["dim"],
            "baseline_rank": max(2, size["arms"] // 5),
        },
        (
            *_linear_in(
                ROUNDS,
                MANY,
                {"runs": 1, "problems": 1, "arms": 30, "dim": 100},
                {"rounds": 3_000, "arms": 30, "dim": 100},
            ),
            Sweep(
                "arms",
                ARMS,
                2,
                {"rounds": 5_000, "runs": 2, "problems": 1, "dim": 100},
                alpha=BOLD,
            ),
            Sweep(
                "dimension",
                DIMS,
                0,
                {"rounds": 20_000, "runs": 2, "problems": 1, "arms": 30},
                alpha=BOLD,
                note="rounds work on K x K numbers; only the set-up of a run knows d",
            ),
        ),
    ),
    World(
        "contextual-linear, CLUCB2",
        "contextual-linear",
        "CLUCB2",
        LINEAR,
        lambda size: {"actions": size["arms"], "dim": size["dim"]},
        (
            *_linear_in(
                FEW_ROUNDS,
                FEW,
                {"runs": 1, "problems": 1, "arms": 20, "dim": 20},
                {"rounds": 500, "arms": 20, "dim": 20},
            ),
            Sweep(
                "arms",
                ARMS,
                1,
                {"rounds": 1_000, "runs": 1, "problems": 1, "dim": 20},
                alpha=BOLD,
            ),
            Sweep(
                "dimension",
                DIMS,
                2,
                {"rounds": 500, "runs": 1, "problems": 1, "arms": 20},
                alpha=BOLD,
            ),
        ),
    ),
)


def _seconds(world: World, sweep: Sweep, size: int) -> float:
    """Return the CPU seconds of `handrail.simulate` on one thread."""
    sizes = {**sweep.others, "dim" if sweep.quantity == "dimension" else sweep.quantity: size}
    played = {name: sizes[name] for name in ("rounds", "runs", "problems")}
    policy = {**world.policy, "alpha": sweep.alpha}
    return timed(
        lambda: handrail.simulate(
            world.environment,
            algorithms=[world.algorithm],
            workers=1,
            parameters={f"policy.{name}": value for name, value in policy.items()},
            **played,
            **world.parameters(sizes),
        ),
        time.process_time,
    )


def _row(world: World, sweep: Sweep) -> Row:
    work = {str(size): partial(_seconds, world, sweep, size) for size in sweep.sizes}
    seconds = interleave(work, REPETITIONS)
    middle = tuple(statistics.median(seconds[str(size)]) for size in sweep.sizes)
    curve = Curve(world.name, sweep.quantity, sweep.order, sweep.sizes, middle)
    note = (
        f"expected at most {sweep.order:g}; {middle[0] * 1e3:,.3g} ms -> {middle[-1] * 1e3:,.3g} ms"
    )
    return Row(
        f"growth of simulations: {world.name}",
        f"time against {sweep.quantity}, to {sweep.sizes[-1]:,}",
        slope(curve),
        "power",
        limit=sweep.limit,
        note=f"{note}; {sweep.note}" if sweep.note else note,
        curve=curve,
    )


def rows() -> list[Row]:
    """Measure; the rates are fitted over the upper half of the sizes."""
    need_extra("pyarrow", "simulation")
    return [_row(world, sweep) for world in WORLDS for sweep in world.sweeps]
