"""Events: what is written to a policy's log, in bytes for the log and in JSON for people.

The first event creates the policy; its state is the fold of all that follow. An event is never
changed or removed. Stored, an event is a MessagePack array that begins with its kind. Fields are
only ever added at the end, and null stands for "not said": nulls at the end that the first version
did not have are left out, so that an event of an old log is the same bytes in every release.
`to_json` and `from_json` lose nothing either.

Version 2 of the log says who caused an event (`by`), what the algorithm's name meant (`parts`),
what a round told and overrode, and what was played. A log of version 1 goes on with `Upgraded`.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, get_args

import msgspec

from handrail.policies.parameters import EDITION
from handrail.service.messages import Action, CreateRequest, Mean

__all__ = [
    "FREE_PARAMETERS",
    "UPGRADE",
    "Archived",
    "ArmAdded",
    "ArmRetired",
    "Checkpoint",
    "Closed",
    "Created",
    "Decided",
    "Event",
    "FellBack",
    "LaterKind",
    "ModeChanged",
    "Rewarded",
    "SaidPlayed",
    "Upgraded",
    "decode",
    "encode",
    "from_json",
    "kind",
    "later_fields",
    "name_in",
    "read",
    "reserved",
    "round_of",
    "to_json",
]


class _Event(msgspec.Struct, array_like=True, gc=False, kw_only=True):
    """Something that happened; `at` is in microseconds since 1970, never less than before."""

    at: int


class Created(_Event, tag="created", kw_only=True):
    """The policy was made; `policy` is the name in its decisions' ids.

    `definition` is what was asked for, `parts` what that meant when it was asked: the algorithm's
    parts, all parameters, and the edition of the rules. `seed` is the policy's own, for selections
    that draw.
    """

    policy: str
    definition: dict[str, Any]
    handrail: str
    version: int | None = None
    by: str | None = None
    parts: dict[str, Any] | None = None
    seed: int | None = None
    credit: float | None = None
    metrics: dict[str, Any] | None = None


class Upgraded(_Event, tag="upgraded", kw_only=True):
    """The log goes on in another version."""

    version: int
    handrail: str
    by: str | None = None


class Decided(_Event, tag="decided", kw_only=True):
    """A round was decided.

    `margin`, `upper`, `lower` and the leader's are in the user's units, as they were answered; a
    margin is None where nothing is promised, an upper bound where there is none yet. `floor`,
    `mean` and `promise` are the ledger's numbers, in units where means lie in [0, 1]: with them
    the fold gives the same bits. `features` are the chosen action's, `base` the baseline's where
    they are needed, as the user gave them. `named` is the action's name where the round named
    it, `baseline` the round's baseline where the round told it. `token` is the name of the copy
    that decided and, since version 2, the decision's random tag. `told` is the baseline's mean as
    the round told it, `overrides` what of the agreed it stood in for, `proposal` what the caller's
    own policy proposed.
    """

    round: int
    token: str
    action: int
    event: str
    margin: float | None
    upper: float | None
    lower: float
    floor: float
    mean: float
    promise: float
    safe: int
    leader: int | None
    leader_margin: float | None
    leader_upper: float | None
    leader_lower: float | None
    named: Action | None = None
    leader_named: Action | None = None
    baseline: Action | None = None
    features: list[float] | None = None
    base: list[float] | None = None
    digest: str | None = None
    candidates: dict[str, list[float]] | list[list[float]] | None = None
    key: str | None = None
    request: str | None = None
    mode: str = "live"
    would: tuple[Action, str, float | None] | None = None
    by: str | None = None
    told: Mean | None = None
    overrides: list[str] | None = None
    proposal: Action | None = None
    allowed: list[Action] | None = None
    propensity: float | None = None
    metrics: dict[str, float] | None = None


class Rewarded(_Event, tag="rewarded", kw_only=True):
    """A reward came, in the user's units."""

    round: int
    reward: float
    by: str | None = None
    shown: Action | None = None
    metrics: dict[str, float] | None = None


class SaidPlayed(_Event, tag="played", kw_only=True):
    """The caller said that the round's action was played."""

    round: int
    by: str | None = None


class FellBack(_Event, tag="fell-back", kw_only=True):
    """The caller played the baseline after all; `because` of no answer, where it says nothing."""

    round: int
    by: str | None = None
    because: str | None = None


class Closed(_Event, tag="closed", kw_only=True):
    """Nobody waits for a round's reward any longer: too many rounds wait."""

    round: int
    by: str | None = None


class ModeChanged(_Event, tag="mode", kw_only=True):
    """The mode was changed."""

    mode: str
    by: str | None = None


class ArmAdded(_Event, tag="arm-added", kw_only=True):
    """An arm came."""

    name: str | None = None
    features: list[float] | None = None
    by: str | None = None


class ArmRetired(_Event, tag="arm-retired", kw_only=True):
    """An arm went."""

    arm: int
    by: str | None = None


class Checkpoint(_Event, tag="checkpoint", kw_only=True):
    """The round decided last was a checkpoint."""

    by: str | None = None


class Archived(_Event, tag="archived", kw_only=True):
    """The policy was archived: it decides no more."""

    by: str | None = None


Event: TypeAlias = (
    Created
    | Upgraded
    | Decided
    | Rewarded
    | SaidPlayed
    | FellBack
    | Closed
    | ModeChanged
    | ArmAdded
    | ArmRetired
    | Checkpoint
    | Archived
)

