"""Whether an event can have happened, as far as its form goes: before any rule trusts it.

Compiled rules check no index. What comes from a file, or from a database that somebody wrote to,
is checked here first.
"""

from __future__ import annotations

import math
import re
from typing import Final, get_args

import msgspec
import numpy as np

from handrail._version import __version__
from handrail.errors import InputError
from handrail.policies.catalogue import algorithm
from handrail.policies.identity import COPY_NAME
from handrail.policies.outcomes import Because
from handrail.policies.rounds import mean_of_round
from handrail.service.answers import action_of
from handrail.service.book import Book, refuse_unknown
from handrail.service.definition import LOG_VERSION, check_length, check_names, define, parts_of
from handrail.service.events import (
    UPGRADE,
    ArmAdded,
    ArmRetired,
    Closed,
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
from handrail.service.messages import Action, CreateRequest, Mode
from handrail.service.overrides import other_mean, told_otherwise
from handrail.service.rounds import digest_of

__all__ = ["check_created", "check_event"]

_MODES: Final = get_args(Mode)
_EVENTS: Final = ("optimistic", "safe", "baseline")
_MOST: Final = 10**7
"""More candidates than a round ever has."""
_DIGEST: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_REQUEST: Final = re.compile(r"[0-9a-f]{16}", re.ASCII)
_TAGGED: Final = 24
"""Digits of a copy's name with a decision's tag."""
_RELEASE: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,49}", re.ASCII)
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
    version = event.version or 1
    if not 1 <= version <= LOG_VERSION:
        raise InputError("version", f"{version} is not known to this handrail", UPGRADE)
    refuse_unknown(event)
    definition = dict(event.definition)
    parameters = definition.pop("parameters", None)
    if not isinstance(parameters, dict) or set(parameters) & set(definition):
        raise InputError("definition", "is not one that the service wrote")
    try:
        request = msgspec.convert({**definition, **parameters}, CreateRequest)
    except msgspec.ValidationError as error:
        raise InputError("definition", str(error)) from error
    if (event.parts is None) != (version == 1):
        raise InputError("parts", "are what version 2 of a log says first")
    again, made = define(request, limits, version, event.parts)
    if msgspec.msgpack.decode(msgspec.msgpack.encode(again)) != event.definition:
        raise InputError("definition", "is not one that the service wrote")
    if request.name != policy:
        raise InputError("definition", f"is that of {request.name!r}, not of {policy!r}")
    if version > 1:
        _check_release(event)
        for field, names in (("arms", request.arms), ("features", request.features)):
            if isinstance(names, list | dict):
                check_length(field, names, limits)
    if event.handrail == __version__ and version > 1:
        _, made = define(request, limits)
    if version > 1 and msgspec.to_builtins(parts_of(made.policy)) != event.parts:
        raise InputError("parts", "are not what the definition meant")
    return event


def _check_release(event: Created) -> None:
    """Check what can be of parts that another release resolved: a name keeps what it is about."""
    if _RELEASE.fullmatch(event.handrail) is None:
        raise InputError("handrail", f"{event.handrail[:50]!r} is no release")
    assert event.parts is not None
    parts, known = event.parts["algorithm"], algorithm(event.definition["algorithm"])
    for name in ("estimator", "schedule"):
        if parts[name] != known[name]:
            raise InputError("parts", f"{known.name} has another {name}")
    for past in ("none", "oracle"):  # a promise or none, on what is known or on the truth
        if (parts["past"] == past) != (known.past == past):
            raise InputError("parts", f"{known.name} has another past")


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
        case ModeChanged() if event.mode not in _MODES or event.mode == book.mode:
            raise InputError("mode", f"{event.mode[:50]!r} is none, or what it was before")
        case FellBack() if event.because not in (None, *get_args(Because)):
            raise InputError("because", f"{str(event.because)[:50]!r} is no reason")
        case ArmAdded():
            _check_arm(book, event, limits)
        case ArmRetired() if book.version > 1 and book.policy.is_retired(event.arm):
            raise InputError("arm", f"{event.arm} was retired before")
        case Closed():
            _check_closed(book, event)
        case Decided():
            _check_decided(book, event)
            if book.version > 1:
                _check_lengths(book, event, limits)


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
    if (book.names is None) != (event.name is None):
        raise InputError("name", "arms have names all together or not at all")
    if book.names is not None and event.name is not None:
        check_names([*book.names, event.name])
        if book.version > 1:  # names of before may be longer
            check_length("name", [event.name], limits)


