"""The parameters of a policy: which ones an algorithm uses, their checks, and what they become."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from handrail import checks
from handrail.bounds.arm import ARM_WIDTHS
from handrail.bounds.cumulative import CUMULATIVE_BOUNDS
from handrail.bounds.ellipsoid import ELLIPSOID_WIDTHS
from handrail.bounds.mixture import mixture_rho
from handrail.conservative.past import CLIPS, PASTS
from handrail.conservative.schedule import SCHEDULES
from handrail.conservative.selection import SELECTIONS
from handrail.errors import InputError, NoGuaranteeWarning
from handrail.estimators.contexts import lanes, load_features
from handrail.policies.accounting import ACCOUNTINGS, Levels, events, spend
from handrail.policies.algorithm import Algorithm
from handrail.policies.units import Units, make_units
from handrail.records import RULES, Floats, Record, new_record

__all__ = ["DEFAULTS", "Settings", "settle", "used_parameters"]

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
    "ridge": 1.0,
    "width": None,
    "cumulative": "paper",
    "accounting": "union",
    "delta_weights": None,
    "tightest_at": 1000.0,
    "clip": "zero",
    "checkpoint_every": None,
    "baseline_lower": None,
    "true_means": None,
    "window": None,
    "default_reward": None,
}
"""Every parameter of `make_policy` with the value that stands for "not given"."""

_MOST_ARMS: Final = 10**7
_MOST_DIM: Final = 10**4
_STEEPEST: Final = 1e8
"""Largest D^2 / lambda: far beyond it rounding in V^-1 makes widths vanish."""


class Settings(NamedTuple):
    """Parameters, checked, in inner units, ready for a model."""

    algorithm: Algorithm
    units: Units
    rules: Record
    actions: int | None
    dim: int
    """Length of the features the user gives; 0 where there are none."""
    features: Floats | None
    feature_bound: float
    baseline: int | None
    baseline_mean: float | None
    baseline_lower: float
    truth: Floats | None
    window: int | None
    default_reward: float | None
    failure: float | None


def settle(algorithm: Algorithm, given: Mapping[str, Any], *, warn: bool = True) -> Settings:
    """Check all parameters of a policy against its algorithm.

    Parameters
    ----------
    algorithm : Algorithm
        The row of parts.
    given : mapping
        The parameters of `make_policy`, all of them.
    warn : bool, default=True
        Whether to warn where a promise is void; a simulation measures it instead.

    Returns
    -------
    Settings
        What the policy is built from.
    """
    linear = algorithm.estimator == "linear"
    _refuse_unused(algorithm, given)
    units = make_units(given["reward_range"], given["mean_range"])
    actions, dim, features = _shape(algorithm, given, units)
    width = _width(given["width"], linear, dim)
    cumulative = checks.one_of("cumulative", given["cumulative"], CUMULATIVE_BOUNDS)
    # Nothing but `ucb1` does without noise and delta, and a martingale needs them beside it.
    needed = width != "ucb1" or algorithm.past == "martingale"
    noise = _noise(given["noise"], units, needed)
    levels = _levels(algorithm, given, width, cumulative, needed)
    if warn:
        _warn(algorithm, given, width, levels)
    baseline, baseline_mean = _baseline(algorithm, given, units, actions)
    tightest = checks.positive("tightest_at", given["tightest_at"]) * noise**2
    arms = actions if actions is not None else 0
    rules = new_record(
        RULES,
        past=PASTS[algorithm.past],
        selection=SELECTIONS[algorithm.selection],
        schedule=SCHEDULES[algorithm.schedule],
        clip_zero=CLIPS[checks.one_of("clip", given["clip"], CLIPS)],
        width=ELLIPSOID_WIDTHS[width] if linear else ARM_WIDTHS[width],
        cumulative=CUMULATIVE_BOUNDS[cumulative],
        noise=noise,
        estimator_level=levels.estimator,
        martingale_level=levels.martingale,
        cumulative_rho=mixture_rho(tightest, levels.martingale) if cumulative == "mixture" else 0,
        arm_rho=mixture_rho(tightest, levels.estimator / arms) if width == "mixture" else 0,
        arms=arms,
        dim=dim,
    )
    if algorithm.conservative:
        rules["alpha"] = checks.share("alpha", _required("alpha", algorithm, given))
    if algorithm.schedule == "checkpoints":
        rules["checkpoint_every"] = checks.whole(
            "checkpoint_every", _required("checkpoint_every", algorithm, given)
        )
        rules["baseline_lower"] = _baseline_lower(algorithm, given, units, baseline_mean)
    if linear:
        _linear_bounds(algorithm, given, units, features, width, rules)
    return Settings(
        algorithm=algorithm,
        units=units,
        rules=rules,
        actions=actions,
        dim=dim - 1 if linear and units.shifted else dim,
        features=features,
        feature_bound=float(rules["feature_bound"][0]),
        baseline=baseline,
        baseline_mean=baseline_mean,
        baseline_lower=float(rules["baseline_lower"][0]),
        truth=_truth(algorithm, given, units, actions),
        window=None if given["window"] is None else checks.whole("window", given["window"]),
        default_reward=(
            None
            if given["default_reward"] is None
            else units.reward("default_reward", given["default_reward"])
        ),
        failure=levels.failure,
    )


def used_parameters(algorithm: Algorithm, given: Mapping[str, Any]) -> set[str]:
    """Return the parameters that make a difference to this algorithm, given the others."""
    used = {"baseline", "delta", "noise", "reward_range", "mean_range", "width", "accounting"}
    used |= {"window", "default_reward"}
    if algorithm.estimator == "means":
        used |= {"arms"}
    else:
        used |= {"dim", "features", "theta_bound", "feature_bound", "ridge"}
    if algorithm.conservative:
        used |= {"baseline_mean", "alpha"}
    if algorithm.past in ("arm-sums", "self-normalised", "martingale"):
        used |= {"clip"}
    if algorithm.past == "martingale":
        used |= {"cumulative"}
    if algorithm.past == "oracle":
        used |= {"true_means"}
    if algorithm.schedule == "checkpoints":
        used |= {"checkpoint_every", "baseline_lower"}
    if len(events(algorithm)) > 1 and given["accounting"] == "union":
        used |= {"delta_weights"}
    if "mixture" in (given["width"], given["cumulative"]):
        used |= {"tightest_at"}
    return used


def _refuse_unused(algorithm: Algorithm, given: Mapping[str, Any]) -> None:
    used = used_parameters(algorithm, given)
    for field, default in DEFAULTS.items():
        value = given[field]
        same = value is default or (isinstance(value, str | int | float) and value == default)
        if field not in used and not same:
            raise InputError(field, f"{algorithm.name} does not use it", "leave it out")


def _required(field: str, algorithm: Algorithm, given: Mapping[str, Any]) -> Any:
    if given[field] is None:
        raise InputError(field, f"is required for {algorithm.name}", f"pass {field}=...")
    return given[field]


def _shape(
    algorithm: Algorithm, given: Mapping[str, Any], units: Units
) -> tuple[int | None, int, Floats | None]:
    """Return the number of actions (None: it may change), the dimension and fixed features."""
    if algorithm.estimator == "means":
        arms = checks.whole("arms", _required("arms", algorithm, given), most=_MOST_ARMS)
        return arms, 0, None
    if (given["dim"] is None) == (given["features"] is None):
        raise InputError(
            "dim" if given["dim"] is None else "features",
            f"{algorithm.name} needs one of dim and features",
            "pass dim=d for features that change every round, features=(K, d) for fixed arms",
        )
    constant = 1 if units.shifted else 0
    if given["dim"] is not None:
        return None, checks.whole("dim", given["dim"], most=_MOST_DIM) + constant, None
    features = checks.finite("features", checks.array("features", given["features"], (None, None)))
    features = np.array(units.augment(features))
    return len(features), features.shape[1], features


def _width(value: object, linear: bool, dim: int) -> str:
    if not linear:
        return "wu" if value is None else checks.one_of("width", value, ARM_WIDTHS)
    if value is None:
        return "paper" if dim > 1 else "determinant"
    width = checks.one_of("width", value, ELLIPSOID_WIDTHS)
    if width == "paper" and dim == 1:
        raise InputError(
            "width", "'paper' is not a confidence width in dimension 1", "use 'determinant'"
        )
    return width


def _noise(value: object, units: Units, needed: bool) -> float:
    if value is None:
        if needed and not units.bounded:
            raise InputError(
                "noise", "is required without reward_range", "pass noise= or reward_range="
            )
        return 0.5
    return checks.positive("noise", checks.positive("noise", value) / units.scale)


def _levels(
    algorithm: Algorithm, given: Mapping[str, Any], width: str, cumulative: str, needed: bool
) -> Levels:
    accounting = checks.one_of("accounting", given["accounting"], ACCOUNTINGS)
    delta = 0.5
    if needed or given["delta"] is not None:
        delta = checks.share("delta", _required("delta", algorithm, given))
        checks.positive("delta", delta)
    return spend(algorithm, accounting, delta, width, cumulative, given["delta_weights"])


def _warn(algorithm: Algorithm, given: Mapping[str, Any], width: str, levels: Levels) -> None:
    if algorithm.conservative and levels.failure is None:
        warnings.warn(
            f"width {width!r} has no proved level: {algorithm.name} makes no promise with it; "
            "use 'wu' or 'mixture' where the promise matters",
            NoGuaranteeWarning,
            stacklevel=5,
        )
    if given["window"] is not None and events(algorithm) and given["default_reward"] is None:
        warnings.warn(
            "window without default_reward: rounds whose reward is missing are never learned from, "
            f"so {algorithm.name} keeps its promise only if missing has nothing to do with the "
            "reward; declare what a missing reward is worth",
            NoGuaranteeWarning,
            stacklevel=5,
        )


def _baseline(
    algorithm: Algorithm, given: Mapping[str, Any], units: Units, actions: int | None
) -> tuple[int | None, float | None]:
    """Return the baseline that holds where a round names none."""
    baseline, mean = given["baseline"], given["baseline_mean"]
    if actions is not None and algorithm.conservative:
        _required("baseline", algorithm, given)
        _required("baseline_mean", algorithm, given)
    if baseline is not None:
        limit = actions if actions is not None else 2**62
        baseline = checks.index("baseline", baseline, limit)
    return baseline, None if mean is None else units.mean("baseline_mean", mean)


def _baseline_lower(
    algorithm: Algorithm, given: Mapping[str, Any], units: Units, baseline_mean: float | None
) -> float:
    if given["baseline_lower"] is None and baseline_mean is not None:
        return baseline_mean
    lower = units.mean("baseline_lower", _required("baseline_lower", algorithm, given))
    if baseline_mean is not None and lower > baseline_mean:
        raise InputError(
            "baseline_lower",
            f"{given['baseline_lower']:g} is above the baseline's mean",
            "pass a lower bound on every future baseline mean",
        )
    return lower


def _linear_bounds(
    algorithm: Algorithm,
    given: Mapping[str, Any],
    units: Units,
    features: Floats | None,
    width: str,
    rules: Record,
) -> None:
    """Put B, D and lambda into the rules, for the problem in inner units."""
    theta = checks.positive("theta_bound", _required("theta_bound", algorithm, given))
    rules["theta_bound"] = math.hypot(theta, units.low) / units.scale
    rules["ridge"] = checks.positive("ridge", given["ridge"])
    steepest = math.sqrt(_STEEPEST * float(rules["ridge"][0]))
    if given["feature_bound"] is not None:
        bound = checks.positive("feature_bound", given["feature_bound"])
        bound = math.hypot(bound, 1.0) if units.shifted else bound
    elif features is not None:
        with np.errstate(over="ignore"):
            bound = float(np.linalg.norm(features, axis=1).max())
    else:
        if width == "paper":
            _required("feature_bound", algorithm, given)
        bound = steepest
    if bound > steepest:
        raise InputError(
            "feature_bound" if features is None else "features",
            f"norms up to {bound:g} are too large for ridge {rules['ridge'][0]:g} "
            "in double precision",
            f"scale the features to norms below {steepest:.3g}, or raise ridge",
        )
    rules["feature_bound"] = bound
    if features is not None:
        row = load_features(features, bound, np.empty((features.shape[1], lanes(len(features)))))
        if row >= 0:
            raise InputError(
                "features",
                f"row {row} exceeds feature_bound {given['feature_bound']:g}",
                "declare the bound the features really have",
            )


def _truth(
    algorithm: Algorithm, given: Mapping[str, Any], units: Units, actions: int | None
) -> Floats | None:
    """Return the true means of fixed arms, for an oracle."""
    if algorithm.past != "oracle":
        return None
    if actions is None:
        if given["true_means"] is not None:
            raise InputError(
                "true_means", "change with the contexts", "pass them to decide() every round"
            )
        return None
    return units.means("true_means", _required("true_means", algorithm, given), actions)