_KINDS: Final[dict[str, type[Any]]] = {
    str(each.__struct_config__.tag): each for each in get_args(Event)
}
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Event)
_RAW: Final = msgspec.msgpack.Decoder(list[msgspec.Raw])
_RESERVED: Final = ("credit", "metrics", "allowed", "propensity", "shown")
"""Fields that have their place in version 2, and that this release does not write."""
_FREE_KINDS: Final = ("taught", "watch")
"""Kinds of events that only a later release gives a meaning."""
FREE_PARAMETERS: Final = ("horizon", "unit")
"""Parameters of policies likewise; a later release may have others too."""
_PARAMETERS: Final = frozenset(CreateRequest.__struct_fields__)
UPGRADE: Final = "upgrade handrail"
"""What to do about a log that is right, and of a later release."""


class LaterKind(msgspec.ValidationError):
    """An event is of a kind that only a later release knows: nothing is wrong with it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the kind {name!r} is not known to this handrail")


def _later(made: type[Any]) -> tuple[str, ...]:
    """Return the fields that the first version did not have, the last one first.

    In every event of that version they begin with `version` or `by`; younger kinds have no others.
    """
    names = [each.name for each in msgspec.structs.fields(made)]
    first = names.index("version" if made is Created else "by")
    return tuple(reversed(names[first:]))


_LATER: Final = {made: (_later(made), len(made.__struct_fields__) + 1) for made in get_args(Event)}


def encode(event: Event) -> bytes:
    """Return the bytes of an event; the same event is the same bytes."""
    later, size = _LATER[type(event)]
    body = _ENCODER.encode(event)
    unsaid = 0
    for name in later:
        if getattr(event, name) is not None:
            break
        unsaid += 1
    if unsaid == 0:
        return body
    # Each null is one byte. MessagePack writes a length of up to 15 into the array's first byte,
    # a larger one into the two that follow it.
    left = size - unsaid
    head = bytes((0x90 | left,)) if left < 16 else b"\xdc" + left.to_bytes(2, "big")
    return head + body[1 if size < 16 else 3 : -unsaid]


def decode(body: bytes) -> Event:
    """Return the event that has these bytes; msgspec's errors where none has."""
    try:
        event: Event = _DECODER.decode(body)
    except msgspec.ValidationError:
        name = _free_kind(body)
        if name is not None:
            raise LaterKind(name) from None
        raise
    except UnicodeDecodeError as error:  # of which msgspec makes none of its own
        raise msgspec.DecodeError(str(error)) from None
    return event


def _free_kind(body: bytes) -> str | None:
    """Return the kind of these bytes, if it is one that is kept free; the rest is not looked at."""
    try:
        fields = _RAW.decode(body)
    except msgspec.MsgspecError:
        return None
    first = bytes(fields[0]) if fields else b""
    return next((name for name in _FREE_KINDS if _ENCODER.encode(name) == first), None)


def name_in(body: bytes) -> str | None:
    """Return the name of the policy that an event creates; None if it creates none."""
    try:
        event = decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return str(event.definition.get("name")) if isinstance(event, Created) else None


def read(body: bytes) -> Event:
    """Return the event of bytes from elsewhere, which have to be those that `encode` gives it.

    `decode` lets pass what says the same in other bytes: whole numbers for fractions, fields that
    are not said at the end, or more than there are. Such a log could not be written as JSON.
    """
    event = decode(body)
    if encode(event) != body:
        raise msgspec.ValidationError("its bytes are not those of the event that they hold")
    return event


def kind(event: Event) -> str:
    """Return the kind of an event."""
    return str(event.__struct_config__.tag)


def round_of(event: Event) -> int | None:
    """Return the round that an event is about, if it is about one."""
    return getattr(event, "round", None)


def later_fields(event: Event) -> list[str]:
    """Return the fields that an event says and that version 1 did not have."""
    return [name for name in _LATER[type(event)][0] if getattr(event, name) is not None]


def reserved(event: Event) -> str | None:
    """Return what is said although this release gives it no meaning, if there is such a field."""
    field = next((name for name in _RESERVED if getattr(event, name, None) is not None), None)
    # A log of version 1 is of a release that knew no more than this one.
    if field is None and isinstance(event, Created) and event.version is not None:
        field = _later_parameter(event)
    return field


def _later_parameter(created: Created) -> str | None:
    """Return a parameter of a policy, or the edition of its rules, that is of a later release."""
    parts = created.parts or {}
    said = [created.definition, created.definition.get("parameters"), parts.get("parameters")]
    names = {name for each in said if isinstance(each, dict) for name in each}
    unknown = sorted(str(name) for name in names - _PARAMETERS - {"parameters"})
    if unknown:
        return unknown[0][:50]
    edition = parts.get("edition")
    return "edition" if isinstance(edition, int) and edition > EDITION else None


def to_json(event: Event) -> dict[str, Any]:
    """Return an event as an object that JSON can hold: the values are those of its bytes."""
    fields = msgspec.structs.asdict(event)
    for name in _LATER[type(event)][0]:
        if fields[name] is not None:
            break
        del fields[name]
    return {"kind": kind(event), **fields}


def from_json(document: dict[str, Any]) -> Event:
    """Return the event that `to_json` made this of; `msgspec.ValidationError` if none did."""
    fields = dict(document)
    name = fields.pop("kind", None)
    made = _KINDS.get(name)
    if name in _FREE_KINDS:
        raise LaterKind(name)
    if made is None:
        raise msgspec.ValidationError(f"no event is of the kind {document.get('kind')!r}")
    names, later = made.__struct_fields__, set(_LATER[made][0])
    unsaid = set(names) - set(fields)
    if set(fields) - set(names) or unsaid - later:
        raise msgspec.ValidationError(f"{document['kind']} has other fields")
    tag = made.__struct_config__.tag
    event: Event = msgspec.convert([tag, *(fields.get(name) for name in names)], made)
    return event
