"""Compiling the rules before the first request needs them."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, Final

import numpy as np

from handrail.policies.make import make_policy
from handrail.policies.played import Played

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


@cache
def warm() -> None:
    """Run every rule of every kind of model; compiled, they stay in the cache on disk."""
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
            twin = make_policy(name, **_COMMON, **parameters)
            policy.decide(**given, hold=True)
            decision = policy.decide(**given)
            while not decision.awaits_reward:  # the first rounds may be the baseline's
                decision = policy.decide(**given)
            policy.learn(decision, 0.5)
            twin.replay(_played(given))
            twin.close(twin.waiting_id(1) or "")
            twin.replay(_played(given)._replace(round=2))
            twin.fall_back(twin.waiting_id(2) or "")


def _played(given: dict[str, Any]) -> Played:
    row = np.array(_ROWS[1]) if "features" in given else None
    return Played(1, "0" * 8, 1, False, 0, 0.5, 0.5, 0.0, row, row)
