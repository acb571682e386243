"""Events: what is written to a policy's log, in bytes for the log and in JSON for people.

The first event creates the policy; its state is the fold of all that follow. An event is never
changed or removed. Stored, an event is a MessagePack array that begins with its kind; fields are
only ever added at the end, with a default, so that old logs stay readable. `to_json` and
`from_json` lose nothing: the same event is the same bytes again.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from handrail.service.messages import Action

__all__ = [
    "Archived",
    "ArmAdded",
    "ArmRetired",
    "Checkpoint",
    "Closed",
    "Created",
    "Decided",
    "Event",
    "FellBack",
    "ModeChanged",
    "Rewarded",
    "decode",
    "encode",
    "from_json",
    "kind",
    "round_of",
    "to_json",
]


class _Event(msgspec.Struct, array_like=True, gc=False, kw_only=True):
    """Something that happened; `at` is in microseconds since 1970, never less than before."""

    at: int


class Created(_Event, tag="created", kw_only=True):
    """The policy was made; `policy` is the name in its decisions' ids."""

    policy: str
    definition: dict[str, Any]
    handrail: str


class Decided(_Event, tag="decided", kw_only=True):
    """A round was decided.

    `margin`, `upper`, `lower` and the leader's are in the user's units, as they were answered; a
    margin is None where nothing is promised, an upper bound where there is none yet. `floor`,
    `mean` and `promise` are the ledger's numbers, in units where means lie in [0, 1]: with them
    the fold gives the same bits. `features` are the chosen action's, `base` the baseline's where
    they are needed, as the user gave them. `named` is the action's name where the round named
    it, `baseline` the round's baseline where the round told it.
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


class Rewarded(_Event, tag="rewarded", kw_only=True):
    """A reward came, in the user's units."""

    round: int
    reward: float


class FellBack(_Event, tag="fell-back", kw_only=True):
    """The caller played the baseline after all."""

    round: int


class Closed(_Event, tag="closed", kw_only=True):
    """Nobody waits for a round's reward any longer: too many rounds wait."""

    round: int


class ModeChanged(_Event, tag="mode", kw_only=True):
    """The mode was changed."""

    mode: str


class ArmAdded(_Event, tag="arm-added", kw_only=True):
    """An arm came."""

    name: str | None = None
    features: list[float] | None = None


class ArmRetired(_Event, tag="arm-retired", kw_only=True):
    """An arm went."""

    arm: int


class Checkpoint(_Event, tag="checkpoint", kw_only=True):
    """The round decided last was a checkpoint."""


class Archived(_Event, tag="archived", kw_only=True):
    """The policy was archived: it decides no more."""


Event: TypeAlias = (
    Created
    | Decided
    | Rewarded
    | FellBack
    | Closed
    | ModeChanged
    | ArmAdded
    | ArmRetired
    | Checkpoint
    | Archived
)

_KINDS: Final[dict[str, type[Any]]] = {
    str(each.__struct_config__.tag): each
    for each in (
        *(Created, Decided, Rewarded, FellBack, Closed),
        *(ModeChanged, ArmAdded, ArmRetired, Checkpoint, Archived),
    )
}
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Event)


def encode(event: Event) -> bytes:
    """Return the bytes of an event; the same event is the same bytes."""
    return _ENCODER.encode(event)


def decode(body: bytes) -> Event:
    """Return the event that has these bytes; msgspec's errors where none has."""
    event: Event = _DECODER.decode(body)
    return event


def kind(event: Event) -> str:
    """Return the kind of an event."""
    return str(event.__struct_config__.tag)


def round_of(event: Event) -> int | None:
    """Return the round that an event is about, if it is about one."""
    return getattr(event, "round", None)


def to_json(event: Event) -> dict[str, Any]:
    """Return an event as an object that JSON can hold."""
    return {"kind": kind(event), **msgspec.structs.asdict(event)}


def from_json(document: dict[str, Any]) -> Event:
    """Return the event that `to_json` made this of; `msgspec.ValidationError` if none did."""
    fields = dict(document)
    made = _KINDS.get(fields.pop("kind", None))
    if made is None:
        raise msgspec.ValidationError(f"no event is of the kind {document.get('kind')!r}")
    names = [each.name for each in msgspec.structs.fields(made)]
    if sorted(fields) != sorted(names):
        raise msgspec.ValidationError(f"{document['kind']} has other fields")
    tag = made.__struct_config__.tag
    event: Event = msgspec.convert([tag, *(fields[name] for name in names)], made)
    return event
