"""The names of a policy's parameters: what stands for "not given", and which ones are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from handrail.errors import InputError
from handrail.policies.accounting import events
from handrail.policies.algorithm import Algorithm

__all__ = [
    "DEFAULTS",
    "MOST_ARMS",
    "refuse_unused",
    "required",
    "resolve",
    "spent_on",
    "used_parameters",
]

MOST_ARMS: Final = 2048
"""Arm space takes K^2 numbers: 32 MB at this K."""
_ALWAYS_FEW: Final = 256

DEFAULTS: Final[Mapping[str, Any]] = {
    "arms": None,
    "dim": None,
    "features": None,
    "baseline": None,
    "baseline_mean": None,
    "alpha": None,
    "delta": None,
    "noise": None,
    "reward_range": None,
    "mean_range": None,
    "theta_bound": None,
    "feature_bound": None,
    "ridge": None,
    "width": None,
    "cumulative": None,
    "accounting": "union",
    "delta_weights": None,
    "tightest_at": None,
    "clip": "zero",
    "checkpoint_every": None,
    "checkpoints": None,
    "checkpoint_gap": None,
    "baseline_lower": None,
    "baseline_delta": None,
    "learn_baseline": None,
    "arms_ever": None,
    "true_means": None,
    "window": None,
    "default_reward": None,
    "confirm": False,
}
"""Every parameter of `make_policy` with the value that stands for "not given"."""


def resolve(algorithm: Algorithm, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with the algorithm's presets where none are given."""
    result = dict(given)
    for name, value in {**_PRESET, **algorithm.preset}.items():
        if result[name] is None:
            bounded = result["reward_range"] is not None
            pair = isinstance(value, tuple | list)
            result[name] = value[0 if bounded else 1] if pair else value
            if value == "intersection" and not _few_arms(result["features"]):
                result[name] = "determinant"
    return result


def _few_arms(features: Any) -> bool:
    """Say whether there are fixed arms, and so few that arm space does not slow a round down."""
    try:
        shape = np.shape(features)
    except ValueError:  # rows that differ in length, which is said where features are checked
        return False
    return len(shape) == 2 and shape[0] <= min(max(shape[1] ** 2, _ALWAYS_FEW), MOST_ARMS)


_PRESET: Final[Mapping[str, Any]] = {
    "ridge": 1.0,
    "cumulative": "paper",
    "tightest_at": 1000.0,
    "learn_baseline": False,
}


def used_parameters(algorithm: Algorithm, given: Mapping[str, Any]) -> set[str]:
    """Return the parameters that make a difference to this algorithm, given the others."""
    given = resolve(algorithm, given)
    learned = isinstance(given["baseline_mean"], str)
    used = {"baseline", "delta", "noise", "reward_range", "mean_range", "accounting"}
    used |= {"window", "default_reward", "confirm"}
    if algorithm.estimator == "means":
        used |= {"arms", "width", "arms_ever"}
    elif algorithm.estimator == "linear":
        used |= {"dim", "features", "theta_bound", "feature_bound", "ridge", "width"}
        if given["width"] == "intersection":  # whose arms have shares of delta, as means have
            used |= {"arms_ever"}
    elif learned:
        used |= {"width"}
    if algorithm.conservative:
        used |= {"baseline_mean", "alpha", "baseline_delta"}
        if algorithm.estimator != "none":
            used |= {"learn_baseline"}
    if algorithm.past in ("arm-sums", "self-normalised", "martingale", "larger"):
        used |= {"clip"}
    if algorithm.past in ("martingale", "larger"):
        used |= {"cumulative"}
    if algorithm.past == "oracle":
        used |= {"true_means"}
    if algorithm.schedule == "checkpoints":
        used |= {"checkpoint_every", "checkpoints", "checkpoint_gap", "baseline_lower"}
    if len(spent_on(algorithm, given)) > 1 and given["accounting"] == "union":
        used |= {"delta_weights"}
    presets = [algorithm.preset.get("width", ()), algorithm.preset.get("cumulative", ())]
    names = (given["width"] or "", given["cumulative"], *presets)
    if any("mixture" in each or "intersection" in each for each in names):
        used |= {"tightest_at"}
    return used


def spent_on(algorithm: Algorithm, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the events that delta is spent on, given the parameters."""
    gap = given["checkpoint_gap"]
    gaps = gap is not None and not isinstance(gap, int | np.integer)
    return events(algorithm, isinstance(given["baseline_mean"], str), gaps)


def refuse_unused(algorithm: Algorithm, given: Mapping[str, Any]) -> None:
    """Refuse a parameter that would make no difference."""
    used = used_parameters(algorithm, given)
    for field, default in DEFAULTS.items():
        value = given[field]
        same = value is default or (isinstance(value, str | int | float) and value == default)
        if field not in used and not same:
            raise InputError(field, f"{algorithm.name} does not use it", "leave it out")


def required(field: str, algorithm: Algorithm, given: Mapping[str, Any]) -> Any:
    """Return a parameter that has to be given."""
    if given[field] is None:
        raise InputError(field, f"is required for {algorithm.name}", f"pass {field}")
    return given[field]
