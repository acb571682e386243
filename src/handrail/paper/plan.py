"""A figure as data: what is run for it, how it is drawn, and what it says about the claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from handrail.paper.claims import Evidence
from handrail.paper.scale import Scale, scale_note
from handrail.paper.tabular import Table
from handrail.simulation.experiment import Experiment
from handrail.simulation.tables import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigurePlan", "Head"]

Head: TypeAlias = tuple[str, str, str]
"""What stands above the panels: title, settings, scale."""


def _nothing(_tables: Tables, _scale: Scale) -> list[Evidence]:
    return []


def _no_tables(_summary: Mapping[str, Any]) -> list[Table]:
    return []


@dataclass(frozen=True)
class FigurePlan:
    """A figure.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    title : str
        Its title.
    about : str
        What the paper says of it.
    size : str
        Which size of the scale its experiments have.
    settings : str
        The algorithms' parameters, in one line.
    experiments : callable
        Returns what is run, for a scale and a seed.
    draw : callable
        Draws it from tables, for a scale, below a head.
    summary : callable
        Returns the numbers behind it as plain data, from tables and scale.
    evidence : callable
        Returns what it says about the claims, from tables and scale.
    notes : tuple of str
        What a reader should know beside it.
    data : str
        Data it needs that handrail cannot ship; empty if none.
    partly : bool
        Whether it can be made without that data, leaving out what needs it.
    tables : callable
        Returns tables for the report, from what `summary` returned.
    """

    name: str
    title: str
    about: str
    size: str
    settings: str
    experiments: Callable[[Scale, int], Sequence[Experiment]]
    draw: Callable[[Tables, Scale, Head], Figure]
    summary: Callable[[Tables, Scale], dict[str, Any]]
    evidence: Callable[[Tables, Scale], list[Evidence]] = _nothing
    notes: tuple[str, ...] = ()
    data: str = ""
    partly: bool = False
    tables: Callable[[Mapping[str, Any]], Sequence[Table]] = _no_tables

    def picture(self, tables: Tables, scale: Scale) -> Figure:
        """Draw the figure under its title, its settings and the scale.

        Parameters
        ----------
        tables : Tables
            Of its experiments.
        scale : Scale
            What was run.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return self.draw(tables, scale, (self.title, self.settings, scale_note(scale, self.size)))
