"""Spending delta: which events safety rests on, and the level each width is used at.

CUCB, -L, -S rest on the arms' bounds; CLUCB, -L, -S on the ellipsoid; -M, 2 and 2T on one of
these for the action at hand and on the martingale for the past; UCB, LinUCB and oracles on none.
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
    """What is put into the two kinds of width, and the failure probability that adds up to."""

    estimator: float
    martingale: float
    failure: float | None


def events(algorithm: Algorithm) -> tuple[str, ...]:
    """Return the events the algorithm's safety rests on."""
    if algorithm.past in ("none", "oracle"):
        return ()
    return ("estimator", "martingale") if algorithm.past == "martingale" else ("estimator",)


def spend(
    algorithm: Algorithm,
    accounting: str,
    delta: float,
    width: str,
    cumulative: str,
    weights: object,
) -> Levels:
    """Divide delta over the events.

    Notes
    -----
    `union`: the events share delta equally, or by the weights, and each width is put at the
    level at which its share is proved: `wu` fails with probability 2 zeta(3) times what is put
    into it, `paper` and `subgaussian` cumulative bounds with pi^2 / 18 = 0.55 times. The total is
    delta. `paper`: delta goes into each width as printed, and the total is what it is.
    """
    needed = events(algorithm)
    overspent = TWO_ZETA_3 if width == "wu" else 1.0
    underspent = 1.0 if cumulative == "mixture" else SPENT_ONE_SIDED
    if accounting == "paper":
        estimator, martingale = delta, delta
    else:
        parts = _shares(needed, weights)
        estimator = delta * parts.get("estimator", 1.0) / overspent
        martingale = delta * parts.get("martingale", 1.0) / underspent
    failure: float | None = 0.0
    if "estimator" in needed:
        failure = None if width == "ucb1" else estimator * overspent
    if failure is not None and "martingale" in needed:
        failure += martingale * underspent
    if failure is None or not algorithm.conservative:
        return Levels(estimator, martingale, None)
    return Levels(estimator, martingale, min(1.0, failure))


def _shares(needed: tuple[str, ...], weights: object) -> dict[str, float]:
    if weights is None:
        return {event: 1.0 / len(needed) for event in needed}
    if not isinstance(weights, Mapping):
        raise InputError("delta_weights", "is not a mapping", 'pass {"estimator": 1, ...}')
    for event in weights:
        if event not in needed:
            raise InputError("delta_weights", f"{event!r} is no event", nearest(event, needed))
    given = {event: checks.positive("delta_weights", weights.get(event, 0.0)) for event in needed}
    total = sum(given.values())
    return {event: weight / total for event, weight in given.items()}
