"""Every bound at once, and whether it says anything."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from handrail.theory.closed import closed_rounds, rounds_threshold
from handrail.theory.first_phase import free_rounds, free_stretch
from handrail.theory.printed import Printed, as_printed
from handrail.theory.regret import linear_regret
from handrail.theory.rounds import conservative_rounds
from handrail.theory.setting import Setting

__all__ = ["Bounds", "Regret", "evaluate"]


@dataclass(frozen=True, slots=True)
class Regret:
    """A bound on unsafe rounds, the bound on regret it leads to, and whether they say anything.

    Attributes
    ----------
    rounds : float
        At most so many rounds in which the most optimistic action is found unsafe.
    rounds_vacuous : bool
        That is n or more.
    regret : float
        Lin(n) + Delta_h min(n, rounds).
    regret_vacuous : bool
        That is Delta_h n or more: always playing the baseline promises as much.
    """

    rounds: float
    rounds_vacuous: bool
    regret: float
    regret_vacuous: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the theorems say about a setting.

    Attributes
    ----------
    setting : Setting
        The symbols.
    linear_regret : float
        Lin(n).
    free_stretch : float
        T~.
    free_rounds : int
        Its whole part.
    rounds_threshold : float
        C_b, exactly.
    numeric : Regret
        By the maximum.
    closed : Regret
        By the closed form.
    as_printed : Printed
        The paper's constants.
    printed_every_round, printed_checkpoints : Regret
        The paper's two theorems, judged by the same rules.
    """

    setting: Setting
    linear_regret: float
    free_stretch: float
    free_rounds: int
    rounds_threshold: float
    numeric: Regret
    closed: Regret
    as_printed: Printed
    printed_every_round: Regret
    printed_checkpoints: Regret

    def json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return asdict(self)


def evaluate(setting: Setting) -> Bounds:
    """Return what the theorems say about a setting.

    Parameters
    ----------
    setting : Setting
        The symbols.

    Returns
    -------
    Bounds
        Corrected and as printed, and which of them are vacuous.

    Examples
    --------
    >>> setting = Setting(
    ...     alpha=0.05, delta=0.01, dim=2, noise=0.1, ridge=0.5, theta_bound=0.75,
    ...     feature_bound=2.0, baseline_low=0.5, baseline_high=0.5, gap=0.5, rounds=10**6,
    ... )
    >>> bounds = evaluate(setting)
    >>> bounds.numeric.regret_vacuous, bounds.closed.regret_vacuous
    (False, True)
    """
    linear = linear_regret(setting)
    printed = as_printed(setting)

    def judged(rounds: float, regret: float | None = None) -> Regret:
        most = float(setting.rounds)
        if regret is None:
            regret = linear + setting.gap * min(most, rounds)
        return Regret(rounds, rounds >= most, regret, regret >= setting.gap * most)

    return Bounds(
        setting=setting,
        linear_regret=linear,
        free_stretch=free_stretch(setting),
        free_rounds=free_rounds(setting),
        rounds_threshold=rounds_threshold(setting),
        numeric=judged(conservative_rounds(setting)),
        closed=judged(closed_rounds(setting)),
        as_printed=printed,
        printed_every_round=judged(printed.rounds_every_round, printed.regret_every_round),
        printed_checkpoints=judged(printed.rounds_checkpoints, printed.regret_checkpoints),
    )
