"""Which model a policy is built on."""

from __future__ import annotations

from typing import Final

from handrail.policies.arms import ArmsModel
from handrail.policies.context_model import ContextModel
from handrail.policies.fixed import FixedModel
from handrail.policies.guard_model import GuardModel
from handrail.policies.model import Model
from handrail.policies.parameters import Settings

__all__ = ["make_model"]

_MOST_ARMS: Final = 2048
"""Arm space takes K^2 numbers: 32 MB at this K."""


def make_model(settings: Settings) -> Model:
    """Return a fresh model.

    Fixed arms live in arm space as long as K^2 steps a round are no more than the K d^2 that
    features would take, and memory allows; a large catalogue of items is kept as features.
    """
    if settings.algorithm.estimator == "none":
        return GuardModel(settings.rules)
    if settings.algorithm.estimator == "means":
        assert settings.actions is not None
        return ArmsModel(settings.rules, settings.actions)
    features = settings.features
    if features is not None and len(features) <= min(features.shape[1] ** 2, _MOST_ARMS):
        return FixedModel(settings.rules, features)
    return ContextModel(settings.rules, features)
