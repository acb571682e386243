"""A signal's handler raises after the answer has come and before the caller has it.

What its caller never got nobody played: it is not said to be played. Nor is it reported as a
fallback: what the caller played instead is not known. Every line of the client after the answer is
interrupted in turn, as a handler may that runs between any two of them.
"""

from __future__ import annotations

import linecache
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest

import handrail.client
from client.askers import AsyncAsker, SyncAsker
from client.misbehaving import ANSWER, Asked, answer, misbehaving, raw
from client.test_client_played import PLENTY, all_words, service, words
from handrail.client import Choice, unsaid
from handrail.client.steps import Outcome, Request

CLIENT = str(Path(handrail.client.__file__).parent)


class Interrupted(BaseException):
    """As KeyboardInterrupt, which asyncio and pytest do more about than raise it."""


class Alarm(Exception):
    """As a time-out that a handler of SIGALRM raises: what catches all errors catches it, too."""


def _locks(frame: FrameType) -> bool:
    """Say whether a line takes or returns a lock: handlers run before or after that, not within."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return line.lstrip().startswith("with ")


def _elsewhere(frame: FrameType | None) -> bool:
    """Say whether a line is of what reports, or sends: before an answer nothing can be said."""
    while frame is not None and frame.f_code.co_name not in ("_work", "carried", "carried_later"):
        frame = frame.f_back
    return frame is not None


class Interrupter:
    """Raises before the n-th line of the client that follows an outcome."""

    def __init__(self, asker: SyncAsker, error: type[BaseException]) -> None:
        self._error = error
        self._left = 0
        wire = asker.client._wire
        send = wire.send

        def carried(request: Request) -> Outcome:
            return cast(Outcome, send(request))

        async def carried_later(request: Request) -> Outcome:
            return cast(Outcome, await send(request))

        def sync(request: Request) -> Outcome:
            outcome = carried(request)
            self._begin()
            return outcome

        async def later(request: Request) -> Outcome:
            outcome = await carried_later(request)
            self._begin()
            return outcome

        wire.send = later if isinstance(asker, AsyncAsker) else sync
        self._decide = asker.decide

    def _begin(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        if self._left and not _elsewhere(frame):
            while frame is not None:
                if frame.f_code.co_filename.startswith(CLIENT):
                    frame.f_trace = self._trace
                frame = frame.f_back
            sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CLIENT):
            return None
        if event == "line" and self._left and not (_locks(frame) or _elsewhere(frame)):
            self._left -= 1
            if not self._left:
                raise self._error
        return self._trace

    def decide(self, line: int, **given: Any) -> Choice | None:
        """Decide; None where the line was reached, and the exception came through."""
        self._left = line
        before = sys.gettrace()
        try:
            return self._decide(**given)
        except self._error:
            return None
        finally:
            self.reached = not self._left
            self._left = 0
            sys.settrace(before)


@pytest.fixture(autouse=True)
def with_the_next() -> Iterator[None]:
    """Let words wait for the next request, however long this machine takes for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unsaid, "_LINGER", 10.0 * PLENTY)
        yield


def lines(interrupter: Interrupter, **given: Any) -> Iterator[Choice | None]:
    """Interrupt one round after the other, each one line later, until one is not."""
    for line in range(1, 1_000):
        choice = interrupter.decide(line, **given)
        yield choice
        if not interrupter.reached:
            assert choice is not None
            assert line > 10
            return
    raise AssertionError("there is no end")


@pytest.mark.parametrize("error", [Interrupted, Alarm])
def test_only_what_decide_returned_is_said_to_be_played(
    asker: Callable[..., SyncAsker], error: type[BaseException]
) -> None:
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY, failures=10**9)
        got = list(lines(Interrupter(client, error)))
        assert client.flush(PLENTY)
        sent = all_words(server)
    said = {each for _, some in sent for each in some or ()}
    assert sum(choice is None for choice in got) > 5
    assert said == {choice.id for choice in got if choice is not None and not choice.fallback}
    fell = [choice for choice in got if choice is not None and choice.fallback]
    assert [path for path, _ in sent].count("fallback") == len(fell)
    counts = client.counts()
    assert (counts.played_unsaid, counts.unreported) == (0, 0)


def test_only_a_fallback_that_decide_returned_is_reported(asker: Callable[..., SyncAsker]) -> None:
    def lost(connection: Any, asked: Asked) -> None:
        if asked.path.endswith("/decide"):
            raw()(connection, asked)
        else:
            service(connection, asked)

    with misbehaving(then=lost) as server:
        client = asker(server.url, timeout=PLENTY, failures=10**9)
        got = list(lines(Interrupter(client, Interrupted)))
        assert client.flush(PLENTY)
        sent = [server.next() for _ in range(server.asked.qsize())]
    reports = {each.path for each in sent if each.path.endswith("/fallback")}
    back = [choice for choice in got if choice is not None]
    assert len(back) < len(got) - 5
    assert reports == {
        f"/v1/policies/shop/decisions/key%3A{choice.key}/fallback" for choice in back
    }
    assert client.counts().reported == len(back)


def test_what_an_interrupted_round_remembers_is_said_by_who_asks_again(
    asker: Callable[..., SyncAsker],
) -> None:
    """The same key gives the same answer, whether or not anybody got it the first time."""
    with misbehaving(then=service) as server:
        client = asker(server.url, timeout=PLENTY)
        interrupter = Interrupter(client, Interrupted)
        for line in range(1, 1_000):
            key = f"visit-{line}"
            first = interrupter.decide(line, idempotency_key=key)
            interrupted = first is None
            assert client.flush(PLENTY)
            assert all(key not in (said or ()) for _, said in all_words(server)) is interrupted
            for _ in range(2):
                assert client.decide(idempotency_key=key).id == key
                assert client.flush(PLENTY)
                again = [key in (said or ()) for _, said in all_words(server)]
                assert sum(again) == interrupted  # once in all
                interrupted = False
            if not interrupter.reached:
                return


def test_a_signal_while_the_client_is_about_to_return() -> None:
    """With a real one, whose handler raises as somebody's time-out of the whole page does."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Alarm

    with misbehaving(then=service) as server, SyncAsker(server.url, timeout=PLENTY) as client:
        wake = client.client._reporter.wake
        before = signal.signal(signal.SIGALRM, handle)
        try:
            client.client._reporter.wake = lambda: signal.raise_signal(signal.SIGALRM)
            with pytest.raises(Alarm):
                client.decide()
        finally:
            signal.signal(signal.SIGALRM, before)
            client.client._reporter.wake = wake
        choice = client.decide()
        client.call("reward", "shop", choice, 1.0)
        server.next()
        assert [words(server.next()) for _ in range(2)] == [None, [choice.id]]
        assert client.counts().played_unsaid == 0


def test_a_fallback_is_reported_soon_after_decide_returned(asker: Callable[..., SyncAsker]) -> None:
    """Without another call: nothing is told before it has returned, and nothing can run after."""
    with misbehaving(raw(), raw(), then=answer(ANSWER)) as server:
        client = asker(server.url, timeout=PLENTY)
        reported = f"/v1/policies/shop/decisions/key%3A{client.decide().key}/fallback"
        paths, end = [""], time.monotonic() + PLENTY
        while paths[-1] != reported and time.monotonic() < end:
            if isinstance(client, AsyncAsker):
                client.call("ready")  # its loop runs during calls only
            paths.append(server.next().path)
    assert paths[-1] == reported
