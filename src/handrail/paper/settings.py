"""What the experiments have in common: the algorithms compared, and their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.simulation.experiment import Contender

__all__ = [
    "JESTER",
    "JESTER_SETTINGS",
    "LINEAR",
    "LINEAR_FAMILY",
    "LINEAR_SETTINGS",
    "MEANS",
    "MEANS_FAMILY",
    "MEANS_SETTINGS",
    "Family",
    "checkpointed",
    "contenders",
]

MEANS: Final[Mapping[str, Any]] = {
    "alpha": 0.05,
    "delta": 0.01,
    "width": "wu",
    "cumulative": "paper",
    "clip": "zero",
    "accounting": "paper",
}
"""Parameters of the multi-armed algorithms; the noise, 1/2, comes with Bernoulli rewards."""

LINEAR: Final[Mapping[str, Any]] = {
    "alpha": 0.05,
    "delta": 0.01,
    "ridge": 0.5,
    "width": "paper",
    "cumulative": "paper",
    "clip": "zero",
    "accounting": "paper",
}
"""Parameters of the linear algorithms."""

JESTER: Final[Mapping[str, Any]] = {**LINEAR, "alpha": 0.01}
"""The same on real ratings."""

MEANS_SETTINGS: Final = "α = 0.05, δ = 0.01, width wu, past clipped at 0, paper accounting"
_BUT_ALPHA: Final = "δ = 0.01, λ = 0.5, width paper, past clipped at 0, paper accounting"
LINEAR_SETTINGS: Final = f"α = 0.05, {_BUT_ALPHA}"
JESTER_SETTINGS: Final = f"α = 0.01, {_BUT_ALPHA}"


class Family(NamedTuple):
    """The seven algorithms compared at every round, in the order they are drawn."""

    free: str
    """Makes no promise."""
    old: str
    """The conservative algorithm that was known before."""
    oracle: str
    """The old one, its constraint checked on the true means."""
    lower: str
    """The old one, preferring the safe action with the largest lower bound to the baseline."""
    martingale: str
    """The old one with the martingale bound alone."""
    selection: str
    """The old one with the constrained selection alone."""
    new: str
    """The paper's: both."""


MEANS_FAMILY: Final = Family("UCB", "CUCB", "CUCB-Or", "CUCB-L", "CUCB-M", "CUCB-S", "CUCB2")
LINEAR_FAMILY: Final = Family(
    "LinUCB", "CLUCB", "CLUCB-Or", "CLUCB-L", "CLUCB-M", "CLUCB-S", "CLUCB2"
)


def contenders(names: Sequence[str]) -> tuple[Contender, ...]:
    """Return algorithms with no parameters of their own.

    Parameters
    ----------
    names : sequence of str
        Names of the catalogue.

    Returns
    -------
    tuple of Contender
        One a name.
    """
    return tuple(Contender(name) for name in names)


def checkpointed(name: str, gaps: Sequence[int]) -> tuple[Contender, ...]:
    """Return a checkpoint algorithm once for each number of rounds between checkpoints.

    Parameters
    ----------
    name : str
        CUCB2T or CLUCB2T.
    gaps : sequence of int
        Values of T.

    Returns
    -------
    tuple of Contender
        One a value, labelled ``checkpoint_every``.
    """
    return tuple(
        Contender(name, {"checkpoint_every": gap}, {"checkpoint_every": gap}) for gap in gaps
    )
