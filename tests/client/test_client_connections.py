"""Connections: kept, given up, encrypted."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from client.askers import SyncAsker
from client.misbehaving import ANSWER, Asked, after, answer, misbehaving, problem, raw, response
from handrail.client import links

PLENTY = 60.0
GOOD = json.dumps(ANSWER).encode()
CERTIFICATE = Path(__file__).parent / "certificate.pem"
"""Of 127.0.0.1, signed by itself, with its key; for these tests only."""


def test_a_connection_is_kept(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving() as server:
        client = asker(server.url, timeout=PLENTY)
        assert not any(client.decide().fallback for _ in range(5))
        assert len(server.connections) == 1


def test_a_connection_that_was_closed_meanwhile_is_noticed(
    asker: Callable[..., SyncAsker],
) -> None:
    """It says nothing of being closed and is gone: the answer comes over another one."""

    def once(connection: socket.socket, asked: Asked) -> None:
        answer(ANSWER)(connection, asked)

    with misbehaving(then=once) as server:
        client = asker(server.url, timeout=PLENTY)
        assert not any(client.decide().fallback for _ in range(5))
        assert len(server.connections) == 5


def test_an_old_connection_is_not_used(
    asker: Callable[..., SyncAsker], monkeypatch: pytest.MonkeyPatch
) -> None:
    with misbehaving() as server:
        client = asker(server.url, timeout=PLENTY)
        monkeypatch.setattr(links, "IDLE_SECONDS", -1.0)
        monkeypatch.setattr("handrail.client.aio_links.IDLE_SECONDS", -1.0)
        assert not any(client.decide().fallback for _ in range(3))
        assert len(server.connections) == 3


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(GOOD) + GOOD,
        b"HTTP/1.1 200 OK\r\n\r\n" + GOOD,
        b"HTTP/1.0 200 OK\r\n\r\n" + GOOD,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(GOOD)
        + GOOD
        + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + response(200, GOOD),
        response(200, GOOD) + b"HTTP/1.1 200 OK\r\n\r\nwhat nobody asked for",
    ],
    ids=["close", "until the end", "HTTP/1.0", "chunked", "continue", "more than asked for"],
)
def test_answers_of_all_shapes(asker: Callable[..., SyncAsker], bytes_sent: bytes) -> None:
    with misbehaving(then=raw(bytes_sent)) as server:
        client = asker(server.url, timeout=PLENTY)
        assert [client.decide().id for _ in range(3)] == [ANSWER["id"]] * 3


def test_a_refusal_before_the_request_was_read_is_heard(asker: Callable[..., SyncAsker]) -> None:
    """The server says why and reads no further; what was sent beyond is of no interest."""

    def refuse() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(10)
            connection.sendall(
                b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\n" + b'{"reason": "too large"}'
            )
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(2**20):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse)
        thread.start()
        client = asker(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=PLENTY)
        choice = client.decide(proposal="p" * 5_000_000)
        thread.join()
    assert choice.error == "refused: 413: too large"


def test_more_requests_than_connections_wait_for_their_turn() -> None:
    with misbehaving() as server:
        client = SyncAsker(server.url, timeout=PLENTY, connections=2)
        threads = [threading.Thread(target=client.decide) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.counts().fallbacks == {}
        assert len(server.connections) <= 2
        client.call("close")


def test_who_does_not_get_a_turn_in_time_falls_back() -> None:
    release = threading.Event()
    with misbehaving(after(release, raw())) as server:
        client = SyncAsker(server.url, timeout=PLENTY, connections=1)
        thread = threading.Thread(target=client.decide)
        thread.start()
        server.next()
        choice = client.decide(timeout=0.05)
        release.set()
        thread.join()
        client.call("close", timeout=0.001)
    assert str(choice.error).startswith("timeout: ")
    assert server.asked.empty() or server.next().path.endswith(("/decide", "/fallback"))


# -- TLS ---------------------------------------------------------------------------------------


@contextmanager
def secured() -> Iterator[str]:
    """Answer over TLS, any number of times."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    while connection.recv(2**16):
                        connection.sendall(response(200, GOOD))
            except OSError:
                plain.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_a_certificate_is_checked(asker: Callable[..., SyncAsker]) -> None:
    with secured() as url:
        choice = asker(url, timeout=PLENTY).decide()
    assert str(choice.error).startswith("unreachable: ")
    assert "certificate verify failed" in str(choice.error)


def test_an_own_certificate_can_be_trusted(asker: Callable[..., SyncAsker]) -> None:
    context = ssl.create_default_context(cafile=str(CERTIFICATE))
    with secured() as url:
        client = asker(url, timeout=PLENTY, verify=context)
        assert [client.decide().id for _ in range(3)] == [ANSWER["id"]] * 3
        client.close()


def test_checks_can_be_left_out(asker: Callable[..., SyncAsker]) -> None:
    with secured() as url:
        client = asker(url, timeout=PLENTY, verify=False)
        assert client.decide().id == ANSWER["id"]
        client.close()


def test_a_handshake_that_hangs_meets_the_deadline(asker: Callable[..., SyncAsker]) -> None:
    """The system takes the connection and nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = asker(f"https://127.0.0.1:{listener.getsockname()[1]}", timeout=0.1)
        choice = client.decide()
    assert str(choice.error).startswith("timeout: ")
    assert client.counts().unreported == 0  # no byte of the request has left


def test_problems_are_read_over_kept_connections(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(then=problem(422, reason="0 rows", field="features")) as server:
        client = asker(server.url, timeout=PLENTY)
        errors = {client.decide().error for _ in range(3)}
        assert len(server.connections) == 1
    assert errors == {"refused: 422: features: 0 rows"}


def test_what_must_not_be_done_twice_gets_a_new_connection(
    asker: Callable[..., SyncAsker],
) -> None:
    """A kept one may be closed just then, and nobody would know whether it was done."""
    made = answer({"checkpoints": 1})
    with misbehaving(then=made) as server:
        client = asker(server.url, timeout=PLENTY)
        assert [client.call("checkpoint", "shop").checkpoints for _ in range(3)] == [1] * 3
        assert len(server.connections) == 3


def test_a_kept_connection_that_breaks_is_no_attempt(asker: Callable[..., SyncAsker]) -> None:
    """The service hangs up as the request comes, loses one answer, then answers."""
    with misbehaving(answer(ANSWER), raw(), raw()) as server:
        client = asker(server.url, timeout=PLENTY)
        assert not client.decide().fallback
        assert not client.decide().fallback
        keys = [server.next().document["idempotency_key"] for _ in range(4)]
    assert len(set(keys[1:])) == 1
