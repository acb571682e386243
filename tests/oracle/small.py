"""Small oracles for cases worked out on paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracle.catalogue import Parts
from oracle.guard import GuardOracle
from oracle.oracle import Oracle


def arms(past: str = "martingale", selection: str = "constrained", **more: Any) -> Oracle:
    """Arm 1 of two is the baseline; alpha = 1/4; Bernoulli rewards; delta = 0.1."""
    told: dict[str, Any] = {"arms": 2, "baseline": 1, "baseline_mean": 0.5, "alpha": 0.25}
    told |= {"delta": 0.1, "reward_range": (0.0, 1.0)}
    checked = {"checkpoint_every", "checkpoints", "checkpoint_gap"} & set(more)
    parts = Parts("means", past, selection, "checkpoints" if checked else "every-round")
    return Oracle(parts=parts, **{**told, **more})


def plane(past: str, rows: Any = None, **more: Any) -> Oracle:
    """Action 0 is (1, 0), the baseline 1 is (0, 1); lambda = 1, B = 1, sigma = 0.1, delta = .05."""
    told: dict[str, Any] = {"features": np.eye(2) if rows is None else rows, "theta_bound": 1.0}
    told |= {"baseline": 1, "baseline_mean": 0.5, "alpha": 0.25, "delta": 0.05, "noise": 0.1}
    parts = Parts("linear", past, "constrained", "every-round")
    return Oracle(parts=parts, **{**told, **more})


def guard(**more: Any) -> GuardOracle:
    """The baseline is called "old"; alpha = 1/4; rewards in [0, 1]; delta = 0.1."""
    told: dict[str, Any] = {"baseline": "old", "baseline_mean": 0.5, "alpha": 0.25, "delta": 0.1}
    name = "GUARD-T" if "checkpoint_every" in more else "GUARD"
    return GuardOracle(name, **{**told, "reward_range": (0.0, 1.0), **more})
