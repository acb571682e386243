"""Which model a policy is built on."""

from __future__ import annotations

from handrail.bounds.ellipsoid import INTERSECTION
from handrail.policies.arms import ArmsModel
from handrail.policies.context_model import ContextModel
from handrail.policies.defaults import MOST_ARMS
from handrail.policies.fixed import FixedModel
from handrail.policies.guard_model import GuardModel
from handrail.policies.model import Model
from handrail.policies.parameters import Settings

__all__ = ["make_model"]


def make_model(settings: Settings) -> Model:
    """Return a fresh model.

    Fixed arms live in arm space as long as K^2 steps a round are no more than the K d^2 that
    features would take, and memory allows, or each arm's own mean is asked for; a large catalogue
    of items is kept as features.
    """
    if settings.algorithm.estimator == "none":
        return GuardModel(settings.rules)
    if settings.algorithm.estimator == "means":
        assert settings.actions is not None
        return ArmsModel(settings.rules, settings.actions)
    features = settings.features
    # Arm space keeps each arm's mean, and the plays that were confirmed.
    means = int(settings.rules["width"][0]) == INTERSECTION
    means = means or (settings.algorithm.past == "oracle" and bool(settings.confirm))
    if features is not None and (means or len(features) <= min(features.shape[1] ** 2, MOST_ARMS)):
        return FixedModel(settings.rules, features)
    return ContextModel(settings.rules, features)
