"""Definitions: what a policy was created with, checked, and the policy made of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from handrail.errors import InputError, NoGuaranteeWarning, shown
from handrail.policies.defaults import resolved_parameters
from handrail.policies.make import make_policy, remake_policy
from handrail.policies.notes import UNNAMED, UNNAMED_LEARNED
from handrail.policies.policy import Policy
from handrail.service.limits import Limits
from handrail.service.messages import Action, CreateRequest

__all__ = [
    "LOG_VERSION",
    "Made",
    "check_length",
    "check_name",
    "check_names",
    "define",
    "index_of",
    "leave",
    "make",
    "notes_of",
    "parts_of",
]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LAWS: Final = (
    *("binom", "expon", "gamma", "geom", "lognorm", "norm"),
    *("poisson", "randint", "uniform", "weibull_min"),
)
"""Laws of gaps whose quantiles take no time, whatever their parameters."""
_LARGEST: Final = 1e9
_OWN: Final = ("name", "algorithm", "mode", "keep_candidates")
_OVERRIDES: Final = ("baseline", "baseline_mean")
LOG_VERSION: Final = 2


class Made(NamedTuple):
    """A policy fresh from its definition."""

    policy: Policy
    names: list[str] | None
    """What fixed arms are called, where they have names."""
    notes: list[str]
    """What voids the promise, or what it rests on."""


def check_name(name: str, limits: Limits) -> None:
    """Refuse a name that no path could hold."""
    if _NAME.fullmatch(name) is None or len(name) > limits.name_length:
        raise InputError(
            "name",
            f"{name[:50]!r} is no name for a policy",
            f"use up to {limits.name_length} letters, digits, dots, dashes and underscores, "
            "beginning with a letter or a digit",
        )


def define(
    request: CreateRequest,
    limits: Limits,
    version: int = LOG_VERSION,
    parts: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], Made]:
    """Check a request to create a policy, or the one that a log's first event was; see `make`."""
    check_name(request.name, limits)
    _check_size(request, limits)
    definition: dict[str, Any] = {name: getattr(request, name) for name in _OWN}
    if version > 1:
        definition["may_override"] = sorted(set(request.may_override or ()))
    definition["parameters"] = {
        name: msgspec.to_builtins(value)
        for name, value in msgspec.structs.asdict(request).items()
        if name not in (*_OWN, "may_override") and value is not None
    }
    if request.confirm is False:
        raise InputError("confirm", "an answer may always be lost", "leave it out")
    made = make(definition, version, parts)
    if definition.get("may_override") and made.policy._settings.known.fixed:
        raise InputError(
            "may_override",
            "one mean that is learned or an interval holds for all rounds",
            "leave it out",
        )
    return definition, made


def _check_size(request: CreateRequest, limits: Limits) -> None:
    arms = request.arms if isinstance(request.arms, int) else len(request.arms or ())
    rows = request.features or []
    if isinstance(rows, dict):
        rows = list(rows.values())
    for field, size, most in (
        ("arms", arms, limits.arms),
        ("features", len(rows), limits.arms),
        ("features", max((len(row) for row in rows), default=0), limits.dim),
        ("dim", request.dim or 0, limits.dim),
        ("checkpoints", len(request.checkpoints or ()), limits.arms),
        ("true_means", len(request.true_means or ()), limits.arms),
        ("window", request.window or 0, limits.pending),
    ):
        if size > most:
            raise InputError(field, f"{size} are too many", f"the service takes {most} at most")
    _check_law(request.checkpoint_gap)
    if isinstance(request.arms_ever, int) and request.arms_ever > limits.arms:
        raise InputError("arms_ever", f"{request.arms_ever} are too many", f"at most {limits.arms}")


def _check_law(gap: object) -> None:
    """Refuse laws whose quantiles may take for ever: they are computed while others wait."""
    if not isinstance(gap, dict):
        return
    if gap.get("law") not in _LAWS:
        raise InputError(
            "checkpoint_gap", "is none of the laws that are served", f"use {', '.join(_LAWS)}"
        )
    args, kwds = gap.get("args", []), gap.get("kwds", {})
    numbers = [*(args if isinstance(args, list) else [args])]
    numbers += list(kwds.values()) if isinstance(kwds, dict) else [kwds]
    fine = all(isinstance(each, int | float) and abs(each) <= _LARGEST for each in numbers)
    if set(gap) - {"law", "args", "kwds"} or len(numbers) > 4 or not fine:
        raise InputError(
            "checkpoint_gap",
            "its parameters are no few numbers of a common size",
            f"use args and kwds with numbers up to {_LARGEST:g}",
        )


