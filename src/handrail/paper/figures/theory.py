"""`theory`: what the theorems promise, beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from handrail.environments.linear import Linear
from handrail.paper.experiments import linear
from handrail.paper.plan import FigurePlan, Head
from handrail.paper.scale import Scale
from handrail.paper.settings import LINEAR_FAMILY, LINEAR_SETTINGS, checkpointed, contenders
from handrail.simulation.experiment import Contender, Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PLAN"]

_ALGORITHMS: Final = (LINEAR_FAMILY.new, "CLUCB2T")
_DIMS: Final = (2, 5, 100)
"""100 is that of figure `linear`; at 2 and 5 the bounds come to say something."""

_VACUOUS: Final = (
    "A bound is vacuous where always playing the baseline promises no more regret, or where it "
    "allows as many rounds as there are."
)
_LINEAR: Final = (
    "At figure `linear`'s own settings (d = 100, n = 20,000) both theorems are vacuous: the closed "
    "form of the rounds and C_b are between 10^11 and 10^13 in every model."
)


def _experiment(players: tuple[Contender, ...], scale: Scale, seed: int, dim: int) -> Experiment:
    """Return one model's experiment, labelled with the model's own symbols."""
    planned = linear(players, scale.theory, seed, scale.points, dim=dim)
    problem = Linear(**planned.parameters).problem(seed, 0)
    mean = float(problem.means[problem.baseline])
    labels: dict[str, int | float | str] = {
        "dim": dim,
        "noise": problem.noise,
        "theta_bound": problem.theta_bound,
        "feature_bound": float(np.sqrt((problem.rows() ** 2).sum(axis=1).max())),
        "baseline_mean": mean,
        "gap": float(problem.means.max()) - mean,
    }
    return linear(players, scale.theory, seed, scale.points, dim=dim, labels=labels)


def _experiments(scale: Scale, seed: int) -> list[Experiment]:
    first, second = _ALGORITHMS
    gap = max(1, scale.theory.rounds // 10)
    players = (*contenders([first]), *checkpointed(second, [gap]))
    return [_experiment(players, scale, seed, dim) for dim in _DIMS]


def _draw(tables: Tables, _scale: Scale, head: Head) -> Figure:
    from handrail.paper.drawing.theory import draw_theory

    return draw_theory(tables, _ALGORITHMS, head)


def _summary(tables: Tables, _scale: Scale) -> dict[str, Any]:
    from handrail.paper.measures.theory import theory_summary

    return theory_summary(tables, _ALGORITHMS)


PLAN = FigurePlan(
    name="theory",
    title="What the theorems promise, and what was measured",
    about=(
        "Theorems 1 and 2 bound the regret of CLUCB2 and CLUCB2T by a term for exploring and one "
        "for the rounds in which the most optimistic action is not safe. Here are the corrected "
        "bounds for one model each of figure `linear`'s kind with d = 2, 5 and 100, above the "
        "average regret and the average number of such rounds, on logarithmic scales."
    ),
    size="theory",
    settings=f"K = 30 arms, baseline of rank 6; {LINEAR_SETTINGS}",
    experiments=_experiments,
    draw=_draw,
    summary=_summary,
    notes=(
        "Not in the paper, which states its bounds and draws none.",
        _VACUOUS,
        _LINEAR,
        "`handrail theory` prints the bounds for any setting.",
    ),
)