def _check_closed(book: Book, event: Closed) -> None:
    """Check that it is the oldest round that was given up: too many waited, in that release."""
    if event.round != book.policy.oldest_waiting():
        raise InputError("round", f"{event.round} was not to be given up: another waits for longer")
    if book.version > 1 and "window" in book.policy.parameters:
        raise InputError("round", f"{event.round} is settled when its window ends")


def _check_lengths(book: Book, event: Decided, limits: Limits) -> None:
    """Check what a round is called by: its key, its tag, its actions."""
    if (event.key is None) != (event.request is None):
        raise InputError("key", "comes with the digest of the request, and only with it")
    if event.key is not None and not 0 < len(event.key) <= limits.key_length:
        raise InputError("key", f"has {len(event.key)} characters")
    if event.request is not None and _REQUEST.fullmatch(event.request) is None:
        raise InputError("request", "is no digest of a request")
    if len(event.token) < _TAGGED:
        raise InputError("token", "has no tag of its own")
    listed = event.candidates if isinstance(event.candidates, dict) else ()
    names = [event.named, event.baseline, event.proposal, *listed]
    # What was agreed may be longer, in policies that were made before its length was checked.
    check_length("named", [each for each in names if each != book.baseline], limits)


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
    _check_actions(book, event)
    _check_features(book, event)
    if event.candidates is not None:
        _check_candidates(book, event)
    _check_told(book, event)
    if not book.varies and not book.guard and event.named is not None:
        raise InputError("named", "is for rounds that name their actions")
    if book.version > 1:
        _check_answer(book, event)
        _check_leader(book, event)


def _check_answer(book: Book, event: Decided) -> None:
    """Check that what was answered is what was decided, in version 2, which says what was asked."""
    if book.guard:
        _check_proposal(book, event)
    elif event.proposal is not None:
        raise InputError("proposal", "is for guards")
    if book.varies:
        if event.digest is None or _DIGEST.fullmatch(event.digest) is None:
            raise InputError("digest", "is no digest of candidates")
        if (event.candidates is not None) != book.definition["keep_candidates"]:
            raise InputError("candidates", "are kept where that was agreed on, and nowhere else")
    elif event.digest is not None or event.candidates is not None:
        raise InputError("candidates", "are for rounds that bring their actions")
    if event.would is None and event.mode == "shadow":
        raise InputError("would", "is missing")
    if event.would is not None:
        _check_wish(book, event, *event.would)


def _check_proposal(book: Book, event: Decided) -> None:
    """Check what a guard answered: the proposal, or the baseline, and who led."""
    if event.proposal is None and event.mode != "paused":
        raise InputError("proposal", "is missing")
    told = book.baseline if event.baseline is None else event.baseline
    if event.event != "baseline" and event.named != event.proposal:
        raise InputError("named", "is not what was proposed")
    # A proposal that is the baseline does not lead, nor does one that nobody asked about.
    leads = event.mode == "live" and event.proposal != told
    if event.leader != leads or event.leader_named != (event.proposal if leads else told):
        raise InputError("leader", "is not what was proposed")


def _check_wish(book: Book, event: Decided, wish: Action, kind: str, margin: float | None) -> None:
    """Check what a shadow would have done: an action of the round, as safe as it is called."""
    if kind not in _EVENTS:
        raise InputError("would", f"{kind[:50]!r} is none of {', '.join(_EVENTS)}")
    if (wish == action_of(book, event)) != (kind == "baseline"):  # a shadow plays the baseline
        raise InputError("would", f"is {kind} for action {str(wish)[:50]!r}")
    if book.guard:
        known = wish in (event.named, event.proposal)
    elif isinstance(event.candidates, dict):
        known = wish in event.candidates
    elif event.named is not None:
        known = isinstance(wish, str)
    elif book.names is not None:
        known = wish in book.names
    else:
        known = _is_index(wish, _actions(book, event))
    if not known:
        raise InputError("would", f"there is no action {str(wish)[:50]!r}")
    if (margin is not None) != book.conservative:
        raise InputError("would", "has a margin where something is promised, and nowhere else")
    if margin is not None and not (math.isfinite(margin) and (margin >= 0.0 or kind == "baseline")):
        raise InputError("would", f"is {kind} with a margin of {margin}")


