"""The symbols the theorems are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from handrail import checks
from handrail.errors import InputError

__all__ = ["Setting"]

_LEAST: Final = 1e-20
_MOST: Final = 1e20
"""Between them no bound leaves the range of floating point."""

_LONGEST: Final = 10**15
"""Up to here a number of rounds is exact as a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a problem, a promise and a horizon are, as far as the theorems see them.

    Parameters
    ----------
    alpha : float
        The share of the baseline's reward that may be lost, in (0, 1).
    delta : float
        The probability each confidence event may fail with, in (0, 1).
    dim : int
        d, the length of the features; at least 2, since the paper's ellipsoid is wrong for 1.
    noise : float
        sigma: rewards are sigma-sub-Gaussian around their means.
    ridge : float
        lambda of the ridge regression.
    theta_bound : float
        B >= |theta|.
    feature_bound : float
        D >= |phi| for every action.
    baseline_low, baseline_high : float
        mu_l and mu_h: the baseline's mean is between them in every round; in (0, 1].
    gap : float
        Delta_h: the best action's mean is above the baseline's by at most this; in [0, 1].
    rounds : int
        n, the horizon.
    checkpoint_every : int, default=1
        T, the rounds between checkpoints; 1 stands for a promise at every round.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> setting.checkpoint_every
    1
    """

    alpha: float
    delta: float
    dim: int
    noise: float
    ridge: float
    theta_bound: float
    feature_bound: float
    baseline_low: float
    baseline_high: float
    gap: float
    rounds: int
    checkpoint_every: int = 1

    def __post_init__(self) -> None:
        """Check every symbol."""
        for name in ("alpha", "delta"):
            self._put(name, _moderate(name, checks.share(name, getattr(self, name))))
        for name in ("noise", "ridge", "theta_bound", "feature_bound"):
            self._put(name, _moderate(name, checks.positive(name, getattr(self, name))))
        self._put("dim", checks.whole("dim", self.dim, least=2, most=10**9))
        self._put("rounds", checks.whole("rounds", self.rounds, most=_LONGEST))
        every = checks.whole("checkpoint_every", self.checkpoint_every, most=_LONGEST)
        self._put("checkpoint_every", every)
        for name in ("baseline_low", "baseline_high"):
            mean = _moderate(name, checks.positive(name, getattr(self, name)))
            self._put(name, _mean(name, mean))
        if self.baseline_low > self.baseline_high:
            raise InputError(
                "baseline_low",
                f"{self.baseline_low:g} is above baseline_high, {self.baseline_high:g}",
                "swap them, or pass the same number twice for one fixed baseline",
            )
        self._put("gap", _mean("gap", checks.number("gap", self.gap)))

    def _put(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)


def _moderate(field: str, value: float) -> float:
    if not _LEAST <= value <= _MOST:
        raise InputError(
            field, f"{value:g} is out of range", f"pass a number in [{_LEAST:g}, {_MOST:g}]"
        )
    return value


def _mean(field: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise InputError(
            field, f"{value:g} is outside [0, 1]", "shift and scale rewards to that range"
        )
    return value
