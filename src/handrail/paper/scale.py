"""How much of each experiment is run: the numbers in which a first look and the paper differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

__all__ = ["PAPER", "QUICK", "SCALES", "Scale", "Size", "checkpoint_gaps", "scale_note"]


@dataclass(frozen=True)
class Size:
    """Problems, runs of each problem, and rounds of each run."""

    problems: int
    runs: int
    rounds: int


@dataclass(frozen=True)
class Scale:
    """The size of every experiment.

    Attributes
    ----------
    name : str
        What it is called.
    mab, linear, e2_share, checkpoint_mab, checkpoint_linear, jester, contextual, widths : Size
        One size an experiment; a figure that draws another's runs has that one's size.
    theory : Size
        One problem: the bounds are those of a model.
    guard : Size
        Every round goes through the interpreter: fewer of them.
    ablation_mab, ablation_linear, ablation_jester : Size
        The problems of `mab`, `linear` and `jester` with fewer runs each: the spread over problems
        is what limits, and the new parts have no shortcuts.
    gaps : int
        How many values of T, the rounds between checkpoints, are tried.
    points : int
        Rounds recorded of each curve.
    mab_ranks, linear_ranks : tuple of int
        Ranks of the baseline in the checkpoint experiments, 1 being the best arm.
    """

    name: str
    mab: Size
    linear: Size
    e2_share: Size
    checkpoint_mab: Size
    checkpoint_linear: Size
    jester: Size
    contextual: Size
    widths: Size
    theory: Size
    guard: Size
    ablation_mab: Size
    ablation_linear: Size
    ablation_jester: Size
    gaps: int
    points: int = 500
    mab_ranks: tuple[int, ...] = (2, 4, 6, 8)
    linear_ranks: tuple[int, ...] = (3, 6, 12, 20)

    def size(self, experiment: str) -> Size:
        """Return the size of an experiment.

        Parameters
        ----------
        experiment : str
            The name of one of the sizes above.

        Returns
        -------
        Size
            Its size.
        """
        size = getattr(self, experiment)
        assert isinstance(size, Size)
        return size

    def settings(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        return asdict(self)


PAPER: Final = Scale(
    name="paper",
    mab=Size(70, 40, 1_000_000),
    linear=Size(70, 40, 20_000),
    # The paper's horizon is 20,000, but only the first 5,000 rounds are looked at, and no later
    # round can change them: the later ones are not run.
    e2_share=Size(70, 40, 5_000),
    checkpoint_mab=Size(70, 40, 20_000),
    checkpoint_linear=Size(70, 40, 20_000),
    jester=Size(100, 5, 100_000),
    contextual=Size(20, 20, 10_000),
    widths=Size(70, 40, 100_000),
    theory=Size(1, 40, 10_000_000),
    guard=Size(15, 8, 10_000),
    ablation_mab=Size(70, 10, 200_000),
    ablation_linear=Size(70, 10, 20_000),
    ablation_jester=Size(100, 2, 100_000),
    gaps=15,
)
"""The paper's own numbers; `contextual`, `widths`, `theory`, `guard` and `ablation` are ours."""

QUICK: Final = Scale(
    name="quick",
    mab=Size(12, 8, 100_000),
    linear=Size(8, 4, 20_000),
    e2_share=Size(12, 4, 5_000),
    checkpoint_mab=Size(10, 8, 20_000),
    checkpoint_linear=Size(6, 3, 20_000),
    jester=Size(10, 2, 20_000),
    contextual=Size(4, 3, 5_000),
    widths=Size(12, 4, 100_000),
    theory=Size(1, 2, 10_000_000),
    guard=Size(4, 4, 4_000),
    ablation_mab=Size(8, 2, 200_000),
    ablation_linear=Size(8, 2, 20_000),
    ablation_jester=Size(6, 1, 100_000),
    gaps=8,
)
"""A first look: about half a minute of computation on two cores."""

_OURS: Final = (
    *("contextual", "widths", "theory", "guard"),
    *("ablation_mab", "ablation_linear", "ablation_jester"),
)
"""Experiments that are not in the paper."""

SCALES: Final[Mapping[str, Scale]] = {scale.name: scale for scale in (QUICK, PAPER)}


def checkpoint_gaps(rounds: int, count: int) -> list[int]:
    """Return values of T from 1 to the horizon, evenly spaced in the logarithm.

    Parameters
    ----------
    rounds : int
        The horizon n.
    count : int
        How many values, before those that round to the same integer are merged.

    Returns
    -------
    list of int
        round(geomspace(1, n, count)), without repetition.

    Examples
    --------
    >>> checkpoint_gaps(20_000, 15)[:5], checkpoint_gaps(20_000, 15)[-1]
    ([1, 2, 4, 8, 17], 20000)
    """
    return [int(gap) for gap in np.unique(np.round(np.geomspace(1, rounds, count)))]


def scale_note(scale: Scale, experiment: str) -> str:
    """Say how large the experiment behind a picture is, and how large the paper's is.

    Parameters
    ----------
    scale : Scale
        The scale.
    experiment : str
        The name of one of its sizes.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> scale_note(PAPER, "mab")
    'paper scale: 70 problems × 40 runs, n = 1,000,000'
    >>> scale_note(QUICK, "linear")
    'quick scale: 8 problems × 4 runs, n = 20,000 (paper: 70 × 40, 20,000)'
    """
    size, full = scale.size(experiment), PAPER.size(experiment)
    models = "1 problem" if size.problems == 1 else f"{size.problems} problems"
    note = f"{scale.name} scale: {models} × {size.runs} runs, n = {size.rounds:,}"
    if size == full:
        return note
    whole = "full size" if experiment in _OURS else "paper"
    return f"{note} ({whole}: {full.problems} × {full.runs}, {full.rounds:,})"
