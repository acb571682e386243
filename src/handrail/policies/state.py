"""A policy's moving parts as JSON and arrays, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from handrail.policies.model import Arrays, Model, OpenRound
from handrail.records import LEDGER

__all__ = ["dump_ledger", "dump_open", "dump_open_features", "restore_model", "restore_open"]

_FIELDS: Final = tuple(LEDGER.fields or ())
_OPEN_FEATURES: Final = "open/features"


def dump_ledger(model: Model) -> dict[str, float]:
    """Return the ledger, field by field."""
    row = model.ledger[0]
    return {name: row[name].item() for name in _FIELDS}


def dump_open(rounds: Iterable[OpenRound]) -> list[dict[str, Any]]:
    """Return the rounds that wait for a reward, oldest first."""
    return [
        {
            "round": each.round,
            "action": each.action,
            "promise": each.promise,
            "copy": each.token,
            "reward": each.reward,
            "closed": each.closed,
        }
        for each in rounds
    ]


def dump_open_features(rounds: Iterable[OpenRound]) -> Arrays:
    """Return the features of those rounds, one row each, where they have any."""
    rows = [each.features for each in rounds if each.features is not None]
    return {_OPEN_FEATURES: np.array(rows)} if rows else {}


def restore_model(model: Model, ledger: dict[str, float], arrays: Arrays) -> None:
    """Put saved state into a fresh model; ValueError or KeyError where it does not fit."""
    if sorted(ledger) != sorted(_FIELDS):
        raise ValueError("the ledger has other fields")
    for name in _FIELDS:
        value = ledger[name]
        whole = model.ledger.dtype[name].kind == "i"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise ValueError(f"ledger.{name} is {value!r}")
        if not math.isfinite(value):
            raise ValueError(f"ledger.{name} is not finite")
        model.ledger[name] = value
    for name, have in model.arrays().items():
        saved = arrays[f"model/{name}"]
        if saved.shape != have.shape or saved.dtype != have.dtype:
            raise ValueError(f"{name} has shape {saved.shape} and type {saved.dtype}")
        if not np.isfinite(saved).all():
            raise ValueError(f"{name} is not finite")
        have[...] = saved


def restore_open(
    rounds: list[dict[str, Any]], arrays: Arrays, model: Model
) -> dict[int, OpenRound]:
    """Return the rounds that wait for a reward."""
    features = arrays.get(_OPEN_FEATURES)
    if int(model.ledger["pending"][0]) != len(rounds):
        raise ValueError("the open rounds are not those of the ledger")
    wanted = (len(rounds), int(model.rules["dim"][0]))
    if model.keeps_features and rounds and (features is None or features.shape != wanted):
        raise ValueError("the open rounds have other features")
    result: dict[int, OpenRound] = {}
    for position, each in enumerate(rounds):
        row = None if features is None else np.ascontiguousarray(features[position])
        open_round = OpenRound(
            int(each["round"]), int(each["action"]), float(each["promise"]), row, str(each["copy"])
        )
        open_round.reward = None if each["reward"] is None else float(each["reward"])
        open_round.closed = bool(each["closed"])
        result[open_round.round] = open_round
    return result
