"""Clients that are slow, endless, too many, or speak no HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from edge import Edge, at_the_edge, wait_until_alone
from fake_desk import FakeDesk, a_log
from handrail.service.http.protocol import _PIPELINED, _SURPLUS
from handrail.service.limits import Limits
from handrail.service.messages import Answer

SHORT = Limits(
    header_seconds=0.1,
    body_seconds=0.1,
    keep_alive_seconds=0.1,
    head_bytes=10_000,
    body_bytes=50_000,
)
PATIENCE = 30.0
"""Seconds after which a test gives up; no test waits as long unless it fails."""


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    with at_the_edge(limits=SHORT) as edge:
        yield edge


@contextmanager
def connected(edge: Edge) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", edge.port), PATIENCE)) as connection:
        yield connection


def everything(connection: socket.socket) -> bytes:
    """Return all that comes until the server closes."""
    parts = []
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def only_answer(data: bytes) -> tuple[int, dict[str, Any]]:
    head, _, body = data.partition(b"\r\n\r\n")
    assert data.count(b"HTTP/1.1 ") == 1
    assert b"content-type: application/problem+json" in head
    assert b"x-content-type-options: nosniff" in head
    assert b"connection: close" in head
    said: dict[str, Any] = json.loads(body)
    assert int(head[9:12]) == said["status"]
    return said["status"], said


def head(edge: Edge, rest: str = "") -> bytes:
    return (
        "POST /v1/policies/a/decide HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {edge.keys['admin']}\r\n{rest}"
    ).encode()


def send_for_long(connection: socket.socket, data: bytes) -> None:
    for _ in range(10_000):
        connection.sendall(data)


def test_a_connection_that_says_nothing_is_closed(edge: Edge) -> None:
    with connected(edge) as connection:
        assert everything(connection) == b""


def test_a_head_that_does_not_come(edge: Edge) -> None:
    with connected(edge) as connection:
        connection.sendall(head(edge))
        assert only_answer(everything(connection))[0] == 408


def test_a_head_that_comes_byte_by_byte(edge: Edge) -> None:
    """Each byte comes before the time is over, and still all of them are too late."""
    with connected(edge) as connection:
        connection.settimeout(0.02)
        received = b""
        for byte in head(edge) + b"X-Long: " + b"x" * 5_000:
            try:
                connection.sendall(bytes([byte]))
                received = connection.recv(65536)
                break
            except TimeoutError:
                continue
        connection.settimeout(PATIENCE)
        assert only_answer(received + everything(connection))[0] == 408


def test_a_body_that_does_not_come(edge: Edge) -> None:
    for said in ("Content-Length: 10\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"):
        with connected(edge) as connection:
            connection.sendall(head(edge, said))
            assert only_answer(everything(connection))[0] == 408
    assert edge.desk.asked == []


def test_between_two_requests(edge: Edge) -> None:
    with connected(edge) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert everything(connection).endswith(b'{"status":"alive"}')


def test_empty_lines_are_no_request(edge: Edge) -> None:
    with connected(edge) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = connection.recv(65536)
        connection.sendall(b"\r\n\r\n")
        received += everything(connection)
        assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 200 OK") == 1


def test_a_second_head_that_does_not_come() -> None:
    with at_the_edge(limits=Limits(header_seconds=0.1)) as edge, connected(edge) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he")
        received = everything(connection)
    first, _, second = received.partition(b'{"status":"alive"}')
    assert first.startswith(b"HTTP/1.1 200 OK")
    assert only_answer(second)[0] == 408


def test_an_endless_head(edge: Edge) -> None:
    with connected(edge) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        with suppress(OSError):
            send_for_long(connection, b"X-Long: " + b"x" * 10_000 + b"\r\n")
        status, said = only_answer(everything(connection))
    assert (status, said["reason"]) == (431, "is larger than 10000 bytes")


@pytest.mark.parametrize("header", [b"X-Long: %s\r\n", b"X: 1\r\nX-Long: %s\r\nY: 2\r\n"])
@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_head_that_is_too_long_and_comes_in_one_piece(header: bytes, before: bytes) -> None:
    """Also behind another request, and with its end in the same piece."""
    begin = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    around = len(begin) + len(header) - len(b"%s") + len(b"\r\n")
    most = SHORT.head_bytes
    for length, status in ((most - around, 401), (most - around + 1, 431), (3 * most, 431)):
        with at_the_edge(limits=Limits(head_bytes=most)) as edge, connected(edge) as connection:
            connection.sendall(before + begin + header % (b"x" * length) + b"\r\n")
            received = everything(connection)
            if status == 401 or not before:
                assert f"HTTP/1.1 {status} ".encode() in received
            else:  # nobody could tell whose answer it is
                assert b"HTTP/1.1 401 " not in received


def test_many_short_headers_are_a_long_head() -> None:
    many = b"".join(b"X-%d: y\r\n" % number for number in range(1_000))
    for repeats, status in ((4, 401), (8, 431)):
        with at_the_edge() as edge, connected(edge) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + many * repeats + b"\r\n")
            assert f"HTTP/1.1 {status} ".encode() in connection.recv(65536)


def test_a_long_address_is_a_long_head() -> None:
    with at_the_edge() as edge, connected(edge) as connection:
        connection.sendall(b"GET /%s HTTP/1.1\r\n\r\n" % (b"x" * 70_000))
        assert connection.recv(65536).startswith(b"HTTP/1.1 431 ")


def test_trailers_are_no_headers(edge: Edge) -> None:
    """Proxies check and add headers, and look at no trailer."""
    begin = b"POST /v1/policies/a/decide HTTP/1.1\r\nHost: localhost\r\n"
    trailer = f"Authorization: Bearer {edge.keys['admin']}\r\n".encode()
    with connected(edge) as connection:
        connection.sendall(
            begin + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + trailer + b"\r\n"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")
        # The next request of the connection has headers of its own again.
        connection.sendall(begin + trailer + b"Content-Length: 2\r\n\r\n{}")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    edge.desk.asked.clear()


def test_a_trailer_changes_nothing(edge: Edge) -> None:
    """Nor does it end the connection, ask for more, or say what the body is."""
    trailer = b"Content-Type: text/plain\r\nExpect: 100-continue\r\nHost: elsewhere\r\n"
    with connected(edge) as connection:
        for _ in range(2):
            connection.sendall(
                head(edge, "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n") + trailer + b"\r\n"
            )
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    edge.desk.asked.clear()


def test_an_endless_body_after_the_answer(edge: Edge) -> None:
    """What is too large is answered at once; what still comes is dropped, and not for ever."""
    with connected(edge) as connection:
        connection.sendall(head(edge, "Content-Length: 1000000000\r\n\r\n"))
        first = connection.recv(65536)
        assert first.startswith(b"HTTP/1.1 413 ")
        with pytest.raises(OSError, match=r"."):
            send_for_long(connection, b" " * 100_000)
    assert edge.desk.asked == []


def test_a_client_that_waits_to_be_asked_for_its_body(edge: Edge) -> None:
    """It was told no instead: the connection ends, since the body may come or not."""
    with connected(edge) as connection:
        connection.sendall(
            b"POST /v1/policies/a/decide HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        received = everything(connection)
    assert received.startswith(b"HTTP/1.1 401 ")
    assert b"100 Continue" not in received


def test_a_client_that_is_asked_for_its_body() -> None:
    with at_the_edge() as edge, connected(edge) as connection:
        connection.sendall(head(edge, "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"))
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nNo colon\r\n\r\n",
        b"POST /v1/policies HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/policies HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/0.9\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",  # no host
    ],
)
def test_what_is_no_http(edge: Edge, data: bytes) -> None:
    with connected(edge) as connection:
        connection.sendall(data)
        received = everything(connection)
    assert only_answer(received)[0] == 400


def test_a_body_that_is_no_http(edge: Edge) -> None:
    with connected(edge) as connection:
        connection.sendall(head(edge, "Transfer-Encoding: chunked\r\n\r\nzz\r\n"))
        assert only_answer(everything(connection))[0] == 400
    assert edge.desk.asked == []


@pytest.mark.parametrize(
    "host",
    ["[::1].evil.example", "evil@127.0.0.1", "localhost:80@evil.example", "a b", "[]"],
)
def test_what_is_no_host(host: str) -> None:
    """Somebody else may read another host from it: none of them is let in without a key."""
    with at_the_edge(auth=False) as edge, connected(edge) as connection:
        connection.sendall(f"GET /v1/policies HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert only_answer(everything(connection))[0] == 400
    assert edge.desk.asked == []


@pytest.mark.parametrize(
    "host", ["localhost", "localhost ", "LOCALHOST:8642", "127.0.0.1:1", "[::1]", "[::1]:8642"]
)
def test_what_is_a_host(edge: Edge, host: str) -> None:
    with connected(edge) as connection:
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_http_1_0() -> None:
    """It needs no host, and knows no transfer coding."""
    with at_the_edge(auth=False) as edge:
        for rest, status in (
            (b"Content-Length: 2\r\n\r\n{}", 200),
            (b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
        ):
            with connected(edge) as connection:
                connection.sendall(b"POST /v1/policies/a/decide HTTP/1.0\r\n" + rest)
                assert everything(connection).startswith(b"HTTP/1.1 %d " % status)
    assert len(edge.desk.asked) == 1


@pytest.mark.parametrize(
    "headers",
    [
        "Authorization: Bearer {read}\r\nAuthorization: Bearer {admin}\r\nContent-Length: 2",
        "Authorization: Bearer {admin}\r\nauthorization: Bearer {admin}\r\nContent-Length: 2",
        "Authorization: Bearer {admin}\r\nHost: elsewhere\r\nContent-Length: 2",
        (
            "Authorization: Bearer {admin}\r\nContent-Type: text/plain\r\n"
            "Content-Type: application/json\r\nContent-Length: 2"
        ),
        "Authorization: Bearer {admin}\r\nTransfer-Encoding: gzip, chunked",
        (
            "Authorization: Bearer {admin}\r\nTransfer-Encoding: identity\r\n"
            "Transfer-Encoding: chunked"
        ),
    ],
)
def test_what_others_may_understand_otherwise(edge: Edge, headers: str) -> None:
    begin = "POST /v1/policies/a/decide HTTP/1.1\r\nHost: localhost\r\n"
    body = "\r\n\r\n2\r\n{}\r\n0\r\n\r\n" if "chunked" in headers else "\r\n\r\n{}"
    with connected(edge) as connection:
        connection.sendall((begin + headers.format_map(edge.keys) + body).encode())
        assert only_answer(everything(connection))[0] == 400
    assert edge.desk.asked == []


def test_far_too_many_requests_at_once() -> None:
    """They are not taken in one go, while all others wait."""
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with at_the_edge() as edge, connected(edge) as connection:
        connection.sendall(request * _PIPELINED)
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < _PIPELINED:
            received += connection.recv(65536)
        connection.sendall(request * (_PIPELINED + 2))
        assert everything(connection).count(b"HTTP/1.1 200 OK") < _PIPELINED


@pytest.mark.parametrize("rest", [b"far too many", b"\0nonsense\r\n\r\n"])
@pytest.mark.parametrize("waits", [True, False])
def test_what_was_decided_is_answered(
    caplog: pytest.LogCaptureFixture, rest: bytes, waits: bool
) -> None:
    """Whatever comes behind it."""
    desk = FakeDesk()
    decide = desk.decide
    began, over = threading.Event(), threading.Event()

    async def wait(*asked: Any, **more: Any) -> list[Answer]:
        began.set()
        while waits and not over.is_set():
            await asyncio.sleep(0.001)
        return await decide(*asked, **more)

    desk.decide = wait  # type: ignore[method-assign]
    with at_the_edge(desk) as edge:
        first = head(edge, "Content-Length: 2\r\n\r\n{}")
        get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with connected(edge) as connection:
            connection.sendall(first)
            assert began.wait(PATIENCE)
            many = get * (_PIPELINED + 2) if rest == b"far too many" else get + rest
            connection.sendall(many)
            # The server has read this far when it answers another connection.
            with edge.client() as client:
                client.get("/healthz")
            over.set()
            received = everything(connection)
        assert received.startswith(b"HTTP/1.1 200 OK")
        assert b"id-1" in received
    assert len(desk.asked) == 1
    assert not [each for each in caplog.records if each.exc_info]


def test_an_upgrade_is_not_made(edge: Edge) -> None:
    with connected(edge) as connection:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\n\r\n"
        )
        received = everything(connection)
    assert received.startswith(b"HTTP/1.1 200 OK")
    assert b"connection: close" in received


def test_pipelined_requests_are_answered_in_order() -> None:
    with at_the_edge() as edge, connected(edge) as connection:
        connection.sendall(
            head(edge, "Content-Length: 2\r\n\r\n{}")
            + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        received = everything(connection)
    assert received.index(b'"id-1"') < received.index(b'"alive"')


def test_too_many_connections() -> None:
    with at_the_edge(limits=Limits(connections=2)) as edge:
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with connected(edge) as first, connected(edge) as second:
            for connection in (first, second):
                connection.sendall(request)
                assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")
            with connected(edge) as third:
                third.sendall(request)
                status, said = only_answer(everything(third))
                assert (status, said["reason"]) == (503, "too many connections")
            first.sendall(request)
            assert first.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_far_too_many_connections() -> None:
    with at_the_edge(limits=Limits(connections=1)) as edge:
        held = [
            socket.create_connection(("127.0.0.1", edge.port), PATIENCE)
            for _ in range(_SURPLUS + 2)
        ]
        try:
            assert everything(held[-1]) == b""  # cut off
        finally:
            for connection in held:
                connection.close()


def test_a_client_that_does_not_read() -> None:
    """An export that nobody takes is broken off, and what it held is let go."""
    desk = FakeDesk()
    desk.logs["a"] = a_log(2_000) * 200
    limits = Limits(body_seconds=0.1)
    with at_the_edge(desk, limits=limits, auth=False) as slow, connected(slow) as connection:
        connection.sendall(b"GET /v1/policies/a/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1) == b"H"  # it is there, and then it is not
        with slow.client(None) as client:
            wait_until_alone(client)
        assert not everything(connection).endswith(b"0\r\n\r\n")
