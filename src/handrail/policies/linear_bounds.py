"""The bounds of a linear model: how long theta and features can be, and the ridge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from handrail import checks
from handrail.errors import InputError
from handrail.estimators.contexts import lanes, load_features
from handrail.policies.algorithm import Algorithm
from handrail.policies.defaults import required
from handrail.policies.units import Units
from handrail.records import Floats, Record

__all__ = ["linear_bounds"]

_STEEPEST: Final = 1e8
"""Largest D^2 / lambda for which widths are shown to be exact (`benchmarks precision`)."""


def linear_bounds(
    algorithm: Algorithm,
    given: Mapping[str, Any],
    units: Units,
    features: Floats | None,
    width: str,
    rules: Record,
) -> None:
    """Put B, D and lambda into the rules, for the problem in inner units."""
    theta = checks.positive("theta_bound", required("theta_bound", algorithm, given))
    rules["theta_bound"] = math.hypot(theta, units.low) / units.scale
    rules["ridge"] = _ridge(given["ridge"], rules)
    steepest = math.sqrt(_STEEPEST * float(rules["ridge"][0]))
    if units.shifted and steepest <= 1.0:  # the length of the constant feature alone
        raise InputError(
            "ridge",
            f"{rules['ridge'][0]:g} is too small in double precision for a range that does not "
            "start at 0, which takes a feature of length 1",
            f"raise it above {1.0 / _STEEPEST:g}",
        )
    if given["feature_bound"] is not None:
        bound = checks.positive("feature_bound", given["feature_bound"])
        bound = math.hypot(bound, 1.0) if units.shifted else bound
    elif features is not None:
        with np.errstate(over="ignore"):
            bound = float(np.linalg.norm(features, axis=1).max())
    else:
        if width == "paper":
            required("feature_bound", algorithm, given)
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
                f"row {row} exceeds feature_bound {float(given['feature_bound']):g}",
                "declare the bound the features really have",
            )


def _ridge(value: object, rules: Record) -> float:
    """Return lambda; `balanced` makes the bias B sqrt(lambda) as large as the noise.

    A ridge pulls the estimate towards 0 by up to B sqrt(lambda) in the ellipsoid's norm, at all
    times, and a small one adds only log(1/lambda) to the determinant.
    """
    if isinstance(value, str):
        checks.one_of("ridge", value, ("balanced",))
        balanced = (float(rules["noise"][0]) / float(rules["theta_bound"][0])) ** 2
        return checks.positive("ridge", balanced)
    return checks.positive("ridge", value)
