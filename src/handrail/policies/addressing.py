"""Which decision a reward is for."""

from __future__ import annotations

from handrail.errors import InputError
from handrail.policies.decision import Decision
from handrail.policies.identity import Identity, parse_id

__all__ = ["identify", "settled"]


def identify(decision: Decision | Identity | str, policy: str) -> Identity:
    """Return what a decision, or its id, says; refuse one that is not this policy's."""
    if isinstance(decision, Decision):
        identity = decision.identity
        if identity is None:
            raise InputError(
                "decision",
                "comes from explain() and was never played",
                "pass what decide() returned",
            )
    elif isinstance(decision, str):
        identity = parse_id(decision)
    elif isinstance(decision, Identity):
        identity = decision
    else:
        raise InputError(
            "decision", f"{decision!r} is neither a Decision nor an id", "pass decision.id"
        )
    if identity.policy != policy:
        raise InputError(
            "decision", "was made by another policy", "give it to the policy that made it"
        )
    return identity


def settled(identity: Identity) -> InputError:
    """Return the error for a decision of which nothing more can be said."""
    return InputError(
        "decision",
        f"round {identity.round} is settled already",
        "give one reward per decision, and none after close() or fall_back()",
    )
