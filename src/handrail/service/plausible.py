"""Whether an event can have happened, as far as its form goes: before any rule trusts it.

Compiled rules check no index. What comes from a file, or from a database that somebody wrote to,
is checked here first.
"""

from __future__ import annotations

import math
from typing import Final, get_args

import msgspec
import numpy as np

from handrail._version import __version__
from handrail.errors import InputError
from handrail.policies.identity import COPY_NAME
from handrail.policies.outcomes import Because
from handrail.policies.rounds import mean_of_round
from handrail.service.book import Book
from handrail.service.definition import LOG_VERSION, check_names, define, parts_of
from handrail.service.events import (
    ArmAdded,
    Created,
    Decided,
    Event,
    FellBack,
    ModeChanged,
    SaidPlayed,
    Upgraded,
    later_fields,
)
from handrail.service.limits import Limits
from handrail.service.messages import CreateRequest, Mode
from handrail.service.rounds import digest_of

__all__ = ["check_created", "check_event"]

_MODES: Final = get_args(Mode)
_EVENTS: Final = ("optimistic", "safe", "baseline")
_MOST: Final = 10**7
"""More candidates than a round ever has."""
_YEAR_9999: Final = 253_402_300_799_999_999


def check_created(event: Event, policy: str, limits: Limits) -> Created:
    """Check that a log begins as logs do.

    Parameters
    ----------
    event : Event
        Its first event.
    policy : str
        The name that the policy goes by.
    limits : Limits
        Of a definition.

    Returns
    -------
    Created
        The event.

    Raises
    ------
    InputError
        If it is another event, or defines no policy of this name.
    """
    if not isinstance(event, Created):
        raise InputError("event", "a log begins with the event that created the policy")
    _check_time(event, 0)
    definition = dict(event.definition)
    parameters = definition.pop("parameters", None)
    if not isinstance(parameters, dict) or set(parameters) & set(definition):
        raise InputError("definition", "is not one that the service wrote")
    try:
        request = msgspec.convert({**definition, **parameters}, CreateRequest)
    except msgspec.ValidationError as error:
        raise InputError("definition", str(error)) from error
    version = event.version or 1
    if not 1 <= version <= LOG_VERSION:
        raise InputError("version", f"{version} is not known to this handrail", "upgrade handrail")
    if (event.parts is None) != (version == 1):
        raise InputError("parts", "are what version 2 of a log says first")
    again, made = define(request, limits, version, event.parts)
    if msgspec.msgpack.decode(msgspec.msgpack.encode(again)) != event.definition:
        raise InputError("definition", "is not one that the service wrote")
    if request.name != policy:
        raise InputError("definition", f"is that of {request.name!r}, not of {policy!r}")
    if event.handrail == __version__ and version > 1:
        _, made = define(request, limits)
    if version > 1 and msgspec.to_builtins(parts_of(made.policy)) != event.parts:
        raise InputError("parts", "are not what the definition meant")
    return event


def check_event(book: Book, event: Event, limits: Limits) -> None:
    """Check the form of an event that follows; InputError where it cannot have happened.

    Parameters
    ----------
    book : Book
        The policy before the event.
    event : Event
        The event.
    limits : Limits
        Of a policy's arms.
    """
    if isinstance(event, Created):
        raise InputError("event", "a log has one beginning only")
    if book.archived:
        raise InputError("event", "the policy was archived before")
    _check_time(event, book.at)
    _check_version(book, event)
    match event:
        case ModeChanged() if event.mode not in _MODES:
            raise InputError("mode", f"{event.mode[:50]!r} is none")
        case FellBack() if event.because not in (None, *get_args(Because)):
            raise InputError("because", f"{str(event.because)[:50]!r} is no reason")
        case ArmAdded():
            _check_arm(book, event, limits)
        case Decided():
            _check_decided(book, event)


def _check_time(event: Event, before: int) -> None:
    if event.at < before:
        raise InputError("at", "lies before the time of the event before it")
    if event.at > _YEAR_9999:
        raise InputError("at", "is no time")


def _check_version(book: Book, event: Event) -> None:
    """Check that an event is one of the log's version, which only ever goes up."""
    if isinstance(event, Upgraded):
        if not book.version < event.version <= LOG_VERSION:
            raise InputError("version", f"{event.version} does not follow {book.version}")
    elif book.version == 1 and (isinstance(event, SaidPlayed) or later_fields(event)):
        raise InputError("event", "a log of version 1 says no such thing")


def _check_arm(book: Book, event: ArmAdded, limits: Limits) -> None:
    actions = book.policy._settings.actions
    if actions is not None and actions >= limits.arms:
        raise InputError("arm", f"there are {actions} already")
    if (book.names is None) != (event.name is None):
        raise InputError("name", "arms have names all together or not at all")
    if book.names is not None and event.name is not None:
        check_names([*book.names, event.name])


def _check_decided(book: Book, event: Decided) -> None:
    if event.round != book.policy.round + 1:
        raise InputError("round", f"{event.round} does not follow round {book.policy.round}")
    if COPY_NAME.fullmatch(event.token) is None:
        raise InputError("token", f"{event.token[:50]!r} is no copy's name")
    if event.event not in _EVENTS:
        raise InputError("event", f"{event.event[:50]!r} is none of {', '.join(_EVENTS)}")
    if event.mode != book.mode:
        raise InputError("mode", f"is {event.mode[:50]!r} in a policy that is {book.mode}")
    if event.mode != "live" and event.event != "baseline":
        raise InputError("event", f"is {event.event} in a policy that is {book.mode}")
    if event.would is not None and event.mode != "shadow":
        raise InputError("would", "is for policies in shadow mode")
    _check_numbers(event)
    _check_mean(book, event)
    _check_actions(book, event)
    _check_features(book, event)
    if event.candidates is not None:
        _check_candidates(book, event)


