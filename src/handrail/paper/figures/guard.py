"""`guard`: three policies that make no promise, alone and guarded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from handrail.paper.drawing.looks import Line
from handrail.paper.measures.guard import Pair, guard_summary
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.simulation.experiment import Contender, Experiment
from handrail.simulation.proposers.registry import unguarded
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN"]

_ALONE: Final = "unguarded"
_GUARD: Final = "GUARD"
_POLICIES: Final = {
    "thompson": "Thompson sampling",
    "epsilon-greedy": "epsilon-greedy (10 %)",
    "explore-then-commit": "explore (30 each), then commit",
}
_LOOKS: Final[dict[str, dict[str, Any]]] = {
    _ALONE: {"color": "#D55E00", "linewidth": 1.9, "linestyle": (0, (5, 1.8))},
    _GUARD: {"color": "#0072B2", "linewidth": 1.9, "zorder": 3},
}
_ARMS: Final = {"arms": 10, "low": 0.25, "high": 0.75, "baseline_rank": 2}
_POLICY: Final = {"alpha": 0.05, "delta": 0.01, "clip": "zero", "accounting": "union"}


def _line(algorithm: str, proposer: str, name: str) -> Line:
    return Line(name, {"algorithm": algorithm, "proposer": proposer}, _LOOKS[algorithm])


_PAIRS: Final = [
    Pair(
        name,
        _line(_ALONE, proposer, "the policy alone"),
        _line(_GUARD, proposer, "the same, guarded (GUARD)"),
    )
    for proposer, name in _POLICIES.items()
]


def _experiments(scale: Scale, seed: int) -> list[Experiment]:
    players = [
        Contender(row, {"proposer": proposer})
        for proposer in _POLICIES
        for row in (unguarded(_ALONE), _GUARD)
    ]
    size = scale.guard
    return [
        Experiment(
            environment="bernoulli",
            parameters=_ARMS,
            contenders=tuple(players),
            rounds=size.rounds,
            runs=size.runs,
            problems=size.problems,
            seed=seed,
            policy=_POLICY,
            points=scale.points,
        )
    ]


def _draw(tables: Tables, _scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.guard import draw_guard

    return draw_guard(tables, _PAIRS, head)


def _summary(tables: Tables, _scale: Scale) -> dict[str, Any]:
    return guard_summary(tables, _PAIRS)


PLAN = FigurePlan(
    name="guard",
    title="A handrail for any policy: three that make no promise, alone and guarded",
    about=(
        "The martingale bound on the past needs no model of the reward, so that any policy's "
        "proposals can be checked by it. Thompson sampling, epsilon-greedy and an A/B test on "
        "Bernoulli arms with a strong baseline: alone they fall below 95 % of what it would have "
        "earned; guarded they do not, and pay for it in rounds of the baseline."
    ),
    size="guard",
    settings=(
        "K = 10 arms, baseline of rank 2; α = 0.05, δ = 0.01, psi bernstein (no width), past "
        "clipped at 0, union accounting"
    ),
    experiments=_experiments,
    draw=_draw,
    summary=_summary,
    notes=(
        "Not in the paper.",
        "Curves are averages over problems; the shares above the panels are of all runs.",
    ),
)
