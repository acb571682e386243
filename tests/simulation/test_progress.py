"""How far it is: honest shares, speeds and times, on a terminal and in a log."""

from __future__ import annotations

import contextlib
import io
import os
import re
import threading
from collections.abc import Mapping

import numpy as np
import pytest

from handrail.simulation.progress import Progress, _time

SECONDS = {"arms": 5e-9, "fixed": 80e-9, "contexts": 3e-6}
"""What a round of each kind costs one worker."""


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def left(line: str) -> float:
    """Return the seconds left, as a line tells them."""
    match = re.search(r"(?:(\d+):)?(\d\d):(\d\d) left$", line)
    assert match, line
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def test_a_line_says_it_all() -> None:
    clock, stream = Clock(), io.StringIO()
    with Progress({"arms": 24_000_000_000}, stream=stream, clock=clock) as progress:
        progress.start(2, {})
        for _ in range(23):
            clock.now += 1.0
            progress.done("arms", 51_000_000, 2.0)
    assert lines(stream) == [
        "   2 %  5.1e+08 of 2.4e+10 rounds  5.1e+07 rounds/s  07:41 left",
        "   4 %  1.0e+09 of 2.4e+10 rounds  5.1e+07 rounds/s  07:31 left",
        "   4 %  1.2e+09 of 2.4e+10 rounds  5.1e+07 rounds/s  07:28 left",
    ]


def test_the_end_says_how_long_it_took() -> None:
    clock, stream = Clock(), io.StringIO()
    with Progress({"arms": 100}, stream=stream, clock=clock) as progress:
        progress.start(1, {})
        clock.now += 65.0
        progress.done("arms", 100, 65.0)
        progress.close()
    assert lines(stream)[-1] == " 100 %  1.0e+02 of 1.0e+02 rounds  1.5e+00 rounds/s  in 01:05"


def test_found_rounds_are_done_but_not_fast() -> None:
    clock, stream = Clock(), io.StringIO()
    with Progress({"arms": 10_000}, stream=stream, clock=clock) as progress:
        progress.start(1, {"arms": 8000})
        clock.now += 10.0
        progress.done("arms", 1000, 10.0)
        clock.now += 10.0
        progress.done("arms", 999, 10.0)
    assert lines(stream) == [
        "  90 %  9.0e+03 of 1.0e+04 rounds  1.0e+02 rounds/s  00:01 left",
        "  99 %  1.0e+04 of 1.0e+04 rounds  1.0e+02 rounds/s  00:01 left",
        "  99 %  1.0e+04 of 1.0e+04 rounds  1.0e+02 rounds/s  00:01 left",
    ]


def test_nothing_left_to_do() -> None:
    for total, found in (({"arms": 7}, {"arms": 7}), ({}, {})):
        stream = io.StringIO()
        with Progress(total, stream=stream, clock=Clock()) as progress:
            progress.start(1, found)
        count = "7.0e+00" if total else "0.0e+00"
        assert lines(stream) == [f" 100 %  {count} of {count} rounds  in 00:00"]


def test_nothing_begun_is_nothing_told() -> None:
    stream = io.StringIO()
    with Progress({"arms": 7}, stream=stream):
        pass
    assert stream.getvalue() == ""


def simulate(
    rounds: Mapping[str, int], block: Mapping[str, int], slow: float, compiling: float = 0.0
) -> list[tuple[float, float, str]]:
    """Let two workers do kind after kind; return (time, true time left, line told) of each line."""
    clock, stream = Clock(), io.StringIO()
    told: list[tuple[float, str]] = []
    progress = Progress(rounds, stream=stream, clock=clock)
    progress.start(2, {})
    begin = clock.now
    for kind, count in rounds.items():
        for number in range(0, count, 2 * block[kind]):
            seconds = block[kind] * SECONDS[kind] * slow
            seconds += compiling if number == 0 else 0.0
            steps = int(seconds / 0.1)
            for _ in range(steps):
                clock.now += 0.1
                progress.tick()
            clock.now += seconds - 0.1 * steps
            for _ in range(2):
                progress.done(kind, block[kind], seconds)
            told += [(clock.now, line) for line in lines(stream)[len(told) :]]
    progress.close()
    assert lines(stream)[-1].startswith(" 100 %")
    return [(now - begin, clock.now - now, line) for now, line in told]


MIXED = {"arms": 120_000_000_000, "fixed": 2_400_000_000, "contexts": 120_000_000}
BLOCKS = {"arms": 300_000_000, "fixed": 12_000_000, "contexts": 600_000}


