"""Decisions that were not carried out: the caller played the baseline after all."""

from __future__ import annotations

import numpy as np

from handrail.compiled import compiled
from handrail.conservative.baseline import FROM_REWARDS, WITHIN
from handrail.conservative.ledger import record_fallback
from handrail.policies.context_model import ContextModel
from handrail.policies.model import Model, OpenRound, waive
from handrail.policies.parameters import Settings
from handrail.policies.played import Instead, Played
from handrail.records import Floats, Record

__all__ = ["fall_back", "instead_of", "keeps_base"]


def keeps_base(settings: Settings) -> bool:
    """Say whether the baseline's features must be kept of a round that may not be carried out."""
    varies = settings.algorithm.estimator == "linear" and settings.actions is None
    return bool(settings.confirm) and varies and settings.lessons == FROM_REWARDS


def instead_of(settings: Settings, played: Played) -> Instead | None:
    """Return what has to be kept of a round's baseline, if anything."""
    if played.held or not settings.confirm:
        return None
    base = played.base if keeps_base(settings) else None
    return Instead(played.baseline, played.floor, played.mean, base)


@compiled
def _take_back(ledger_: Record, promise: float, floor: float, mean: float, teaches: bool) -> None:
    """Turn a pending round of S into a baseline round, which awaits a reward if it teaches."""
    record_fallback(ledger_[0], promise, floor, mean)
    if teaches:
        ledger_[0].waiting += 1


def fall_back(model: Model, settings: Settings, lost: OpenRound) -> OpenRound | None:
    """Turn a pending round into one in which the baseline was played.

    Parameters
    ----------
    model : Model
        Whose ledger counts it.
    settings : Settings
        What was agreed.
    lost : OpenRound
        The round; not a baseline round, and without a reward.

    Returns
    -------
    OpenRound or None
        What waits for the baseline's reward in its place, if anything.
    """
    instead = lost.instead
    assert instead is not None
    features = _features(model, instead)
    if not settings.algorithm.conservative:
        # To UCB and LinUCB the baseline is an action like any other: its reward is awaited now.
        unknown = instead.action < 0 or (model.keeps_features and features is None)
        if unknown or settings.needs_word:
            waive(model.ledger, False, lost.promise)
            return None
        return _replaced(lost, instead.action, False, lost.promise, features)
    # Where a default is declared, a reward would have to be told from silence, and nobody says of
    # this round that it can be: clients report time-outs whose rewards they cannot hand in.
    teaches = settings.lessons == FROM_REWARDS and not settings.needs_word
    _take_back(model.ledger, lost.promise, instead.floor, instead.mean, teaches)
    if int(model.rules["knowledge"][0]) == WITHIN and isinstance(model, ContextModel):
        assert features is not None
        model.hold_instead(features)
    # A known mean (FROM_MEANS) teaches in the rounds that were decided to be the baseline's. Here
    # it is left out: nothing new would be learned, and what is learned would depend on reports.
    return _replaced(lost, instead.action, True, 0.0, features) if teaches else None


def _features(model: Model, instead: Instead) -> Floats | None:
    """Return the baseline's features, where the model asks for them."""
    if not isinstance(model, ContextModel):
        return None
    if model.features is None or instead.action < 0:
        return instead.features
    return np.array(model.features[instead.action])


def _replaced(
    lost: OpenRound, action: int, held: bool, promise: float, features: Floats | None
) -> OpenRound:
    kept = OpenRound(lost.round, action, held, promise, features, lost.token)
    kept.closed = lost.closed
    kept.fallen = "baseline"
    return kept
