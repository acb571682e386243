"""What happens to a policy in use beyond playing what it decides, and how it is treated.

Rewards come late, and later the worse they are; decisions are not carried out; arms come and go;
rewards are not in [0, 1]. A *world* is an environment in which one of these happens. Delays are
counted in rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

__all__ = ["PLAIN", "WORLDS", "World"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An environment in which more happens than is decided.

    Parameters
    ----------
    environment : str
        Where problems are drawn from.
    description : str
        In one line.
    delay : callable, optional
        When a reward comes; by default at once.
    window : int, default=20
        The attribution window, where delays have one.
    kept : float, default=1.0
        Share of an arm's mean that comes within the window: what is promised is in these units.
    lost : float, default=0.0
        Share of the decisions for an action that are not carried out: the baseline is played.
    because : str, default=""
        The reason that the policy is given for these; with none, it hears nothing of them again.
        What is chosen has a reward, which is reported.
    worth : float, default=1.0
        Share of its mean that the baseline earns in these rounds: less than 1 where those who get
        lost, or for whom it is chosen, are those whom it serves badly.
    present : int, default=0
        Arms that are there at a time, the baseline included, where arms come and go: 0: all.
    stay : int, default=10
        Rounds after which the arm that is there longest is retired and the next one added.
    low, scale : float
        Rewards and means, which the environment has in [0, 1], are low + scale times that.
    parameters : mapping
        Of the environment.
    told : mapping
        Of the policy. With a window and a default reward no reward is used before its window has
        closed; without, a reward is used when it comes, and what never comes is never counted.
    """

    environment: str
    description: str
    delay: Delay | None = None
    window: int = 20
    kept: float = 1.0
    lost: float = 0.0
    because: Literal["", "no-answer", "choice"] = ""
    worth: float = 1.0
    present: int = 0
    stay: int = 10
    low: float = 0.0
    scale: float = 1.0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    told: Mapping[str, Any] = field(default_factory=dict)


PLAIN: Final = World(environment="", description="nothing happens but what is decided")

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

_BADLY_SERVED: Final[dict[str, Any]] = {
    "environment": "shortfalls",
    "lost": 0.5,
    "worth": 0.0,
    "parameters": {"arms": 3, "mean": 0.6, "baseline_mean": 0.5},
}

WORLDS: Final[Mapping[str, World]] = {
    "late-clicks": World(
        told={"window": 20, "default_reward": 0.0},
        description="clicks come within the window or after it, non-clicks never; window rule",
        **_CLICKS,
    ),
    "late-clicks-naive": World(
        description="the same clicks, used as they come: non-clicks are never counted",
        **_CLICKS,
    ),
    "late-news": World(
        delay=_news,
        told={"window": 400, "default_reward": 0.0},
        description="good news come at once, bad news at the end of the window; window rule",
        **_NEWS,
    ),
    "late-news-naive": World(
        delay=_news,
        description="the same news, used as they come: the good ones first",
        **_NEWS,
    ),
    "late-any": World(
        delay=_any,
        description="delays that have nothing to do with the reward; used as they come",
        **_NEWS,
    ),
    "unanswered": World(
        description="half the decisions are not carried out, and nothing is heard of them",
        told={"confirm": True},
        **_BADLY_SERVED,
    ),
    "choices": World(
        description="for half the users, whom it serves badly, the caller chooses the baseline",
        because="choice",
        told={"confirm": True},
        **_BADLY_SERVED,
    ),
    "unsaid": World(
        environment="shortfalls",
        description="of ten decisions one is carried out, and said to be; the default is high",
        lost=0.9,
        worth=0.0,
        parameters={"arms": 3, "mean": 0.3, "baseline_mean": 0.9},
        told={"confirm": True, "window": 5, "default_reward": 1.0},
    ),
    "fallbacks": World(
        environment="loud",
        description="half the decisions are not carried out, and said to be so",
        lost=0.5,
        because="no-answer",
        parameters={"arms": 3},
        told={"confirm": True},
    ),
    "timeouts": World(
        environment="shortfalls",
        description="six of ten decisions come too late, which is said, and no reward of them",
        lost=0.6,
        because="no-answer",
        parameters={"arms": 2, "mean": 0.3, "baseline_mean": 0.9},
        told={"confirm": True, "window": 5, "default_reward": 0.0},
    ),
    "comings": World(
        environment="loud",
        description="of 60 arms two are there at a time; delta covers any number",
        present=3,
        parameters={"arms": 61, "high": 0.0},
        told={"arms_ever": "any"},
    ),
    "comings-declared": World(
        environment="loud",
        description="the same, and the number of arms is declared",
        present=3,
        parameters={"arms": 61, "high": 0.0},
        told={"arms_ever": 61},
    ),
    "shifted": World(
        environment="loud",
        description="means between -2 and 3",
        low=-2.0,
        scale=5.0,
        parameters={"arms": 5, "high": 0.0},
    ),
    "shifted-clicks": World(
        environment="tiny-gaps",
        description="rewards of 10 or 12",
        low=10.0,
        scale=2.0,
        parameters={"arms": 3, "gap": 0.15, "better": 0.0},
    ),
}
"""By the name that `certify` knows them by."""