def make(definition: dict[str, Any], version: int, parts: dict[str, Any] | None = None) -> Made:
    """Make the policy that a definition of a log of this version describes.

    `parts` is what the definition meant when it was written down; None is for new policies, and
    for logs of version 1. Decisions have to be confirmed.
    """
    given = {"confirm": True, **definition["parameters"]}
    names: list[str] | None = None
    if isinstance(given.get("arms"), list):
        names = list(given["arms"])
        given["arms"] = len(names)
    features = given.get("features")
    if isinstance(features, dict):
        names = list(features)
        given["features"] = list(features.values())
    if names is not None:
        check_names(names)
        if isinstance(given.get("baseline"), str):
            given["baseline"] = index_of("baseline", given["baseline"], names)
    if "dim" in given and isinstance(given.get("baseline"), str):
        del given["baseline"]  # a name of rounds that name their actions
    with warnings.catch_warnings():  # what voids the promise is among the policy's notes
        warnings.simplefilter("ignore", NoGuaranteeWarning)
        if version > 1 and parts is None:
            policy = make_policy(definition["algorithm"], **given)
        else:
            policy = remake_policy(definition["algorithm"], given, parts)
    return Made(policy, names, notes_of(policy, definition))


def leave(policy: Policy, definition: dict[str, Any]) -> list[str]:
    """Return what of the agreed the rounds of a policy may tell otherwise.

    A definition of version 1 says nothing of it: there they may tell all that the rules let them,
    which is nothing of a mean that is agreed once for all rounds, nor another action that has it.
    """
    agreed, named = definition["parameters"], definition.get("may_override")
    if named is None:
        once = policy._settings.known.fixed
        varies = "dim" in agreed
        named = [] if once and not varies else ["baseline"] if once else _OVERRIDES
    return [field for field in _OVERRIDES if field in named and field in agreed]


def notes_of(policy: Policy, definition: dict[str, Any]) -> list[str]:
    """Return what voids a policy's promise, or what it rests on."""
    notes = policy.notes
    if definition["parameters"].get("baseline") is not None:  # also a name, unknown to the policy
        notes = [note for note in notes if note not in (UNNAMED, UNNAMED_LEARNED)]
    fields = leave(policy, definition)
    if fields and policy.algorithm.conservative:
        why = "log version 1's rule" if definition.get("may_override") is None else "may_override"
        notes.append(
            f"Rounds may override the agreed {' and '.join(fields)} ({why}): the promise then "
            "rests on what they tell, and whoever may ask for decisions can void it."
        )
    return notes


def parts_of(policy: Policy) -> dict[str, Any]:
    """Return what a policy's definition means in this release, for all releases to come."""
    resolved = {**resolved_parameters(policy.algorithm, policy.parameters)}
    resolved["parameters"] = dict(policy.filled_in)
    return {"edition": policy._settings.edition, **resolved}


def check_names(names: list[str]) -> None:
    """Refuse names of arms that are empty or the same."""
    if not all(names) or len(set(names)) != len(names):
        raise InputError("arms", "the names are not all different", "give each arm its own name")


def check_length(field: str, names: Iterable[object], limits: Limits) -> None:
    """Refuse names of actions that are too long."""
    if any(isinstance(name, str) and len(name) > limits.key_length for name in names):
        raise InputError(
            field, "has too long a name", f"use {limits.key_length} characters at most"
        )


def index_of(field: str, action: Action, names: list[str] | None) -> int:
    """Return the index of an action that may be named."""
    if isinstance(action, int):
        return action
    if names is None:
        raise InputError(field, f"{shown(action)} is no index", "these actions have no names")
    try:
        return names.index(action)
    except ValueError:
        raise InputError(
            field, f"there is no action {action[:50]!r}", "use one of the actions' names"
        ) from None