@pytest.mark.parametrize("slow", [0.4, 1.0, 2.5])
def test_mixed_kinds_give_a_sane_time_left(slow: float) -> None:
    """By rounds alone the first figure would be 98 % of the work, with half the time to come."""
    told = simulate(MIXED, BLOCKS, slow)
    truth = np.array([remains for _, remains, _ in told])
    said = np.array([left(line) for _, _, line in told])
    assert len(told) > 10
    assert np.abs(said - truth).max() < 2.0 + 0.02 * truth.max()
    shares = [int(line.split("%")[0]) for _, _, line in told]
    exact = [100.0 * now / (now + remains) for now, remains, _ in told]
    assert np.abs(np.array(shares) - exact).max() < 3.0


def test_compiling_does_not_fool_it() -> None:
    """Twelve seconds of compiling before the first tasks of each kind."""
    told = simulate(MIXED, BLOCKS, 1.0, compiling=12.0)
    after = [(remains, left(line)) for now, remains, line in told if now > 15.0]
    assert max(abs(said - remains) for remains, said in after) < 30.0
    shares = [int(line.split("%")[0]) for _, _, line in told]
    assert shares == sorted(shares)


def test_a_kind_nobody_knows_is_measured() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress({"other": 1000}, stream=stream, clock=clock)
    progress.start(1, {})
    for _ in range(5):
        clock.now += 10.0
        progress.done("other", 100, 10.0)
    assert left(lines(stream)[-1]) == 50


def test_the_speed_is_that_of_now() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress({"arms": 10**9, "contexts": 10**6}, stream=stream, clock=clock)
    progress.start(1, {})
    for _ in range(10):
        clock.now += 1.0
        progress.done("arms", 10**8, 1.0)
    assert "1.0e+08 rounds/s" in lines(stream)[-1]
    for _ in range(41):
        clock.now += 1.0
        progress.done("contexts", 1000, 1.0)
    assert "1.0e+03 rounds/s" in lines(stream)[-1]


def test_time_left_counts_down_between_tasks() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress({"arms": 10_000}, stream=stream, clock=clock)
    progress.start(1, {})
    for _ in range(3):
        clock.now += 30.0
        progress.done("arms", 1000, 30.0)
    for _ in range(30):
        clock.now += 1.0
        progress.tick()
    assert [left(line) for line in lines(stream)[-4:]] == [210, 200, 190, 180]


def test_times_are_short() -> None:
    times = [_time(s) for s in (0.0, 59.6, 3599, 3600, 100_000, 172_800, 1e7)]
    assert times == ["00:00", "01:00", "59:59", "1:00:00", "27:46:40", "2.0 days", "115.7 days"]


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_stream_that_breaks_stops_nothing() -> None:
    clock = Clock()
    for stream in (Broken(), io.StringIO()):
        with Progress({"arms": 100}, stream=stream, clock=clock) as progress:
            progress.start(1, {})
            if not isinstance(stream, Broken):
                stream.close()
            clock.now += 20.0
            progress.done("arms", 50, 20.0)
            clock.now += 20.0
            progress.done("arms", 50, 20.0)


def draw(columns: int) -> str:
    """Return what a terminal of this width is sent."""
    pytest.importorskip("tqdm")
    termios = pytest.importorskip("termios")
    reader, writer = os.openpty()
    termios.tcsetwinsize(writer, (24, columns))
    sent = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while True:
                sent.extend(os.read(reader, 4096))

    thread = threading.Thread(target=read)
    thread.start()
    clock = Clock()
    with (
        os.fdopen(writer, "w", encoding="utf-8") as stream,
        Progress({"arms": 4_000_000_000}, stream=stream, clock=clock) as progress,
    ):
        progress.start(2, {"arms": 1_000_000_000})
        for _ in range(15):
            clock.now += 2.0
            progress.done("arms", 200_000_000, 2.0)
    thread.join()
    os.close(reader)
    return sent.decode()


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_terminal_gets_a_bar(columns: int) -> None:
    text = draw(columns)
    drawn = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
    assert all(len(line) <= columns for line in drawn)
    assert text.endswith("\n")
    assert drawn[-1].startswith(" 100 %  4.0e+09 of 4.0e+09 rounds  1.0e+08 rounds/s")
    if columns >= 80:
        assert "rounds/s  in 00:30" in drawn[-1]
        assert drawn[-1].endswith("█")
        assert any(" left" in line and "█" in line and line.endswith(" ") for line in drawn)
