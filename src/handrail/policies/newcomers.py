"""Arms that are added on the way: what is checked before one is taken in."""

from __future__ import annotations

import numpy as np

from handrail import checks
from handrail.bounds.ellipsoid import INTERSECTION
from handrail.errors import InputError
from handrail.policies.parameters import Settings
from handrail.records import Floats

__all__ = ["check_new_arm"]


def check_new_arm(settings: Settings, features: object) -> Floats | None:
    """Return the features of an arm to be added, None for means, or say why it cannot be.

    Parameters
    ----------
    settings : Settings
        What was agreed.
    features : object
        As given to `add_arm`.

    Returns
    -------
    numpy.ndarray or None
        A row of inner features.
    """
    if settings.actions is None:
        raise InputError("arm", "actions come anew every round", "pass it with its round")
    if settings.algorithm.past == "oracle":
        raise InputError("arm", "an oracle knows the means of its arms", "make a new policy")
    means = settings.algorithm.estimator == "means"
    if means and features is not None:
        raise InputError("features", "arms without a model have none", "leave them out")
    shared = means or int(settings.rules["width"][0]) == INTERSECTION
    if shared and not settings.open_arms and settings.actions >= int(settings.rules["arms"][0]):
        raise InputError(
            "arm",
            f"delta is shared among {settings.actions} arms, and all are there",
            "make the policy with a larger arms_ever, or 'any'",
        )
    if means:
        return None
    row = checks.finite("features", checks.array("features", features, (settings.dim,)))
    inner = settings.units.augment(row[None, :])
    norm = float(np.linalg.norm(inner))
    if norm > settings.feature_bound * (1.0 + 1e-12):
        raise InputError(
            "features",
            f"their norm {norm:.6g} exceeds the bound {settings.feature_bound:.6g}",
            "make the policy with a feature_bound that holds for all arms to come",
        )
    return np.array(inner[0])
