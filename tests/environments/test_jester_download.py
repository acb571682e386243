"""The Jester ratings from a web server: the original, or one clear error and nothing kept."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from handrail.environments import jester
from jester_copy import COPY, LOOK_ALIKE, alone, held, needs_copy, refused, zipped
from loopback import Answer, serving


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return alone(monkeypatch, tmp_path)


@needs_copy
def test_download(cache: Path) -> None:
    content = Path(COPY).read_bytes()
    said: list[str] = []
    answers = {
        "/jester.zip": Answer(content),
        "/moved": Answer(status=302, headers={"Location": "/jester.zip"}),
        "/unsized": Answer(content, length=None),
    }
    with serving(answers) as server:
        for path in ("/jester.zip", "/moved", "/unsized"):
            kept = jester.fetch_jester(server.url + path, say=said.append)
            assert jester.is_kept()
            assert list(held(cache)) == ["data/jester.npy"]
            kept.unlink()
    assert server.asked == ["/jester.zip", "/moved", "/jester.zip", "/unsized"]
    assert said == [
        f"downloading {server.url}/jester.zip (3.4 MB)",
        f"downloading {server.url}/moved (3.4 MB)",
        f"downloading {server.url}/unsized (size not given)",
    ]


PAGE = b"\n <!DOCTYPE html><html><body>Moved.</body></html>"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(status=404), "was answered with 404 Not Found"),
        (Answer(status=503), "was answered with 503 Service Unavailable"),
        (Answer(status=299, body=b"1,2\n"), "the download is not the original"),
        (Answer(status=302, headers={"Location": "/other"}), "answered with 404"),
        (Answer(status=302, headers={"Location": "/here"}), "a redirect that cannot be followed"),
        (
            Answer(status=302, headers={"Location": "file:///etc/hosts"}),
            "a redirect that cannot be followed",
        ),
        (Answer(status=302, headers={"Location": "ftp://127.0.0.1/a"}), "unknown url type: ftp"),
        (Answer(PAGE), "a web page in place of the file"),
        (Answer(status=302, headers={"Location": "/page"}), "a web page in place of the file"),
        (Answer(b"PK\x03\x04 half", length=1000), "broke off after 9 of 1,000 bytes"),
        (Answer(b"PK\x03\x04 half", chunked=True), "broke off"),
        (Answer(b"", length=64_000_001), "holds 64.0 MB, more than the 64 MB that are taken"),
        (Answer(), "is empty"),
        (Answer(b"PK\x03\x04 no zip"), "cannot be read as zip"),
        (Answer(zipped(("a.csv", LOOK_ALIKE))), "other content"),
        (Answer(zipped(("a.csv", b"1,2\n3,4\n"))), "2 x 2 cells"),
    ],
)
def test_failed_downloads(cache: Path, answer: Answer, reason: str) -> None:
    with serving({"/here": answer, "/page": Answer(PAGE)}) as server:
        error = refused(
            lambda: jester.fetch_jester(server.url + "/here", timeout=5.0), reason, cache
        )
    assert "`handrail data jester --file PATH`" in error.remedy


def test_a_body_without_end(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jester, "_LIMIT", 1_000_000)
    with serving({"/here": Answer(b"1" * 3_000_000, length=None)}) as server:
        refused(
            lambda: jester.fetch_jester(server.url + "/here"), "holds more than the 1 MB", cache
        )


def test_a_server_that_never_answers(cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/jester.zip"
        error = refused(
            lambda: jester.fetch_jester(url, timeout=0.1), "gave no answer for 0.1 s", cache
        )
    assert "--file PATH" in error.remedy
    refused(lambda: jester.fetch_jester(url, timeout=5.0), "Connection refused", cache)


def test_a_server_that_falls_silent_half_way(cache: Path) -> None:
    done = threading.Event()

    def answer(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nPK\x03\x04")
            done.wait(10.0)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=[listening])
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/jester.zip"
        refused(lambda: jester.fetch_jester(url, timeout=0.2), "gave no answer for 0.2 s", cache)
        done.set()
        thread.join()


@pytest.mark.parametrize(
    "url", ["jester.zip", "file:///etc/hosts", "ftp://127.0.0.1/a", "http://", "http://a b/", "x:y"]
)
def test_addresses_that_are_none(cache: Path, url: str) -> None:
    refused(lambda: jester.fetch_jester(url, timeout=1.0), "cannot be downloaded", cache)


def test_the_address_can_be_set(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({}) as server:
        monkeypatch.setenv("HANDRAIL_JESTER_URL", f"{server.url}/mirror.zip")
        refused(jester.fetch_jester, f"{server.url}/mirror.zip was answered with 404", cache)
    assert server.asked == ["/mirror.zip"]