def _check_candidates(book: Book, event: Decided) -> None:
    """Check that what is kept of a round's candidates is what was decided among."""
    listed = event.candidates
    assert listed is not None
    names = list(listed) if isinstance(listed, dict) else None
    rows = list(listed.values()) if isinstance(listed, dict) else listed
    try:
        digest = digest_of(names, np.array(rows, dtype=np.float64))
    except ValueError:
        digest = ""
    if digest != event.digest:
        raise InputError("candidates", "their digest is another one")
    if event.action >= len(rows) or rows[event.action] != event.features:
        raise InputError("candidates", "the action's features are not among them")
    if names is not None and event.named != names[event.action]:
        raise InputError("named", "is not what the action was called")
    baseline = book.played(event).baseline
    if event.base is not None and not (0 <= baseline < len(rows) and rows[baseline] == event.base):
        raise InputError("base", "the baseline's features are not among the candidates")


def _check_numbers(event: Decided) -> None:
    for field in ("margin", "upper", "leader_margin", "leader_upper", "leader_lower"):
        value = getattr(event, field)
        if value is not None and not math.isfinite(value):
            raise InputError(field, "is not finite")
    for field in ("lower", "floor", "mean", "promise"):
        if not math.isfinite(getattr(event, field)):
            raise InputError(field, "is not finite")
    if not 0.0 <= event.floor <= event.mean <= 1.0:
        raise InputError("floor", "floor and mean are no interval in [0, 1]")
    if event.promise < 0.0 or event.safe < 0:
        raise InputError("promise", "the promise or the number of safe actions is negative")


def _check_mean(book: Book, event: Decided) -> None:
    """Check that the baseline's mean is what was agreed on, or what the round told with leave."""
    settings = book.policy._settings
    if book.version == 1 or not book.conservative or settings.known.fixed:
        return
    agreed = book.definition["parameters"]
    told = {"baseline_mean": event.told, "baseline": event.baseline}
    for field in event.overrides or ():
        if field not in agreed or told.get(field) is None:
            raise InputError("overrides", f"{field[:50]!r} was not agreed on, or not told")
        if book.may_override is not None and field not in book.may_override:
            raise InputError("overrides", f"{field} may not be told otherwise")
    if event.told is not None and "baseline_mean" in agreed:
        same = (list(event.told) if isinstance(event.told, tuple) else event.told) == agreed[
            "baseline_mean"
        ]
        if not same and "baseline_mean" not in (event.overrides or ()):
            raise InputError("told", "another mean was agreed on")
    other = event.baseline is not None and event.baseline != book.baseline
    other = other and book.baseline is not None
    if (event.floor, event.mean) != mean_of_round(settings, event.told, other):
        raise InputError("mean", "is neither what was agreed on nor what the round told")


def _check_actions(book: Book, event: Decided) -> None:
    actions = 2 if book.guard else book.policy._settings.actions
    most = _MOST if actions is None else actions
    if not 0 <= event.action < most:
        raise InputError("action", f"{event.action} is unknown")
    if event.leader is not None and not 0 <= event.leader < most:
        raise InputError("leader", f"{event.leader} is unknown")
    gone = book.policy._state.model.gone
    if not book.varies and not book.guard and gone[event.action]:
        raise InputError("action", f"{event.action} was retired")
    baseline = book.played(event).baseline
    if book.guard:
        if (event.action == 0) != (event.event == "baseline"):
            raise InputError("event", f"is {event.event} for action {event.action}")
        told = book.baseline if event.baseline is None else event.baseline
        if (event.named == told) != (event.event == "baseline"):
            raise InputError("named", f"is not what {event.event} was called")
        return
    if baseline >= most:
        raise InputError("baseline", f"{baseline} is unknown")
    if book.conservative and baseline < 0:
        raise InputError("baseline", "is not known for this round")
    if (event.action == baseline) != (event.event == "baseline"):
        raise InputError("event", f"is {event.event} for action {event.action}")
    if book.conservative and event.event != "baseline":
        if (event.action == event.leader) != (event.event == "optimistic"):
            raise InputError("event", f"is {event.event} where action {event.leader} leads")
        if event.safe < 1:
            raise InputError("safe", "no action was safe, yet another than the baseline was played")


def _check_features(book: Book, event: Decided) -> None:
    settings = book.policy._settings
    held = event.event == "baseline" and book.conservative
    wanted = {"features": book.varies, "base": book.needs_base and not held}
    for field, needed in wanted.items():
        row: list[float] | None = getattr(event, field)
        if row is None:
            if needed:
                raise InputError(field, "are missing")
            continue
        if not book.varies or len(row) != settings.dim:
            raise InputError(field, f"{len(row)} numbers are not what this policy has")
        length = math.hypot(*row, 1.0 if book.units.shifted else 0.0)
        if not length <= settings.feature_bound * (1.0 + 1e-9):
            raise InputError(field, "are not finite, or longer than was agreed")
