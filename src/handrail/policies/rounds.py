"""One round's givens: checked, in inner units, before anything changes."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from handrail import checks
from handrail.errors import InputError
from handrail.estimators.contexts import lanes, load_features
from handrail.policies.parameters import Settings
from handrail.records import Floats

__all__ = ["Round", "bad_features", "check_features", "check_round"]

_NO_TRUTH: Final = np.zeros(0)
"""Stands for true means nobody needs."""


class Round(NamedTuple):
    """What a round is decided on, checked and in inner units."""

    features: Floats | None
    baseline: int
    mean: float
    truth: Floats


def check_round(
    settings: Settings,
    features: ArrayLike | None = None,
    baseline: int | None = None,
    baseline_mean: float | None = None,
    true_means: ArrayLike | None = None,
) -> Round:
    """Check the arguments of `decide`; the values of features are left to the model."""
    rows = _features(settings, features)
    actions = settings.actions if rows is None else len(rows)
    assert actions is not None
    truth = _truth(settings, true_means, actions)
    named = settings.baseline if baseline is None else baseline
    if not settings.algorithm.conservative:
        # To UCB and LinUCB the baseline is an action like any other, named for the event alone;
        # its mean may be told, so that one loop can drive any algorithm.
        if baseline_mean is not None:
            settings.units.mean("baseline_mean", baseline_mean)
        played = -1 if named is None else checks.index("baseline", named, actions)
        return Round(rows, played, 0.0, truth)
    if named is None:
        raise InputError("baseline", "is not known for this round", "pass baseline=index")
    played = checks.index("baseline", named, actions)
    mean = settings.baseline_mean
    if baseline_mean is not None:
        mean = settings.units.mean("baseline_mean", baseline_mean)
    elif settings.baseline not in (None, played):
        mean = None  # the known mean is another action's
    if mean is None:
        raise InputError("baseline_mean", "is not known for this round", "pass baseline_mean=...")
    if mean < settings.baseline_lower:
        raise InputError(
            "baseline_mean",
            f"{settings.units.outward(mean):g} is below baseline_lower",
            "declare a baseline_lower that holds in every round",
        )
    return Round(rows, played, mean, truth)


def _features(settings: Settings, features: ArrayLike | None) -> Floats | None:
    if settings.actions is not None:
        if features is not None:
            raise InputError(
                "features", "were fixed when the policy was made", "leave them out of decide()"
            )
        return None
    if features is None:
        raise InputError("features", "are required every round", "pass features=(actions, dim)")
    return settings.units.augment(checks.array("features", features, (None, settings.dim)))


def _truth(settings: Settings, true_means: ArrayLike | None, actions: int) -> Floats:
    if settings.algorithm.past != "oracle":
        if true_means is not None:
            raise InputError(
                "true_means", f"{settings.algorithm.name} does not use them", "leave them out"
            )
        return _NO_TRUTH
    if settings.truth is not None:
        if true_means is not None:
            raise InputError(
                "true_means", "were fixed when the policy was made", "leave them out of decide()"
            )
        return settings.truth
    if true_means is None:
        raise InputError("true_means", "are required every round", "pass true_means=(actions,)")
    return settings.units.means("true_means", true_means, actions)


def check_features(settings: Settings, given: Round) -> None:
    """Refuse features that are not finite or too long, before a model sees them."""
    if given.features is not None:
        actions, dim = given.features.shape
        columns = np.empty((dim, lanes(actions)))
        bad = load_features(given.features, settings.feature_bound, columns)
        if bad >= 0:
            raise bad_features(settings, given, bad)


def bad_features(settings: Settings, given: Round, row: int) -> InputError:
    """Say what is wrong with a row that `load_features` refused."""
    assert given.features is not None
    features = given.features[row]
    if not np.isfinite(features).all():
        return InputError(
            "features", f"row {row} is not finite", "pass finite numbers only (no NaN, no inf)"
        )
    with np.errstate(over="ignore"):
        norm, bound = float(np.linalg.norm(features)), settings.feature_bound
    if settings.units.shifted:
        # The constant feature is handrail's own affair.
        norm, bound = math.sqrt(norm**2 - 1.0), math.sqrt(bound**2 - 1.0)
    return InputError(
        "features",
        f"row {row} has norm {norm:.6g}, above the bound {bound:.6g}",
        "with such features the guarantee is void: declare the feature_bound they really have",
    )
