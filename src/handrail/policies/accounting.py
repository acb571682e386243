"""Spending delta: which events safety rests on, and the level each width is used at.

CUCB, -L, -S rest on the arms' bounds; CLUCB, -L, -S on the ellipsoid; -M, 2, 2T and HANDRAIL on one
of these for the action at hand and on the martingale for the past; guards on the martingale alone;
UCB, LinUCB and oracles on none, but an oracle over arms on their bounds where it cuts the interval
of the baseline's mean to them. A guard that learns the baseline's mean rests on its interval too,
and whoever has checkpoints after random gaps on their being no shorter than assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from handrail import checks
from handrail.bounds.arm import TWO_ZETA_3
from handrail.bounds.cumulative import SPENT_ONE_SIDED
from handrail.errors import InputError, nearest
from handrail.policies.algorithm import Algorithm

__all__ = ["ACCOUNTINGS", "Levels", "events", "spend"]

ACCOUNTINGS: Final = ("union", "paper")


class Levels(NamedTuple):
    """What is put into each kind of width, and the failure probability that adds up to."""

    estimator: float
    martingale: float
    baseline: float
    schedule: float
    failure: float | None


def events(algorithm: Algorithm, learned: bool, gaps: bool, cut: bool) -> tuple[str, ...]:
    """Return the events the algorithm's safety rests on.

    Parameters
    ----------
    algorithm : Algorithm
        The row of parts.
    learned : bool
        Whether the baseline's mean is learned. A guard has no estimator: the interval is an event
        of its own.
    gaps : bool
        Whether checkpoints come after random gaps of known law.
    cut : bool
        Whether an interval of the baseline's mean is cut to the bounds of its arm.

    Returns
    -------
    tuple of str
        Names of events.
    """
    needed: list[str] = []
    if algorithm.past == "oracle" and cut:
        needed.append("estimator")
    if algorithm.past not in ("none", "oracle"):
        if algorithm.estimator != "none":
            needed.append("estimator")
        if algorithm.past in ("martingale", "larger"):
            needed.append("martingale")
        if algorithm.estimator == "none" and learned:
            needed.append("baseline")
    if algorithm.conservative and gaps:
        needed.append("schedule")
    return tuple(needed)


def spend(
    algorithm: Algorithm,
    needed: tuple[str, ...],
    accounting: str,
    delta: float,
    width: str,
    cumulative: str,
    weights: object,
    spent: float = 0.0,
) -> Levels:
    """Divide delta over the events; `spent` of it is an interval's that somebody else proved.

    Notes
    -----
    `union`: the events share delta equally, or by the weights, and each width is put at the
    level at which its share is proved: `wu` fails with probability 2 zeta(3) times what is put
    into it, `paper` and `subgaussian` cumulative bounds with pi^2 / 18 = 0.55 times. The total is
    delta. `paper`: delta goes into each width as printed, and the total is what it is.
    """
    overspent = TWO_ZETA_3 if width == "wu" else 1.0
    underspent = SPENT_ONE_SIDED if cumulative in ("paper", "subgaussian") else 1.0
    left = delta - spent
    levels = {"estimator": left, "martingale": left, "baseline": left, "schedule": left}
    if accounting == "union":
        parts = _shares(needed, weights)
        levels = {event: left * parts.get(event, 1.0) for event in levels}
        levels["estimator"] /= overspent
        levels["martingale"] /= underspent
    costs = {"estimator": overspent, "martingale": underspent}
    failure: float | None = None
    if algorithm.conservative and not ("estimator" in needed and width == "ucb1"):
        total = spent + sum(levels[event] * costs.get(event, 1.0) for event in needed)
        failure = min(1.0, total)
    return Levels(**levels, failure=failure)


def _shares(needed: tuple[str, ...], weights: object) -> dict[str, float]:
    if weights is None:
        return {event: 1.0 / len(needed) for event in needed}
    if not isinstance(weights, Mapping):
        raise InputError("delta_weights", "is not a mapping", 'pass {"estimator": 1, ...}')
    for event in weights:
        if event not in needed:
            raise InputError("delta_weights", f"{event!r} is no event", nearest(event, needed))
    for event in needed:
        if event not in weights:
            raise InputError("delta_weights", f"{event!r} has none", "give every event a weight")
    given = {event: checks.positive("delta_weights", weights[event]) for event in needed}
    total = sum(given.values())
    return {event: weight / total for event, weight in given.items()}
