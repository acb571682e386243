"""Compiling the rules before the first request needs them."""

from __future__ import annotations

import warnings
from typing import Any, Final

from handrail.policies.make import make_policy

__all__ = ["warm"]

_COMMON: Final[dict[str, Any]] = {
    "baseline": 0,
    "baseline_mean": 0.5,
    "alpha": 0.9,
    "delta": 0.1,
    "reward_range": (0, 1),
    "confirm": True,
}
_ROWS: Final = [[0.5, 0.0], [0.0, 0.5]]


def warm() -> None:
    """Run a round of every kind of model; the compiled rules stay in the cache on disk."""
    kinds: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("HANDRAIL", {"arms": 2}, {}),
        ("LinHANDRAIL", {"features": _ROWS, "theta_bound": 1.0}, {}),
        (
            "LinHANDRAIL",
            {"dim": 2, "theta_bound": 1.0, "feature_bound": 1.0},
            {"features": _ROWS},
        ),
        ("GUARD", {}, {"proposal": "new"}),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, parameters, given in kinds:
            policy = make_policy(name, **_COMMON, **parameters)
            for _ in range(12):
                decision = policy.decide(**given)
                policy.decide(**given, hold=True)
                if decision.awaits_reward:
                    policy.learn(decision, 0.5)
