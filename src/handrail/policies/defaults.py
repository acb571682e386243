"""The names of a policy's parameters: what stands for "not given", and which ones are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from handrail.errors import InputError, shown
from handrail.policies.accounting import events
from handrail.policies.algorithm import FIXED_ARMS, PART_NAMES, Algorithm

__all__ = [
    "DEFAULTS",
    "FILLED_IN",
    "MOST_ARMS",
    "default_width",
    "one_for_all",
    "refuse_unused",
    "required",
    "resolve",
    "resolved_parameters",
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


_PRESET: Final[Mapping[str, Any]] = {
    "ridge": 1.0,
    "cumulative": "paper",
    "tightest_at": 1000.0,
    "learn_baseline": False,
}
"""What rows take that say nothing else. Files and logs without resolved values rest on these
numbers: a release that wants others puts them into rows of the catalogue."""

_NAMES: Final = ("width", "cumulative", "accounting", "clip")
"""Parameters whose value is the name of a bound or a rule."""

FILLED_IN: Final = (
    *("width", "cumulative", "ridge", "tightest_at", "learn_baseline"),
    *("accounting", "clip", "noise"),
)
"""Parameters whose value, where none is given, is a choice that a later release may make anew."""


def resolve(algorithm: Algorithm, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with the algorithm's presets where none are given."""
    result = dict(given)
    bounded = result["reward_range"] is not None
    for name, value in {**_PRESET, **algorithm.preset}.items():
        if result[name] is None:
            chosen = value[0 if bounded else 1] if isinstance(value, tuple | list) else value
            if chosen == "intersection" and not _few_arms(result["features"]):
                chosen = "determinant"
            if chosen == FIXED_ARMS:
                chosen = "mean" if result["dim"] is None else False
            result[name] = chosen
    return result


def resolved_parameters(algorithm: Algorithm, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a later release needs, beside the given parameters, to make the same policy.

    Parameters
    ----------
    algorithm : Algorithm
        The row of parts.
    given : mapping
        The parameters that were given to `make_policy`; others may be left out.

    Returns
    -------
    dict
        ``algorithm``, the row of parts, and ``parameters``, the values that were
        filled in for parameters that make a difference and were not given. Both are plain data;
        `handrail.policies.make.remake_policy` takes them back.
    """
    given = {**DEFAULTS, **given}
    full = resolve(algorithm, given)
    used = used_parameters(algorithm, given)
    if full["width"] is None and "width" in used:
        full["width"] = default_width(algorithm, _inner_dim(full))
    if full["noise"] is None and full["reward_range"] is not None:
        low, high = full["reward_range"]
        full["noise"] = (float(high) - float(low)) / 2.0
    row = {name: getattr(algorithm, name) for name in ("name", *PART_NAMES, "description")}
    preset = {k: list(v) if isinstance(v, tuple) else v for k, v in algorithm.preset.items()}
    return {
        "algorithm": {**row, "preset": preset},  # as JSON gives it back
        "parameters": {
            name: full[name]
            for name in FILLED_IN
            if name in used and full[name] is not None and not _was_given(given, name)
        },
    }


def _was_given(given: Mapping[str, Any], name: str) -> bool:
    """Say whether a parameter has another value than the one that stands for "not given"."""
    return given[name] is not None and given[name] != DEFAULTS[name]


def default_width(algorithm: Algorithm, dim: int) -> str:
    """Return the width where neither the user nor the row names one; dim is the model's."""
    if algorithm.estimator == "linear":
        return "paper" if dim > 1 else "determinant"
    return "wu" if algorithm.estimator == "means" else "mixture"


def _inner_dim(given: Mapping[str, Any]) -> int:
    """Return the length of features, with the constant one of a range that does not start at 0."""
    if given["dim"] is None and given["features"] is None:
        return 0
    dim = given["dim"] if given["dim"] is not None else np.shape(given["features"])[1]
    span = given["mean_range"] if given["reward_range"] is None else given["reward_range"]
    return int(dim) + (span is not None and float(span[0]) != 0.0)


def one_for_all(given: Mapping[str, Any]) -> bool:
    """Say whether one number or interval is given for the baseline's mean in all contexts."""
    mean = given["baseline_mean"]
    return given["dim"] is not None and mean is not None and not isinstance(mean, str)


def _few_arms(features: Any) -> bool:
    """Say whether there are fixed arms, and so few that arm space does not slow a round down."""
    try:
        shape = np.shape(features)
    except ValueError:  # rows that differ in length, which is said where features are checked
        return False
    return len(shape) == 2 and shape[0] <= min(max(shape[1] ** 2, _ALWAYS_FEW), MOST_ARMS)


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
    # Interval and bounds are cut to what both allow as baseline rounds are learned from.
    lessons = given["learn_baseline"]
    cut = isinstance(lessons, bool | np.bool_) and bool(lessons)
    cut = cut and algorithm.estimator == "means" and _is_interval(given["baseline_mean"])
    return events(algorithm, isinstance(given["baseline_mean"], str), gaps, cut)


def _is_interval(mean: Any) -> bool:
    """Say whether a mean is an interval of some length; what is wrong with it is said elsewhere."""
    try:
        low, high = (float(each) for each in mean)
    except (TypeError, ValueError):
        return False
    return low < high


def refuse_unused(algorithm: Algorithm, given: Mapping[str, Any]) -> None:
    """Refuse a parameter that would make no difference, and what is no name where one is asked."""
    for field in _NAMES:
        if given[field] is not None and not isinstance(given[field], str):
            raise InputError(field, f"{shown(given[field])} is not a name", "pass text")
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
