r"""The audit: a log from its first event on, every claim in it checked.

The chain says whether a byte was altered since the log was written. It says nothing of what was
written: so every event is also checked against the state that the events before it lead to. The
chosen action's margin and bounds are computed once more, from that state, by the rules as they are
written (`handrail.compiled.UNCOMPILED`), and what the ledger holds at the end is compared with sums
that share no code with it (`handrail.service.tally`).

Notes
-----
Numbers are compared up to 1e-9 of their size, or of 1 in units where means lie in [0, 1], and
margins up to 1e-13 for every round on top. The interpreter does the same operations in the same
order as compiled code; only log, exp and their like may differ, by an ulp or two (about 4e-16)
each, in a bound or in the radius of an ellipsoid. State does not rest on bounds, so this does not
grow with the rounds, but for log det V, a sum of logarithms. A margin is a difference of sums over
rounds: at round t each of them is at most t, and one rounding of it 1.1e-16 t; a dozen of those
are 1.3e-15 t. What is allowed is some hundred times that: no machine's last bits are taken for a
forgery, and no forgery below that size could matter to anybody.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from handrail._version import __version__
from handrail.conservative.schedule import awaited_checkpoint
from handrail.errors import InputError
from handrail.service.book import Book
from handrail.service.chain import START, link
from handrail.service.events import (
    UPGRADE,
    Checkpoint,
    Decided,
    Event,
    LaterKind,
    kind,
    read,
    round_of,
)
from handrail.service.limits import Limits
from handrail.service.overrides import overridden
from handrail.service.plausible import check_created, check_event
from handrail.service.snapshots import is_damaged
from handrail.service.states import same_state
from handrail.service.store.protocol import Row, SnapshotRow
from handrail.service.tally import Tally

__all__ = ["RELATIVE", "Audit", "Finding", "close_to"]

RELATIVE: Final = 1e-9
PER_ROUND: Final = 1e-13
_MOST: Final = 20
"""Findings that are told apart; the others are counted."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes
    ----------
    seq : int or None
        The event it was found at; None for the log as a whole.
    reason : str
        What it is.
    """

    seq: int | None
    reason: str


def close_to(one: float | None, other: float | None, size: float, more: float = 0.0) -> bool:
    """Say whether two numbers are the same up to rounding, numbers below `size` taken as `size`."""
    if one is None or other is None:
        return one is other
    if one == other:
        return True
    return abs(one - other) <= RELATIVE * max(size, abs(one), abs(other)) + more


@dataclass
class Audit:
    """The audit of one log: `take` its events, then `finish`.

    Parameters
    ----------
    policy : str
        The policy's name.
    heads : set of bytes
        Hashes that were noted down before: whether one of them is met.
    snapshots : list of SnapshotRow
        What is kept of the state beside the log.
    limits : Limits
        Of definitions.
    noted : dict
        The hashes that were noted down for events, by the event.

    Attributes
    ----------
    findings : list of Finding
        What is wrong, the first ones.
    wrong : int
        How many there are.
    events : int
        Events whose hashes are right, from the first one on.
    head : bytes
        The hash of the last of them.
    met : dict
        The noted hashes that were met, and at which event.
    compared, agreed : int
        How many noted hashes were compared, and the last event at which one was right.
    unreached : int
        How many noted hashes are of later events.
    forked : bool
        Whether one of them was wrong.
    misfit : Row or None
        The event that does not follow the one before it.
    book, tally : Book, Tally
        The state after the last event that could be folded, and what the events add up to.
    folded : int
        That last event.
    whole : bool
        Whether it is the last of all.
    least_margin : float or None
        The least margin of any action other than the baseline, as computed here.
    awaited : int
        The first round from the last one decided on at which the promise may be checked.
    checkpoints, early : int
        How many checkpoints were reported, and how many of them came before they were awaited.
    held : int
        Rounds in which the baseline was held, in shadow or paused mode.
    overrides : Counter
        How many rounds overrode what was agreed, by the field.
    release : str or None
        The other release that wrote down what the definition meant, which is not computed again.
    """

    policy: str
    heads: frozenset[bytes] = frozenset()
    snapshots: list[SnapshotRow] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)
    noted: dict[int, set[bytes]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    wrong: int = 0
    events: int = 0
    head: bytes = START
    met: dict[bytes, int] = field(default_factory=dict)
    compared: int = 0
    agreed: int = 0
    unreached: int = 0
    forked: bool = False
    misfit: Row | None = None
    book: Book | None = None
    tally: Tally | None = None
    folded: int = 0
    whole: bool = True
    least_margin: float | None = None
    awaited: int = 0
    checkpoints: int = 0
    early: int = 0
    held: int = 0
    overrides: Counter[str] = field(default_factory=Counter)
    release: str | None = None

    def found(self, seq: int | None, reason: str) -> None:
        """Note what is wrong."""
        self.wrong += 1
        if len(self.findings) < _MOST:
            self.findings.append(Finding(seq, reason))

    def run(self, rows: Iterable[Row], expected: tuple[int, bytes] | None = None) -> Audit:
        """Take all events of a log, and finish.

        Parameters
        ----------
        rows : iterable of Row
            The events.
        expected : tuple of int and bytes, optional
            How many there have to be, and the last one's hash.

        Returns
        -------
        Audit
            Itself.
        """
        try:
            for row in rows:
                if not self.take(row):
                    break
        except InputError as error:  # a line of a file that is no event
            self._stop(self.events + 1, str(error))
        self.finish(expected)
        return self

    def take(self, row: Row) -> bool:
        """Check an event; False if nothing that follows can be checked any more."""
        if not self._follows(row):
            return False
        try:
            event = read(row.body)
        except LaterKind as error:
            return self._stop(row.seq, f"it cannot be read: {error}; {UPGRADE}")
        except (msgspec.MsgspecError, RecursionError) as error:
            return self._stop(row.seq, f"it cannot be read: {error}")
        if row.round != round_of(event):
            self.found(row.seq, f"it is filed under round {row.round}, not {round_of(event)}")
        # A log that somebody made up can trip the rules anywhere, and uncompiled they trip with
        # whatever Python raises: none of it may end the audit without a word.
        try:
            self._fold(row.seq, event)
        except InputError as error:
            return self._stop(row.seq, f"{kind(event)}: it cannot have happened: {error}")
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            return self._stop(row.seq, f"{kind(event)}: it cannot be folded: {said}")
        self.folded = row.seq
        self._check_snapshots(row)
        return True

    def _stop(self, seq: int | None, reason: str) -> bool:
        self.found(seq, reason)
        self.whole = False
        return False

    def _follows(self, row: Row) -> bool:
        """Check an event's place and its hash."""
        due = self.events + 1
        found = link(self.head, row.body)
        self.misfit = row if row.seq != due or found != row.hash else None
        if row.seq > due:
            lost = f"event {due} is" if row.seq == due + 1 else f"events {due} to {row.seq - 1} are"
            return self._stop(
                row.seq,
                f"{lost} missing: removed, or the database was restored to event {due - 1} under "
                "a server that went on from its memory, which is a fork",
            )
        if row.seq < due:
            return self._stop(row.seq, f"it comes after event {due - 1}")
        if found != row.hash:
            return self._stop(
                row.seq,
                "it was altered: its hash is not that of its bytes and the hash before it; or the "
                f"log forks here, and it was written after another event {due - 1}",
            )
        self.events, self.head = row.seq, found
        noted = self.noted.get(row.seq, set())
        if found in self.heads:
            self.met[found] = row.seq
            noted = noted | {found}
        for hash in noted:
            self._compare_noted(row.seq, hash)
        return True

    def _compare_noted(self, seq: int, hash: bytes) -> None:
        """Compare a hash that was noted for the event taken last; tell of the first that differs.

        Where all events of another log were noted, that is the first one in which they differ.
        """
        self.compared += 1
        if hash == self.head:
            self.agreed = seq
        elif not self.forked:
            self.forked = True
            same = f"events 1 to {self.agreed} are as they were noted, and " if self.agreed else ""
            where = "" if seq == self.agreed + 1 else " or before"
            self.found(
                seq,
                f"it is another event than was noted ({hash.hex()[:16]}...): {same}the log forks "
                f"from what was noted at event {seq}{where}",
            )

    # -- what the events say ---------------------------------------------------------------

    def _fold(self, seq: int, event: Event) -> None:
        if self.book is None or self.tally is None:
            created = check_created(event, self.policy, self.limits)
            if created.parts is not None and created.handrail != __version__:
                self.release = created.handrail
            self.book = Book(created)
            self.tally = _tally(self.book)
            return
        check_event(self.book, event, self.limits)
        if isinstance(event, Decided):
            self._examine(seq, self.book, event)
            self.held += event.mode != "live"
        if isinstance(event, Checkpoint):
            self.checkpoints += 1
            self.early += _awaited(self.book) > self.tally.rounds
        self.tally.take(event)
        self.book.apply(event)
        if isinstance(event, Decided):
            self.awaited = _awaited(self.book)

    def _examine(self, seq: int, book: Book, event: Decided) -> None:
        """Compare a decision with what it had to be."""
        examined = book.policy.examine(book.played(event))
        scale = book.units.scale
        more = PER_ROUND * event.round * scale
        upper = None if not math.isfinite(examined.upper) else examined.upper
        if not close_to(event.margin, examined.margin, scale, more):
            self.found(seq, _differs("margin", event, event.margin, examined.margin))
        compared = [
            ("upper bound", event.upper, upper, scale),
            ("lower bound", event.lower, examined.lower, scale),
            ("baseline's least mean", event.floor, examined.floor, 1.0),
            ("baseline's mean", event.mean, examined.mean, 1.0),
            ("promise", event.promise, examined.promise, 1.0),
        ]
        if event.event == "optimistic":  # the leader was played: its numbers are these
            if not close_to(event.leader_margin, examined.margin, scale, more):
                said = event.leader_margin
                self.found(seq, _differs("leader's margin", event, said, examined.margin))
            compared += [
                ("leader's upper bound", event.leader_upper, upper, scale),
                ("leader's lower bound", event.leader_lower, examined.lower, scale),
            ]
        for name, said, due, size in compared:
            if not close_to(said, due, size):
                self.found(seq, _differs(name, event, said, due))
        self.overrides.update(overridden(book, event))
        if not book.conservative or event.event == "baseline":
            return
        margin = examined.margin
        if margin is None or not margin >= -(RELATIVE * scale + more):
            self.found(
                seq, f"round {event.round}: the action was not safe: its margin was {margin}"
            )
        elif self.least_margin is None or margin < self.least_margin:
            self.least_margin = margin

    def _check_snapshots(self, row: Row) -> None:
        for snapshot in self.snapshots:
            if snapshot.seq != row.seq:
                continue
            if snapshot.hash != row.hash:
                self.found(row.seq, "the snapshot after it is of another event: nobody uses it")
            elif is_damaged(snapshot):
                self.found(row.seq, "the snapshot after it is damaged: nobody uses it")
            elif self.book is not None:
                wrong = same_state(self.book, snapshot)
                if wrong is not None:
                    self.found(row.seq, f"the snapshot after it is not the log's state: {wrong}")

    # -- the end ---------------------------------------------------------------------------

    def finish(self, expected: tuple[int, bytes] | None) -> None:
        """Check what can be checked only at the end."""
        if self.events == 0 and self.whole:
            self._stop(None, "there are no events")
        if expected is not None and self.whole and expected != (self.events, self.head):
            self.found(
                None,
                f"{expected[0]} events were written, up to {expected[1].hex()[:16]}...; here are "
                f"{self.events}, up to {self.head.hex()[:16]}...: it was cut off or added to",
            )
        beyond = {seq: noted for seq, noted in self.noted.items() if seq > self.events}
        self.unreached = sum(map(len, beyond.values()))
        lost = max(beyond, default=None)
        if lost is not None and self.whole:
            self.found(
                None,
                f"it ends with event {self.events}, and event {lost} was noted: its tail is lost",
            )
        later = max((each.seq for each in self.snapshots if each.seq > self.events), default=None)
        if later is not None and self.whole:
            self.found(
                None,
                f"it ends with event {self.events}, and a snapshot was taken after event {later}: "
                "its tail is lost",
            )
        if self.whole and self.book is not None and self.tally is not None:
            for reason in _compare(self.book, self.tally):
                self.found(None, reason)


