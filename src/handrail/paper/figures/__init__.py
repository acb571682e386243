"""The figures by name, in the order they are made and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from handrail.errors import InputError, nearest
from handrail.paper.figures import (
    ablation,
    budget_jester,
    budget_linear,
    budget_mab,
    checkpoint_linear,
    checkpoint_mab,
    contextual,
    e2_share,
    guard,
    jester,
    linear,
    mab,
    oracle_mab,
    theory,
    widths,
)
from handrail.paper.plan import FigurePlan

__all__ = ["FIGURES", "chosen"]

FIGURES: Final[Mapping[str, FigurePlan]] = {
    module.PLAN.name: module.PLAN
    for module in (
        oracle_mab,
        mab,
        linear,
        e2_share,
        checkpoint_mab,
        checkpoint_linear,
        jester,
        budget_mab,
        budget_linear,
        budget_jester,
        contextual,
        widths,
        theory,
        guard,
        ablation,
    )
}


def chosen(names: Sequence[str]) -> list[FigurePlan]:
    """Return the figures of these names.

    Parameters
    ----------
    names : sequence of str
        Names; none stands for all.

    Returns
    -------
    list of FigurePlan
        Each once, in the order of the registry.

    Examples
    --------
    >>> [plan.name for plan in chosen(["linear", "mab", "mab"])]
    ['mab', 'linear']
    >>> chosen(["checkpoint-lin"])
    Traceback (most recent call last):
        ...
    handrail.errors.InputError: figure: 'checkpoint-lin' is not a figure; did you mean
    checkpoint-linear or checkpoint-mab?
    """
    for name in names:
        if name not in FIGURES:
            raise InputError("figure", f"{name!r} is not a figure", nearest(name, FIGURES))
    wanted = set(names or FIGURES)
    return [plan for name, plan in FIGURES.items() if name in wanted]
