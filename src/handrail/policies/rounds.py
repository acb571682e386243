"""One round's givens: checked, in inner units, before anything changes."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from handrail import checks
from handrail.errors import InputError
from handrail.estimators.contexts import lanes, load_features
from handrail.policies.knowledge import baseline_interval
from handrail.policies.names import Action, action_name
from handrail.policies.parameters import Settings
from handrail.records import Floats

__all__ = [
    "NO_TRUTH",
    "Round",
    "bad_features",
    "check_features",
    "check_possible",
    "check_round",
    "mean_of_round",
]

_ROUNDING: Final = 1e-9

NO_TRUTH: Final = np.zeros(0)
"""Stands for true means nobody needs."""


class Round(NamedTuple):
    """What a round is decided on, checked and in inner units."""

    features: Floats | None
    baseline: int
    floor: float
    mean: float
    """The baseline's mean lies between floor and mean; both are the same where it is known."""
    truth: Floats
    names: tuple[Action, Action] | None = None
    """A guard's baseline and the proposal, as they were named."""
    hold: bool = False
    """Whether the baseline is played whatever the algorithm would choose."""


def check_round(
    settings: Settings,
    features: ArrayLike | None = None,
    baseline: Action | None = None,
    baseline_mean: object = None,
    true_means: ArrayLike | None = None,
    proposal: Action | None = None,
    hold: bool = False,
) -> Round:
    """Check the arguments of `decide`; the values of features are left to the model."""
    hold = checks.flag("hold", hold)
    guard = settings.algorithm.estimator == "none"
    if guard:
        return _guarded(settings, features, baseline, baseline_mean, true_means, proposal, hold)
    if proposal is not None:
        raise InputError(
            "proposal", f"{settings.algorithm.name} makes its own", "make a GUARD to check others'"
        )
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
        if named is not None or not hold:
            played = -1 if named is None else checks.index("baseline", named, actions)
            return Round(rows, played, 0.0, 0.0, truth, hold=hold)
    if named is None:
        raise InputError("baseline", "is not known for this round", "pass the baseline's index")
    played = checks.index("baseline", named, actions)
    if settings.known.fixed and rows is None and played != settings.baseline:
        raise InputError(
            "baseline",
            f"action {played} is not the one whose mean was agreed to be unknown",
            "leave it out, or tell every round's baseline_mean",
        )
    other = settings.baseline not in (None, played)
    low, high = mean_of_round(settings, baseline_mean, other)
    return Round(rows, played, low, high, truth, hold=hold)


def _guarded(
    settings: Settings,
    features: ArrayLike | None,
    baseline: Action | None,
    baseline_mean: object,
    true_means: ArrayLike | None,
    proposal: Action | None,
    hold: bool,
) -> Round:
    """Check a round of a guard: any two names, and the baseline's mean."""
    for field, value in (("features", features), ("true_means", true_means)):
        if value is not None:
            raise InputError(field, "a guard does not use them", "leave them out")
    if proposal is None and not hold:
        raise InputError("proposal", "is required every round", "pass the proposed action")
    named = settings.baseline if baseline is None else baseline
    if named is None:
        raise InputError("baseline", "is not known for this round", "pass the baseline")
    if proposal is None:
        proposal = named
    names = (action_name("baseline", named), action_name("proposal", proposal))
    other = settings.baseline is not None and names[0] != settings.baseline
    if other and settings.known.learned:
        raise InputError(
            "baseline",
            f"{names[0]!r} is not the one whose mean is learned",
            "make a guard for each baseline",
        )
    low, high = mean_of_round(settings, baseline_mean, other)
    return Round(None, 0, low, high, NO_TRUTH, names, hold)


def mean_of_round(settings: Settings, baseline_mean: object, other: bool) -> tuple[float, float]:
    """Return where the baseline's mean lies; other: the agreed one is another action's."""
    known = settings.known
    if baseline_mean is not None:
        if known.fixed:
            raise InputError(
                "baseline_mean",
                "was agreed on when the policy was made",
                "leave it out",
            )
        low, high = baseline_interval(settings.units, baseline_mean)
    elif known.low is None or known.high is None or (other and not known.fixed):
        raise InputError("baseline_mean", "is not known for this round", "pass baseline_mean")
    else:
        low, high = known.low, known.high
    if high < settings.baseline_lower and not known.fixed:
        raise InputError(
            "baseline_mean",
            f"{settings.units.outward(high):g} is below baseline_lower",
            "declare a baseline_lower that holds in every round",
        )
    return max(low, settings.baseline_lower) if not known.fixed else low, high


def _features(settings: Settings, features: ArrayLike | None) -> Floats | None:
    if settings.actions is not None:
        if features is not None:
            raise InputError("features", "were fixed when the policy was made", "leave them out")
        return None
    if features is None:
        raise InputError("features", "are required every round", "pass one row per action")
    return settings.units.augment(checks.array("features", features, (None, settings.dim)))


def _truth(settings: Settings, true_means: ArrayLike | None, actions: int) -> Floats:
    if settings.algorithm.past != "oracle":
        if true_means is not None:
            raise InputError(
                "true_means", f"{settings.algorithm.name} does not use them", "leave them out"
            )
        return NO_TRUTH
    if settings.truth is not None:
        if true_means is not None:
            raise InputError("true_means", "were fixed when the policy was made", "leave them out")
        return settings.truth
    if true_means is None:
        raise InputError("true_means", "are required every round", "pass one per action")
    return settings.units.means("true_means", true_means, actions)


def check_possible(settings: Settings, given: Round) -> None:
    """Refuse a baseline mean that |theta| <= B rules out: |<theta, phi_b>| <= B |phi_b|.

    In the user's units: with the constant feature of a shifted range, B and |phi_b| allow more.
    """
    units = settings.units
    if settings.theta_bound == 0.0 or settings.known.learned:
        return
    if not units.shifted and given.floor == 0.0:
        return
    rows = settings.features if given.features is None else given.features
    assert rows is not None
    row = units.bare(rows[given.baseline])
    with np.errstate(all="ignore"):  # features that are too long are refused later, and NaN too
        most = settings.theta_bound * math.sqrt(row.dot(row))
    nearly = most + _ROUNDING * (most + units.scale)
    low, high = units.outward(given.floor), units.outward(given.mean)
    if low > nearly or high < -nearly:
        mean, end = (low, f"{most:g} at most") if low > nearly else (high, f"{-most:g} at least")
        raise InputError(
            "baseline_mean",
            f"{mean:g} is impossible: theta_bound and the baseline's features allow {end}",
            "declare the theta_bound that the model really has",
        )


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
