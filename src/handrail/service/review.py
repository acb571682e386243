"""All logs of a source, audited; what was noted down before, looked for."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.errors import InputError, nearest
from handrail.service.audit import Audit
from handrail.service.sources import Source
from handrail.service.statement import Statement, make_statement

__all__ = ["Review", "Reviewed", "check_heads", "review"]

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
    """

    def __init__(
        self, source: Source, policy: str | None = None, heads: Sequence[str] = ()
    ) -> None:
        self._source = source
        self._heads = check_heads(heads)
        names = source.policies()
        if policy is not None and policy not in names:
            raise InputError("policy", f"there is no {policy!r}", nearest(policy, names))
        self._names = names if policy is None else [policy]
        self._met: set[bytes] = set()
        self.events = 0
        self.seconds = 0.0
        self.wrong = 0

    def __iter__(self) -> Iterator[Reviewed]:
        """Audit one log after the other."""
        for name in self._names:
            started = time.perf_counter()
            audit = Audit(name, frozenset(self._heads), self._source.snapshots(name))
            head = self._source.head(name)
            audit.run(self._source.rows(name, None if head is None else head[0]), head)
            self.seconds += time.perf_counter() - started
            self.events += audit.events
            self.wrong += audit.wrong
            self._met |= audit.met.keys()
            yield Reviewed(audit, make_statement(audit))

    @property
    def missing(self) -> list[str]:
        """The noted hashes that no event has: ask after all logs were looked at."""
        return [head.hex() for head in self._heads if head not in self._met]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong: likewise."""
        return self.wrong == 0 and not self.missing


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
