"""Real signals, whose handlers raise anywhere within decide: as a time-out of the page, or Ctrl-C.

A handler may run after any call of Python code, within what the standard library writes in Python
as well. Whatever it cuts short, the rounds after it end in time, as many at a time as before, and
all that is to be told is told.
"""

from __future__ import annotations

import gc
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median
from types import FrameType

import pytest

import handrail
from client.misbehaving import misbehaving
from client.test_client_played import PLENTY, all_words, service
from handrail.client import Choice

HANGS = 20.0
"""Seconds after which a round hangs, though its time-out is the half of it."""

pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning",
    # Python swallows what a handler raises while rubbish is collected, be it another test's.
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


class Interrupted(BaseException):
    """As KeyboardInterrupt, which pytest does more about than raise it."""


def _within_decide(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not handrail.Client.decide.__code__:
        frame = frame.f_back
    return frame is not None


@contextmanager
def alarms() -> Iterator[None]:
    """Let SIGALRM raise within decide, and do nothing elsewhere."""

    def handle(number: int, frame: FrameType | None) -> None:
        if _within_decide(frame):
            raise Interrupted

    before = signal.signal(signal.SIGALRM, handle)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def decide(client: handrail.Client, alarm: float) -> Choice | None:
    """Decide; None where the alarm came before it had returned."""
    signal.setitimer(signal.ITIMER_REAL, alarm)
    try:
        return client.decide("shop", baseline="current")
    except Interrupted:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def interrupt(client: handrail.Client, rounds: int) -> list[Choice | None]:
    """Decide with alarms at random times; None where one came."""
    draw = random.Random(rounds)
    times = [time.perf_counter()]
    first = []
    for _ in range(99):
        first.append(client.decide("shop", baseline="current"))
        times.append(time.perf_counter())
    usual = median(later - earlier for earlier, later in pairwise(times))
    # Who was interrupted left no connection: the next needs a new one, and longer than usual.
    got = [decide(client, draw.uniform(1e-6, 3.0 * usual)) for _ in range(rounds)]
    gc.collect()  # connections that were dropped say so here, and not in another test
    return [*first, *got]


@pytest.mark.parametrize("rounds", [4_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_interrupted_rounds_leave_no_lock_and_no_connection_taken(rounds: int) -> None:
    with (
        misbehaving(then=service) as server,
        handrail.Client(server.url, timeout=HANGS / 2, connections=1) as client,
        alarms(),
    ):
        got = interrupt(client, rounds)
        after = decide(client, HANGS)
    back = [choice for choice in got if choice is not None]
    assert min(len(back), rounds - len(back)) > rounds / 20
    assert after is not None
    assert not any(choice.fallback for choice in [*back, after])


@pytest.mark.parametrize("rounds", [4_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_all_that_decide_returned_is_said_however_many_were_interrupted(rounds: int) -> None:
    with (
        misbehaving(then=service) as server,
        handrail.Client(server.url, timeout=PLENTY) as client,
        alarms(),
    ):
        got = interrupt(client, rounds)
        assert client.flush(HANGS)
        counts = client.counts()
        said = {each for _, some in all_words(server) for each in some or ()}
    back = {choice.id for choice in got if choice is not None}
    assert back == said
    assert (counts.played_unsaid, counts.played_forgotten) == (0, 0)


@pytest.mark.parametrize("rounds", [6_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_interrupted_rounds_hold_up_no_other_thread(rounds: int) -> None:
    """A name, so that it is looked up: those who ask for it at the same time share a thread."""
    with (
        misbehaving(then=service) as server,
        handrail.Client(server.url.replace("127.0.0.1", "localhost"), timeout=HANGS / 2) as client,
        alarms(),
    ):
        interrupt(client, rounds)
        got: list[Choice] = []
        thread = threading.Thread(
            target=lambda: got.append(client.decide("shop", baseline="current")), daemon=True
        )
        thread.start()
        thread.join(HANGS)
        assert not thread.is_alive()
        end = time.monotonic() + HANGS
        while client.counts().played_unsaid and time.monotonic() < end:
            time.sleep(0.01)  # not flush: it is said without
        assert client.counts().played_unsaid == 0
    assert not got[0].fallback
