"""A round as it was played: what a log must hold so that it need never be decided again."""

from __future__ import annotations

from typing import NamedTuple

from handrail.records import Floats

__all__ = ["Examined", "Instead", "Played"]


class Played(NamedTuple):
    """What `Policy.replay` counts a round by, in inner units: with it, the same bits.

    Attributes
    ----------
    round : int
        The round, counted from 1.
    token : str
        The copy of the policy that decided it, for the decision's id.
    action : int
        Its index; of a guard 0 is the baseline, 1 the proposal.
    held : bool
        Whether it is a baseline round of the ledger.
    baseline : int
        The baseline's index, -1 where there is none.
    floor, mean : float
        What the baseline's mean was taken to lie between.
    promise : float
        What the round counts until its reward comes.
    features : numpy.ndarray or None
        The action's features, where they change every round.
    base : numpy.ndarray or None
        The baseline's, where they are needed beside them.
    truth : float
        The action's true mean, for oracles whose actions change every round.
    """

    round: int
    token: str
    action: int
    held: bool
    baseline: int
    floor: float
    mean: float
    promise: float
    features: Floats | None
    base: Floats | None
    truth: float = 0.0


class Instead(NamedTuple):
    """The baseline of a round in which it may have been played instead of the action."""

    action: int
    """-1 where there is none."""
    floor: float
    mean: float
    """What its mean was taken to lie between."""
    features: Floats | None
    """Where they are gone with the round, and will be needed."""


class Examined(NamedTuple):
    """What a played round's numbers have to be; margin and bounds in the user's units."""

    margin: float | None
    upper: float
    lower: float
    floor: float
    mean: float
    promise: float
