"""A book: one policy's state, as the fold of its log.

`Book.open` takes the first event, `Book.apply` every later one. Actions are taken from the log and
never decided again. What a live server does to a book (`handrail.service.rounds`) leaves it in the
state that applying the resulting event would.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from handrail.conservative.baseline import FROM_REWARDS
from handrail.errors import InputError
from handrail.policies.identity import Identity, decision_id
from handrail.policies.outcomes import Because
from handrail.policies.played import Played
from handrail.policies.policy import Policy
from handrail.records import Floats
from handrail.service.chain import START
from handrail.service.definition import make, notes_of
from handrail.service.events import (
    UPGRADE,
    Archived,
    ArmAdded,
    ArmRetired,
    Checkpoint,
    Closed,
    Created,
    Decided,
    Event,
    FellBack,
    ModeChanged,
    Rewarded,
    SaidPlayed,
    Upgraded,
    reserved,
)
from handrail.service.messages import Action

__all__ = ["Book", "refuse_unknown"]

_EVENTS: Final = ("optimistic", "safe", "baseline")


class Book:
    """One policy: what it was created with, what happened, where it stands.

    Parameters
    ----------
    created : Created
        The first event of its log.
    policy : Policy, optional
        The policy in a later state, from a snapshot, to which `resume` brings the book; by
        default it is made from the definition.

    Attributes
    ----------
    policy : Policy
        The policy.
    definition : dict
        What it was created with.
    names : list of str or None
        What fixed arms are called.
    notes : list of str
        What voids the promise, or what it rests on.
    mode : str
        "live", "shadow" or "paused".
    archived : bool
        Whether it decides no more.
    at : int
        When the latest event happened, in microseconds since 1970.
    decisions : dict
        How many were optimistic, safe and the baseline.
    margin : float or None
        The margin of the latest round.
    seq, head : int, bytes
        The latest event and its hash.
    saved : int
        The event after which the latest snapshot was taken.
    version : int
        Of the log, so far: a log of version 1 goes on as version 2 after an `Upgraded`.
    may_override : frozenset or None
        What of the agreed a round may tell otherwise; None for policies of version 1, which may
        all of it.
    """

    def __init__(self, created: Created, policy: Policy | None = None) -> None:
        refuse_unknown(created)
        definition = created.definition
        self.version = created.version or 1
        self.names: list[str] | None = None
        self.notes: list[str] = []
        if policy is None:
            policy, self.names, self.notes = make(definition, self.version, created.parts)
        policy.take_name(created.policy)
        self.policy = policy
        self.definition = definition
        told = definition.get("may_override")
        self.may_override = None if told is None else frozenset(told)
        self.identity = created.policy
        self.mode: str = definition["mode"]
        self.archived = False
        self.created_at = created.at
        self.at = created.at
        self.decisions = dict.fromkeys(_EVENTS, 0)
        self.margin: float | None = None
        self.seq = 0
        self.head = START
        self.saved = 0
        settings = self.policy._settings
        self.algorithm = self.policy.algorithm
        self.units = settings.units
        self.conservative = self.algorithm.conservative
        self.guard = self.algorithm.estimator == "none"
        self.learns_baseline = settings.lessons == FROM_REWARDS
        self.needs_word = settings.needs_word
        self.varies = settings.actions is None and not self.guard
        self.needs_base = self.varies and self.learns_baseline
        self.baseline: Action | None = definition["parameters"].get("baseline")
        if not self.varies and not self.guard:
            self.baseline = settings.baseline

    # -- names -----------------------------------------------------------------------------

    def name_of(self, action: int) -> Action:
        """Return what a fixed arm is called."""
        return action if self.names is None else self.names[action]

    def awaits_reward(self, event: str) -> bool:
        """Say whether a decision's reward will be used."""
        return event != "baseline" or not self.conservative or self.learns_baseline

    def decision_id(self, decided: Decided) -> str:
        """Return the id that a decision was answered with."""
        awaits = self.awaits_reward(decided.event)
        return decision_id(Identity(self.identity, decided.token, decided.round, awaits))

    # -- the fold --------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Take in an event that happened; InputError where it cannot have.

        Parameters
        ----------
        event : Event
            The event that follows the latest one.
        """
        refuse_unknown(event)
        match event:
            case Decided():
                self.policy.replay(self.played(event))
            case Rewarded():
                self.policy.learn(self._waiting(event.round), event.reward)
            case SaidPlayed():
                self.policy.played(self._waiting(event.round))
            case FellBack():
                because: Because = "choice" if event.because == "choice" else "no-answer"
                self.policy.fall_back(self._waiting(event.round), because)
            case Closed():
                self.policy.close(self._waiting(event.round))
            case ArmAdded():
                self.policy.add_arm(event.features)
            case ArmRetired():
                self.policy.retire_arm(event.arm)
            case Checkpoint():
                self.policy.checkpoint()
            case Created():
                raise InputError("event", "a log has one beginning only")
        self.count(event)

    def count(self, event: Event) -> None:
        """Count an event that the policy knows of already."""
        if event.at < self.at:
            raise InputError("event", "its time lies before that of the event before it")
        self.at = event.at
        match event:
            case Decided():
                self.decisions[event.event] += 1
                self.margin = event.margin
            case ModeChanged():
                self.mode = event.mode
            case Upgraded():
                self.version = event.version
            case Archived():
                self.archived = True
            case ArmAdded():
                if self.names is not None and event.name is not None:
                    self.names.append(event.name)

    def played(self, event: Decided) -> Played:
        """Return the round that an event describes, in inner units."""
        held = event.event == "baseline" and self.conservative
        features = self._inward(event.features)
        base = features if held else self._inward(event.base)
        # Of a guard the baseline is action 0; of rounds with names the event has its index.
        baseline = self.baseline if event.baseline is None else event.baseline
        if not isinstance(baseline, int):
            baseline = 0 if self.guard else -1
        return Played(
            event.round,
            event.token,
            event.action,
            held,
            baseline,
            event.floor,
            event.mean,
            event.promise,
            features,
            base,
        )

    def _inward(self, row: list[float] | None) -> Floats | None:
        """Return features as the policy keeps them."""
        if row is None:
            return None
        return np.array([*row, 1.0] if self.units.shifted else row)

    def _waiting(self, number: int) -> str:
        """Return the id of a round that waits for its reward."""
        found = self.policy.waiting_id(number)
        if found is None:
            raise InputError("round", f"{number} does not wait for a reward")
        return found

    # -- snapshots -------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what a snapshot holds beside the policy."""
        return {
            "mode": self.mode,
            "archived": self.archived,
            "at": self.at,
            "decisions": self.decisions,
            "margin": self.margin,
            "names": self.names,
            "notes": self.notes,
            "version": self.version,
        }

    def resume(self, state: dict[str, Any], seq: int, head: bytes) -> None:
        """Take on what `state` returned after this event."""
        self.mode = state["mode"]
        self.archived = state["archived"]
        self.at = state["at"]
        self.decisions = dict(state["decisions"])
        self.margin = state["margin"]
        self.names = state["names"]
        # A snapshot may be older than what there is to note.
        self.notes = notes_of(self.policy, self.definition)
        self.version = state.get("version", 1)
        self.seq = self.saved = seq
        self.head = head


def refuse_unknown(event: Event) -> None:
    """Refuse what only a later release gives a meaning: a state without it would be another one."""
    field = reserved(event)
    if field is not None:
        raise InputError(field, "is not known to this handrail", UPGRADE)
