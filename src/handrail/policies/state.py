"""A policy's moving parts as JSON and arrays, and back."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from handrail.policies.identity import COPY_NAME
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


def restore_model(model: Model, ledger: dict[str, Any], arrays: Arrays) -> None:
    """Put saved state into a fresh model; ValueError or KeyError where it does not fit."""
    if sorted(ledger) != sorted(_FIELDS):
        raise ValueError("the ledger has other fields")
    for name in _FIELDS:
        whole = LEDGER[name].kind == "i"
        model.ledger[name] = _number(ledger[name], f"ledger.{name}", whole=whole)
        if whole and ledger[name] < 0:
            raise ValueError(f"ledger.{name} is negative")
    for name, have in model.arrays().items():
        saved = arrays[f"model/{name}"]
        if saved.shape != have.shape or saved.dtype != have.dtype:
            raise ValueError(f"{name} has shape {saved.shape} and type {saved.dtype}")
        if not np.isfinite(saved).all() or (saved.dtype.kind == "i" and (saved < 0).any()):
            raise ValueError(f"{name} holds impossible numbers")
        have[...] = saved
    _check_counts(model)


def _check_counts(model: Model) -> None:
    """Raise ValueError where the counts contradict each other."""
    counted = {name: int(model.ledger[name][0]) for name in _FIELDS if LEDGER[name].kind == "i"}
    arrays = model.arrays()
    agree = counted["pending"] + counted["rewards"] <= counted["plays"] <= counted["rounds"]
    agree = agree and counted["rows"] in (0, counted["rewards"])
    if "plays" in arrays:
        agree = agree and int(arrays["plays"].sum()) == counted["plays"]
        agree = agree and int(arrays["counts"].sum()) == counted["rewards"]
    if not agree:
        raise ValueError("the counts contradict each other")


def restore_open(
    rounds: list[dict[str, Any]], arrays: Arrays, model: Model
) -> OrderedDict[int, OpenRound]:
    """Return the rounds that wait for a reward; compiled code will trust what they say."""
    features = arrays.get(_OPEN_FEATURES)
    if int(model.ledger["pending"][0]) != len(rounds):
        raise ValueError("the open rounds are not those of the ledger")
    wanted = (len(rounds), int(model.rules["dim"][0]))
    if model.keeps_features and rounds and (features is None or features.shape != wanted):
        raise ValueError("the open rounds have other features")
    if features is not None and (features.dtype != np.float64 or not np.isfinite(features).all()):
        raise ValueError("the open rounds have impossible features")
    arms = int(model.rules["arms"][0])
    result: OrderedDict[int, OpenRound] = OrderedDict()
    previous = 0
    for position, each in enumerate(rounds):
        number = int(_number(each["round"], "open.round", whole=True))
        action = int(_number(each["action"], "open.action", whole=True))
        if not previous < number <= int(model.ledger["rounds"][0]):
            raise ValueError(f"open round {number} is out of order")
        if action < 0 or (arms and action >= arms):
            raise ValueError(f"open round {number} has action {action}")
        promise = float(_number(each["promise"], "open.promise", whole=False))
        if promise < 0.0 or COPY_NAME.fullmatch(each["copy"]) is None:
            raise ValueError(f"open round {number} has impossible values")
        row = features[position].copy() if features is not None and model.keeps_features else None
        open_round = OpenRound(number, action, promise, row, str(each["copy"]))
        if each["reward"] is not None:
            open_round.reward = float(_number(each["reward"], "open.reward", whole=False))
        open_round.closed = bool(each["closed"])
        result[number] = open_round
        previous = number
    return result


def _number(value: Any, what: str, *, whole: bool) -> float:
    """Return a finite number of the right kind."""
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"{what} is {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{what} is not finite")
    return value