def _check_leader(book: Book, event: Decided) -> None:
    """Check what is said of the leader: the numbers are its own, and say what became of it."""
    most = _actions(book, event)
    if event.safe > (most - 1 if book.conservative else 0):
        raise InputError("safe", f"{event.safe} of {most} actions cannot be")
    said = (event.leader_margin, event.leader_upper, event.leader_lower, event.leader_named)
    if event.leader is None:
        if said != (None,) * 4 or event.event != "baseline":
            raise InputError("leader", "is missing")
        return
    own_names = book.guard or event.named is not None
    if event.leader >= most or (event.leader_named is not None) != own_names:
        raise InputError("leader", "is no action of this round, or not called like one")
    if not book.guard and (event.leader_named == event.named) != (
        event.named is None or event.leader == event.action
    ):
        raise InputError("leader_named", "is not what the leader was called")
    listed = event.candidates
    if isinstance(listed, dict) and event.leader_named != list(listed)[event.leader]:
        raise InputError("leader_named", "is not what the leader was called")
    if event.event == "optimistic" and event.leader != event.action:
        raise InputError("leader", "is not the action that was played for leading")
    safe = event.leader_margin is not None and event.leader_margin > 0.0
    if (
        safe
        and event.mode == "live"
        and event.event != "optimistic"
        and event.leader != event.action
    ):
        # Whoever leads and is safe is played, unless the baseline's mean exceeds its upper bound.
        upper = event.leader_upper
        if upper is None or upper > book.units.outward(event.mean) or event.event == "safe":
            raise InputError("leader_margin", "is positive, yet the leader was not played")


def _actions(book: Book, event: Decided) -> int:
    """Return how many actions a round had, or a number that is no smaller."""
    if event.candidates is not None:
        return len(event.candidates)
    actions = 2 if book.guard else book.policy._settings.actions
    return _MOST if actions is None else actions


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
    if event.baseline is not None and not _is_index(event.baseline, len(rows)):
        raise InputError("baseline", "is not among the candidates")
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


def _check_told(book: Book, event: Decided) -> None:
    """Check that baseline and mean are those agreed on, or that the round told others with leave.

    Rounds of version 1 do not say what they told: any of it may have been told.
    """
    settings = book.policy._settings
    if book.conservative and settings.known.fixed:
        other = event.baseline is not None and settings.baseline not in (None, event.baseline)
        if not book.varies and other:
            raise InputError("baseline", "is not the one whose mean was agreed to be unknown")
        if other_mean(book, event.told):
            raise InputError("told", "one mean was agreed on for all rounds")
    if book.version == 1:
        return
    agreed = book.definition["parameters"]
    overrides = event.overrides or []
    told = {"baseline_mean": event.told, "baseline": event.baseline}
    for field in overrides:
        if field not in agreed or told.get(field) is None or overrides.count(field) > 1:
            raise InputError("overrides", f"{field[:50]!r} was not agreed on, or not told once")
        if book.may_override is not None and field not in book.may_override:
            raise InputError("overrides", f"{field} may not be told otherwise")
    for field in told_otherwise(book, event):
        if field not in overrides:
            raise InputError(field, "was agreed on, and is told otherwise without a word of it")
    if not book.conservative or settings.known.fixed:
        return
    other = event.baseline is not None and settings.baseline not in (None, event.baseline)
    # A policy does not know by itself that it is another one where the agreed one is a name.
    other = other or (book.may_override is not None and "baseline" in overrides)
    if (event.floor, event.mean) != mean_of_round(settings, event.told, other):
        raise InputError("mean", "is neither what was agreed on nor what the round told")


def _check_actions(book: Book, event: Decided) -> None:
    most = _actions(book, event)
    if not 0 <= event.action < most:
        raise InputError("action", f"{event.action} is unknown")
    if event.leader is not None and not 0 <= event.leader < most:
        raise InputError("leader", f"{event.leader} is unknown")
    if not book.guard and not (event.baseline is None or _is_index(event.baseline, most)):
        raise InputError("baseline", f"{str(event.baseline)[:50]!r} is no action")
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


def _is_index(value: object, most: int) -> bool:
    return isinstance(value, int) and 0 <= value < most


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
