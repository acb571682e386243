"""Rewards that come late, and later the worse they are: three worlds, each treated in some way.

A *world* is an environment with a law of delays; a *treatment* is what the policy makes of rewards
that have not come. All delays are counted in rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

__all__ = ["LATE", "Late"]

Delay: TypeAlias = Callable[[float, float, int], int]
"""The delay of a reward, given it, a uniform number and the window; -1: it never comes."""

_LOST: Final = 0.2
"""Share of the clicks that come after the window."""


def _clicks(reward: float, chance: float, window: int) -> int:
    """A click comes within the window, or after it; where there is none, nothing comes."""
    if reward <= 0.0:
        return -1
    if chance < _LOST:
        return window + int(window * chance / _LOST)
    return int(window * (chance - _LOST) / (1.0 - _LOST))


def _news(reward: float, chance: float, window: int) -> int:
    """Good news comes at once, bad news at the last moment."""
    return 0 if reward > 0.0 else window - 1


def _any(reward: float, chance: float, window: int) -> int:
    """A delay that has nothing to do with the reward."""
    return int(2 * window * chance)


@dataclass(frozen=True, slots=True)
class Late:
    """An environment whose rewards come late, and what the policy does about it.

    Parameters
    ----------
    environment : str
        Where problems are drawn from.
    delay : callable
        When a reward comes.
    treatment : {"window", "as they come"}
        "window": no reward is used before its window has closed; what has not come by then is 0.
        "as they come": a reward is used when it comes, and what never comes is never counted.
    description : str
        In one line.
    window : int, default=20
        The attribution window.
    kept : float, default=1.0
        Share of an arm's mean that comes within the window: what is promised is in these units.
    parameters : mapping
        Of the environment.
    """

    environment: str
    delay: Delay
    treatment: str
    description: str
    window: int = 20
    kept: float = 1.0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """Return what `make_policy` is told about late rewards."""
        if self.treatment == "window":
            return {"window": self.window, "default_reward": 0.0}
        return {}


_CLICKS: Final[dict[str, Any]] = {
    "environment": "tiny-gaps",
    "delay": _clicks,
    "kept": 1.0 - _LOST,
    "parameters": {"arms": 3, "gap": 0.15, "better": 0.0},
}

_NEWS: Final[dict[str, Any]] = {
    "environment": "loud",
    "window": 400,
    "parameters": {"arms": 2},
}

LATE: Final[Mapping[str, Late]] = {
    "late-clicks": Late(
        treatment="window",
        description="clicks come within the window or after it, non-clicks never; window rule",
        **_CLICKS,
    ),
    "late-clicks-naive": Late(
        treatment="as they come",
        description="the same clicks, used as they come: non-clicks are never counted",
        **_CLICKS,
    ),
    "late-news": Late(
        delay=_news,
        treatment="window",
        description="good news come at once, bad news at the end of the window; window rule",
        **_NEWS,
    ),
    "late-news-naive": Late(
        delay=_news,
        treatment="as they come",
        description="the same news, used as they come: the good ones first",
        **_NEWS,
    ),
    "late-any": Late(
        delay=_any,
        treatment="as they come",
        description="delays that have nothing to do with the reward; used as they come",
        **_NEWS,
    ),
}
"""By the name that `certify` knows them by."""
