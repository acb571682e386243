"""The core of both clients: what is asked, and what answers mean; the network is elsewhere."""

from __future__ import annotations

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from handrail.client.breaker import Breaker
from handrail.client.choice import Choice
from handrail.client.counts import Counts, Tally
from handrail.client.errors import ServiceError
from handrail.client.reading import error_of, read, write
from handrail.client.settings import Settings, segment
from handrail.client.steps import Failure, Outcome, Reply, Request, Talk
from handrail.client.unheard import Report, Unheard, Verdict
from handrail.client.unsaid import HandOut, Taken, Unsaid
from handrail.service.messages import FallbackAnswer, PlayedAnswers, Served

__all__ = ["Core", "decision_path"]

T = TypeVar("T")

_BUSY: Final = (429, 502, 503, 504)
"""Answers after which asking again makes sense."""
_REPORT_SECONDS: Final = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class Core:
    """What one client knows: settings, failures, what nobody heard of yet, answers by key.

    Parameters
    ----------
    settings : Settings
        What the client was given.
    clock : callable
        Seconds that never go back.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.clock = clock
        self.breaker = Breaker(settings.failures, settings.rest)
        self.tally = Tally()
        self._unheard = Unheard(settings.remember)
        self._unsaid = Unsaid(settings.remember)
        self._coming: list[HandOut] = []
        self.strangers: set[str] = set()
        """Policies whose baseline is another than the caller's: nothing is reported for them."""
        self._given: OrderedDict[tuple[str, str], tuple[Choice, HandOut]] = OrderedDict()
        self._lock = threading.Lock()

    def counts(self) -> Counts:
        """Return what happened so far."""
        decisions, fallbacks = self.tally.rounds()
        return Counts(
            decisions,
            fallbacks,
            unreported=len(self.unheard),
            reported=self.unheard.reported,
            forgotten=self.unheard.forgotten,
            played_unsaid=len(self.unsaid),
            played_said=self.unsaid.said,
            played_forgotten=self.unsaid.forgotten,
        )

    # -- what callers are given ---------------------------------------------------------------

    @property
    def unheard(self) -> Unheard:
        """Fallbacks that callers got, and of which the service has not heard."""
        self._collect()
        return self._unheard

    @property
    def unsaid(self) -> Unsaid:
        """Answers that callers got, and that were not said to be played."""
        self._collect()
        return self._unsaid

    def expect(self, out: HandOut) -> None:
        """Have what a call is about to return told as soon as its caller has it."""
        if out.played or out.lost:
            out.since = self.clock()
            with self._lock:
                self._coming.append(out)

    def _collect(self) -> None:
        """Take over what callers got, and drop what an exception kept from them."""
        if not self._coming:
            return
        with self._lock:
            still = []
            for out in self._coming:
                if out.given is None:
                    still.append(out)
                elif out.given:
                    self._unsaid.add(out.policy, out.played, out.since)
                    for key in out.lost:
                        self._unheard.add(out.policy, key, out.since)
            self._coming = still

    # -- answers by the caller's own keys -----------------------------------------------------

    def known(self, policy: str, key: str, out: HandOut) -> Choice | None:
        """Return what was answered under a key the caller gave; its first caller says so."""
        found = self._given.get((policy, key))
        if found is None:
            return None
        choice, first = found
        if not first.given:
            with self._lock:
                if self._given.get((policy, key)) is found:
                    self._given[policy, key] = choice, out
            self.note(choice, out)
        return choice

    def know(self, choice: Choice, out: HandOut) -> Choice:
        """Remember what was answered under a key the caller gave; return what was first."""
        with self._lock:
            self._given.setdefault((choice.policy, choice.key), (choice, out))
            if len(self._given) > self.settings.remember:
                self._given.popitem(last=False)
        return self.known(choice.policy, choice.key, out) or choice

    def note(self, choice: Choice, out: HandOut) -> None:
        """Note that a call is about to return an answer, so that it is said to be played.

        Before any reward is known: word that depended on rewards would bias what is learned.
        """
        if self.settings.say_played and choice.say_played and choice.id is not None:
            out.played.append(choice.id)

    def forget(self, policy: str, decision: str) -> list[str]:
        """Forget what was answered in a round, by its id or key:KEY; return the ids it had."""
        with self._lock:
            gone = [
                place
                for place, (choice, _) in self._given.items()
                if place[0] == policy and decision in (choice.id, f"key:{choice.key}")
            ]
            choices = [self._given.pop(place)[0] for place in gone]
        return [choice.id for choice in choices if choice.id is not None]

    # -- calls that do not fall back ----------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        read_as: Callable[[Outcome], T],
        *,
        body: bytes | None = None,
        again: bool = True,
        timeout: float | None = None,
    ) -> Talk[T]:
        """Ask until there is an answer, the time is over, or asking again might do it twice.

        Parameters
        ----------
        method, path, body
            The request.
        read_as : callable
            What reads the answer, or raises.
        again : bool
            Whether a request that may have been carried out can be repeated.
        timeout : float, optional
            Seconds in total.

        Returns
        -------
        Talk
            Returns what `read_as` does.
        """
        patience = self.settings.patience if timeout is None else timeout
        end = self.clock() + patience
        pause, delay = _FIRST_PAUSE, 0.0
        while True:
            # One connection that hangs must leave time for another attempt.
            deadline = min(end, self.clock() + delay + patience / 2) if again else end
            outcome = yield Request(method, path, body, deadline, delay, again)
            if isinstance(outcome, Reply):
                hopeful = again and outcome.status in _BUSY
            else:
                hopeful = again or not outcome.sent
            delay = pause * random.uniform(0.5, 1.0)
            if not hopeful or self.clock() + delay >= end:
                return read_as(outcome)
            pause = min(2 * pause, _LONGEST_PAUSE)

    # -- what the service is to be told ---------------------------------------------------------

    def untold(self) -> int:
        """Return how many rounds the service is to be told of, those under way among them."""
        return len(self.unheard) + len(self.unsaid)

    def wait(self) -> float | None:
        """Return the seconds until something is to be told; None if there is nothing."""
        now = self.clock()
        waits = [self.unheard.wait(now), self.unsaid.wait(now)]
        waits += [out.wait() for out in self._coming]
        return min((each for each in waits if each is not None), default=None)

    def busy(self) -> bool:
        """Say whether there is something to be told, or may be as soon as a call has returned."""
        return self.untold() > 0 or bool(self._coming)

    def hurry(self) -> None:
        """Let word of what was played wait for no other request."""
        self.unsaid.hurry(self.clock())

    def tell(self) -> Talk[None]:
        """Tell what is due: what was played where word is asked for, then the fallbacks."""
        while (policy := self.unsaid.due(self.clock())) is not None:
            yield from self._say_played(policy)
        while (report := self.unheard.take(self.clock())) is not None:
            yield from self._report(report)

    def _say_played(self, policy: str) -> Talk[None]:
        now = self.clock()
        taken = Taken(self.unsaid, policy)
        try:
            taken.take()
            if not taken.ids:  # another request was faster
                return
            try:
                path = f"/v1/policies/{segment('policy', policy)}/played"
                body = write({"decisions": taken.ids})
                outcome = yield Request("POST", path, body, now + _REPORT_SECONDS)
                verdict = _verdict(outcome, PlayedAnswers)
            except Exception as error:  # whatever it is, the next words may do better
                self.refuse_words(policy, taken, error)
                return
            if verdict == "heard":
                taken.heard()
            elif verdict == "refused":
                self.refuse_words(policy, taken, error_of(outcome))
            else:
                taken.away(self.clock())
                if isinstance(outcome, Reply):
                    said = f"what was played could not be said: {error_of(outcome)}"
                    self.tally.warn("played", policy, said, self.clock())
        finally:
            taken.over = True

    def refuse_words(self, policy: str, taken: Taken, error: Exception) -> None:
        """Give words up that the service will never take."""
        taken.refused()
        said = f"{len(taken.ids)} answers cannot be said to be played: {error}"
        self.tally.warn("played", policy, said, self.clock())

    def _report(self, report: Report) -> Talk[None]:
        """Tell of a round without an answer; an empty body says that there was none."""
        sent = self.clock()
        try:
            path = decision_path(report.policy, f"key:{report.key}", "fallback")
            outcome = yield Request("POST", path, b"", sent + _REPORT_SECONDS)
            verdict = _verdict(outcome, FallbackAnswer)
        except Exception:  # whatever it is, the next report may do better
            outcome = Failure("input", "the report cannot be sent", sent=False)
            verdict = "refused"
        if verdict == "refused" or (isinstance(outcome, Reply) and verdict == "away"):
            said = f"a fallback could not be reported: {error_of(outcome)}"
            self.tally.warn("report", report.policy, said, self.clock())
        self.unheard.settle(report, verdict, sent=sent, now=self.clock())


def decision_path(policy: str, decision: str, what: str) -> str:
    """Return where something is told of a decision, which is an id, or key:KEY."""
    name = segment("policy", policy)
    return f"/v1/policies/{name}/decisions/{segment('decision', decision)}/{what}"


def _verdict(outcome: Outcome, answer: type[Served]) -> Verdict:
    if isinstance(outcome, Failure):
        return "away"
    if outcome.status == 404:
        return "absent"
    if outcome.status in (400, 405, 409, 413, 415, 422):
        return "refused"
    try:
        read(outcome, answer)
    except ServiceError:
        return "away"
    return "heard"