def _differs(name: str, event: Decided, said: float | None, due: float | None) -> str:
    return f"round {event.round}: the {name} is {said}, it had to be {due}"


def _awaited(book: Book) -> int:
    """Return the first round from the last one decided on before which nothing is checked."""
    model = book.policy._state.model
    ledger = model.ledger[0]
    return int(awaited_checkpoint(model.rules[0], ledger, int(ledger["rounds"])))


def _tally(book: Book) -> Tally:
    given: dict[str, Any] = book.definition["parameters"]
    settings = book.policy._settings
    return Tally(
        book.units.low,
        book.units.scale,
        book.conservative,
        book.learns_baseline,
        given.get("window"),
        given.get("default_reward"),
        fixed=not book.varies,
        baseline_known=book.baseline is not None,
        edition=settings.edition,
        needs_word=settings.needs_word,
        one_mean=settings.one_mean,
    )


def _compare(book: Book, tally: Tally) -> Iterable[str]:
    """Yield where the ledger is not what the events add up to."""
    row = book.policy._state.model.ledger[0]
    for name in ("rounds", "plays", "pending", "rewards", "waiting", "missed"):
        counted, count = int(row[name]), int(getattr(tally, name))
        if counted != count:
            yield f"the ledger has {counted} {name}, the events {count}"
    names = ["spared", "forgone", "promised", "waived", "reward"]
    if book.learns_baseline:
        names.append("lesson")
    for name in names:
        said = float(row[name]) + float(row[f"{name}_rest"])
        due = getattr(tally, name).value
        # Each of at most `rounds` terms was added with its rounding error kept apart.
        if not close_to(said, due, 1.0, PER_ROUND * tally.rounds):
            yield f"the ledger's {name} is {said}, the events add up to {due}"
