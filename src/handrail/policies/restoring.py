"""A state as JSON and arrays: its parts out, and in again, checked.

Compiled code trusts what is restored, so everything that a damaged or hostile file could say is
looked at here.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, Final

import numpy as np

from handrail.conservative.past import NONE, ORACLE
from handrail.policies.identity import COPY_NAME
from handrail.policies.model import Arrays, Model, OpenRound
from handrail.policies.older import complete_ledger, derive, derived
from handrail.policies.played import Instead
from handrail.records import LEDGER, Floats

__all__ = [
    "FIELDS",
    "OPEN_BASELINES",
    "OPEN_FEATURES",
    "dump_open",
    "number",
    "restore_instead",
    "restore_model",
    "restore_open",
]

FIELDS: Final = tuple(LEDGER.fields or ())
OPEN_FEATURES: Final = "open/features"
OPEN_BASELINES: Final = "open/baselines"


def dump_open(each: OpenRound) -> dict[str, Any]:
    """Return a round that waits as JSON has it."""
    document: dict[str, Any] = {
        "round": each.round,
        "action": each.action,
        "held": each.held,
        "promise": each.promise,
        "copy": each.token,
        "reward": each.reward,
        "closed": each.closed,
    }
    if each.said:
        document["said"] = True
    if each.fallen:
        document["fallen"] = each.fallen
    if each.instead is not None:
        action, floor, mean, _ = each.instead
        document["instead"] = {"action": action, "floor": floor, "mean": mean}
    return document


def restore_instead(
    rounds: list[dict[str, Any]],
    features: Floats | None,
    opened: OrderedDict[int, OpenRound],
    model: Model,
    wanted: bool,
) -> None:
    """Give rounds that have to be confirmed their baselines again."""
    row = 0
    conservative = int(model.rules["past"][0]) != NONE
    for each, open_round in zip(rounds, opened.values(), strict=True):
        fallen = each.get("fallen", "")
        open_round.fallen = "baseline" if fallen is True else fallen
        if open_round.fallen not in ("", "baseline", "choice"):
            raise ValueError(f"open round {open_round.round} fell back to {fallen!r}")
        if open_round.fallen == "baseline" and conservative and not open_round.held:
            raise ValueError(f"open round {open_round.round} is no baseline round")
        open_round.said = bool(each.get("said", False))
        if open_round.held or open_round.fallen:
            continue
        instead = each["instead"]
        action = int(number(instead["action"], "open.instead", whole=True))
        if action < -1 or (model.gone.size > 0 and action >= model.gone.size):
            raise ValueError(f"open round {open_round.round} has baseline {action}")
        floor = float(number(instead["floor"], "open.instead.floor", whole=False))
        mean = float(number(instead["mean"], "open.instead.mean", whole=False))
        base = None
        if wanted:
            if features is None or row >= len(features):
                raise ValueError("the open rounds have no features of their baselines")
            base, row = features[row].copy(), row + 1
        open_round.instead = Instead(action, floor, mean, base)
    shape = (row, int(model.rules["dim"][0]))
    if features is not None and (features.shape != shape or features.dtype != np.float64):
        raise ValueError("the open rounds have other features of their baselines")
    if features is not None and not np.isfinite(features).all():
        raise ValueError("the open rounds have impossible features of their baselines")


def restore_model(model: Model, ledger: dict[str, Any], arrays: Arrays, version: int) -> bool:
    """Put saved state into a fresh model; ValueError or KeyError where it does not fit.

    Says whether the state is of an earlier version and up to its rounding only.
    """
    ledger = complete_ledger(version, ledger)
    if sorted(ledger) != sorted(FIELDS):
        raise ValueError("the ledger has other fields")
    if not ledger["variation"] >= 0.0:
        raise ValueError("the variation is negative")
    for name in FIELDS:
        whole = LEDGER[name].kind == "i"
        model.ledger[name] = number(ledger[name], f"ledger.{name}", whole=whole)
        if whole and ledger[name] < 0:
            raise ValueError(f"ledger.{name} is negative")
    for name, have in model.arrays().items():
        if derived(version, name):
            continue
        saved = arrays[f"model/{name}"]
        if saved.shape != have.shape or saved.dtype != have.dtype:
            raise ValueError(f"{name} has shape {saved.shape} and type {saved.dtype}")
        if not np.isfinite(saved).all() or (saved.dtype.kind == "i" and (saved < 0).any()):
            raise ValueError(f"{name} holds impossible numbers")
        have[...] = saved
    _check_counts(model)
    _check_squares(model)
    return derive(version, model, arrays)


def _check_squares(model: Model) -> None:
    """Raise ValueError where a width would not be that of any rows."""
    arrays = model.arrays()
    if "factor" in arrays:
        factor = arrays["factor"]
        if np.triu(factor, 1).any() or not (np.diag(factor) > 0.0).all():
            raise ValueError("factor is no inverse Cholesky factor")
    if "gram" in arrays:
        squares, floors = np.diag(arrays["gram"]), arrays["floors"]
        if not ((squares >= floors) & (floors >= 0.0)).all():
            raise ValueError("gram is below its floors")


def _check_counts(model: Model) -> None:
    """Raise ValueError where the counts contradict each other."""
    counted = {name: int(model.ledger[name][0]) for name in FIELDS if LEDGER[name].kind == "i"}
    arrays = model.arrays()
    agree = counted["pending"] + counted["rewards"] <= counted["plays"] <= counted["rounds"]
    missed = counted["missed"]
    learned = counted["rewards"] - missed + counted["lessons"]
    agree = agree and missed <= counted["rewards"]
    agree = (
        agree and counted["waiting"] + counted["lessons"] <= counted["rounds"] - counted["plays"]
    )
    agree = agree and counted["rows"] in (0, learned)
    if "plays" in arrays:
        confirm, oracle = bool(model.rules["confirm"][0]), model.rules["past"][0] == ORACLE
        forgotten = 0 if oracle and not confirm else missed
        played = counted["rewards" if confirm else "plays"] - forgotten
        agree = agree and int(arrays["plays"].sum()) == played
        agree = agree and int(arrays["counts"].sum()) == learned
    if not agree:
        raise ValueError("the counts contradict each other")


def restore_open(
    rounds: list[dict[str, Any]], arrays: Arrays, model: Model
) -> OrderedDict[int, OpenRound]:
    """Return the rounds that wait for a reward; compiled code will trust what they say."""
    features = arrays.get(OPEN_FEATURES)
    if int(model.ledger["pending"][0] + model.ledger["waiting"][0]) != len(rounds):
        raise ValueError("the open rounds are not those of the ledger")
    wanted = (len(rounds), int(model.rules["dim"][0]))
    if model.keeps_features and rounds and (features is None or features.shape != wanted):
        raise ValueError("the open rounds have other features")
    if features is not None and (features.dtype != np.float64 or not np.isfinite(features).all()):
        raise ValueError("the open rounds have impossible features")
    arms = model.gone.size
    result: OrderedDict[int, OpenRound] = OrderedDict()
    previous = 0
    for position, each in enumerate(rounds):
        place = int(number(each["round"], "open.round", whole=True))
        action = int(number(each["action"], "open.action", whole=True))
        if not previous < place <= int(model.ledger["rounds"][0]):
            raise ValueError(f"open round {place} is out of order")
        if action < 0 or (arms and action >= arms):
            raise ValueError(f"open round {place} has action {action}")
        held = bool(each.get("held", False))
        promise = float(number(each["promise"], "open.promise", whole=False))
        if promise < 0.0 or COPY_NAME.fullmatch(each["copy"]) is None:
            raise ValueError(f"open round {place} has impossible values")
        row = features[position].copy() if features is not None and model.keeps_features else None
        open_round = OpenRound(place, action, held, promise, row, str(each["copy"]))
        if each["reward"] is not None:
            open_round.reward = float(number(each["reward"], "open.reward", whole=False))
        open_round.closed = bool(each["closed"])
        result[place] = open_round
        previous = place
    return result


def number(value: Any, what: str, *, whole: bool) -> float:
    """Return a finite number of the right kind."""
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"{what} is {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{what} is not finite")
    return value
