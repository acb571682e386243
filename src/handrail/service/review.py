"""All logs of a source, audited; what was noted down before, looked for."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.errors import InputError, nearest
from handrail.service.audit import Audit
from handrail.service.chain import link
from handrail.service.heads import Noted, by_policy
from handrail.service.sources import Source
from handrail.service.statement import Statement, make_statement
from handrail.service.store.protocol import HeadRow

__all__ = ["Review", "Reviewed", "check_heads", "no_event", "review"]

_HASH: Final = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True)
class Reviewed:
    """One log: its audit and its statement."""

    audit: Audit
    statement: Statement | None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.audit.wrong == 0

    def data(self) -> dict[str, Any]:
        """Return it as data that JSON can hold."""
        audit = self.audit
        return {
            "policy": audit.policy,
            "holds": self.holds,
            "events": audit.events,
            "head": audit.head.hex() if audit.events else None,
            "noted": [
                {"head": head.hex(), "event": seq, "events_after": audit.events - seq}
                for head, seq in audit.met.items()
            ],
            "compared_heads": audit.compared,
            "problems": [{"event": each.seq, "reason": each.reason} for each in audit.findings],
            "more_problems": audit.wrong - len(audit.findings),
            "statement": None if self.statement is None else self.statement.data(),
        }


class Review:
    """The audit of all logs of a source, or of one.

    Parameters
    ----------
    source : Source
        The logs.
    policy : str, optional
        The only one to look at.
    heads : sequence of str
        Hashes that were noted down: each has to be that of an event.
    noted : sequence of HeadRow
        Events that were noted down with their hashes; those in the source itself are added.
    """

    def __init__(
        self,
        source: Source,
        policy: str | None = None,
        heads: Sequence[str] = (),
        noted: Sequence[HeadRow] = (),
    ) -> None:
        self._source = source
        self._heads = check_heads(heads)
        self._noted: Noted = by_policy([*noted, *_own(source)])
        names = source.policies()
        if policy is not None and policy not in names:
            raise InputError("policy", f"there is no {policy!r}", nearest(policy, names))
        self._all_names = names
        self._names = names if policy is None else [policy]
        whole = policy is None and not source.single
        self.gone = sorted({*self._noted} - {*names}) if whole else []
        """Policies that were noted and are not there."""
        self.ownerless = source.ownerless() if whole else []
        """The numbers of policies that have events and are not there."""
        self._met: set[bytes] = set()
        self.events = 0
        self.seconds = 0.0
        self.wrong = 0

    def __iter__(self) -> Iterator[Reviewed]:
        """Audit one log after the other."""
        for name in self._names:
            started = time.perf_counter()
            audit = Audit(
                name,
                frozenset(self._heads),
                self._source.snapshots(name),
                noted=self._noted.get(name, {}),
            )
            head = self._source.head(name)
            audit.run(self._source.rows(name, None if head is None else head[0]), head)
            if not self.several:  # else a hash may be of any of them
                for noted in self._heads:
                    if noted not in audit.met:
                        audit.found(None, no_event(noted.hex()))
            self._name_fork(audit)
            self.seconds += time.perf_counter() - started
            self.events += audit.events
            self.wrong += audit.wrong
            self._met |= audit.met.keys()
            yield Reviewed(audit, make_statement(audit))

    def _name_fork(self, audit: Audit) -> None:
        """Say which event it was that an event of another log followed, where that is known."""
        row = audit.misfit
        if row is None:
            return
        before = row.seq - 1
        if any(link(hash, row.body) == row.hash for hash in audit.noted.get(before, ())):
            audit.found(row.seq, f"it follows event {before} as it was noted: a fork")
        for name in self._all_names:
            hash = None if name == audit.policy else self._source.hash_at(name, before)
            if hash is not None and link(hash, row.body) == row.hash:
                audit.found(row.seq, f"it follows event {before} of {name!r}, whose event it is")

    @property
    def several(self) -> bool:
        """Whether more than one log is looked at."""
        return len(self._names) > 1

    @property
    def missing(self) -> list[str]:
        """The noted hashes that no event has: ask after all logs were looked at."""
        return [head.hex() for head in self._heads if head not in self._met]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong: likewise."""
        return not (self.wrong or self.missing or self.gone or self.ownerless)


def no_event(head: str) -> str:
    """Say of a noted hash that it was not met."""
    return f"no event has the noted head {head}: the log was cut off or replaced"


def _own(source: Source) -> list[HeadRow]:
    """Return the heads that a backup noted: of a log in a file they would say nothing new."""
    return [] if source.single else source.noted()


def check_heads(heads: Sequence[str]) -> list[bytes]:
    """Return hashes as bytes; InputError for what is none."""
    for head in heads:
        if _HASH.fullmatch(head) is None:
            raise InputError("--head", f"{head[:80]!r} is no hash", "pass 64 hexadecimal digits")
    return [bytes.fromhex(head) for head in heads]


def review(
    source: Source, policy: str | None = None, heads: Sequence[str] = ()
) -> tuple[Review, list[Reviewed]]:
    """Audit all logs of a source at once.

    Parameters
    ----------
    source : Source
        The logs.
    policy : str, optional
        The only one to look at.
    heads : sequence of str
        Hashes that were noted down.

    Returns
    -------
    Review
        What was found in all.
    list of Reviewed
        What was found in each log.
    """
    found = Review(source, policy, heads)
    return found, list(found)
