"""The client and the bare endpoint that the service is held against do what they are said to."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.endpoint import KEY
from benchmarks.load import Load, User, drive, percentile, request
from benchmarks.noise import Others, ticks
from benchmarks.processes import free_port, memory, served
from benchmarks.users import batches, making, pairs, random_features, visiting

ANSWER = b'{"id":"abc","round":1}'


def parsed(data: bytes) -> tuple[str, bytes, bytes]:
    """Return the first line, the headers and the body of a request; its length is right."""
    head, _, body = data.partition(b"\r\n\r\n")
    line, _, headers = head.partition(b"\r\n")
    assert b"Content-Length: %d" % len(body) in headers.split(b"\r\n")
    return line.decode(), headers, body


def said(user: User, answers: list[bytes]) -> list[tuple[str, object]]:
    """Return the paths and bodies of what a user says when it is given these answers."""
    found, data = [], next(user)
    for answer in [*answers, None]:
        line, _, body = parsed(data)
        found.append((line.split()[1], json.loads(body)))
        if answer is None:
            break
        data = user.send(answer)
    return found


def saying(data: bytes, heard: list[bytes] | None = None) -> User:
    """Send one request, and keep what is answered."""
    answer = yield data
    if heard is not None:
        heard.append(answer)


def test_pairs() -> None:
    first, second, third = said(pairs("p", "k", 2), [ANSWER, b"{}"])
    assert first == third == ("/v1/policies/p/decide", {})
    assert second == ("/v1/policies/p/rewards", {"decision": "abc", "reward": 0})
    features = [random_features(3, 2), random_features(3, 2, seed=1)]
    asked = said(pairs("p", "k", 3, features), [ANSWER, b"{}"] * 2)[::2]
    assert [body for _, body in asked] == [
        {"features": features[i], "baseline": 0} for i in (0, 1, 0)
    ]


def test_batches() -> None:
    done: list[int] = []
    answer = b'{"decisions":[{"id":"a"},{"id":"b"}]}'
    user = batches("p", "k", 1, 2, done.append)
    asked, told = said(user, [answer])
    assert asked == ("/v1/policies/p/decide", {"requests": [{}, {}]})
    rewards = [{"decision": "a", "reward": 0}, {"decision": "b", "reward": 1}]
    assert told == ("/v1/policies/p/rewards", {"rewards": rewards})
    with pytest.raises(StopIteration):
        user.send(b"{}")
    assert done == [2]


def test_many_policies() -> None:
    made = said(making(["a", "b"], "k", {"dim": 2}), [b"{}"])
    assert made == [("/v1/policies", {"name": name, "dim": 2}) for name in "ab"]
    features = random_features(2, 2)
    paths = [path for path, _ in said(visiting("ab", "k", features, lambda: None), [ANSWER, b"{}"])]
    assert paths == ["/v1/policies/a/decide", "/v1/policies/a/rewards", "/v1/policies/b/decide"]


def _dribble(listener: socket.socket, pieces: list[bytes]) -> None:
    """Answer one request piece by piece, waiting for nothing."""
    connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.recv(65536)
        for piece in pieces:
            connection.sendall(piece)
        connection.recv(1)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_answers_in_pieces(size: int) -> None:
    whole = b"HTTP/1.1 201 Created\r\nx: y\r\nContent-Length: 5\r\n\r\nhello"
    pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_dribble, args=(listener, pieces))
        thread.start()
        load = drive(listener.getsockname()[1], [saying(request("/", b"", "k"), heard)])
        thread.join()
    assert heard == [b"hello"]
    assert load.requests == 1


def test_latencies() -> None:
    load = Load(2.0, [[1.0, 9.0, 2.0], [4.0, 9.0, 3.0]])
    assert load.rate == 3.0
    assert load.every(2) == [1.0, 2.0, 3.0, 4.0]
    assert load.every(2, 1) == [9.0, 9.0]
    assert [percentile(load.every(2), share) for share in (0.0, 0.5, 1.0)] == [1.0, 3.0, 4.0]


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="no /proc here")
def test_who_took_the_time() -> None:
    work = "while True: pass"
    with subprocess.Popen([sys.executable, "-c", work]) as busy:
        try:
            apart, together = Others([]), Others([busy.pid])
            before = ticks(busy.pid)
            while ticks(busy.pid) < before + 20:
                pass
            seen, unseen = apart.share(), together.share()
        finally:
            busy.kill()
    # The process is counted among others or is not; the rest of the machine is in both.
    assert seen is not None
    assert unseen is not None
    assert seen > unseen


@pytest.mark.parametrize("commit", ["thread", "loop", "thread, a statement a row"])
def test_what_the_endpoint_answered_is_on_disk(tmp_path: Path, commit: str) -> None:
    port, database = free_port(), tmp_path / "bare.db"
    command = [sys.executable, "-m", "benchmarks.endpoint", "--port", str(port)]
    more = {"BARE_DATABASE": str(database), "BARE_COMMIT": commit, "BARE_ID_LENGTH": "40"}
    features = [random_features(24, 35)]
    with served(command, port, more) as process:
        drive(port, [pairs("p", KEY, 20, features) for _ in range(8)])
        with sqlite3.connect(database) as found:
            kept = found.execute("SELECT policy, count(DISTINCT id) FROM rows GROUP BY policy")
            assert kept.fetchall() == [("decide", 160), ("reward", 160)]
        found.close()
        assert memory(process.pid) > 1e6
        with pytest.raises(ConnectionError, match="401"):
            drive(port, [pairs("p", "another key", 1)])
        with pytest.raises(ConnectionError, match="422"):
            drive(port, [saying(request("/v1/policies/p/rewards", b"{", KEY))])
