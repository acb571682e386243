"""A web server on this machine, for what is downloaded."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Answer(NamedTuple):
    """What the server says to a request for one path."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    length: int | None = -1
    """The length it claims: -1 for the true one, None for no claim."""
    chunked: bool = False
    """Send the body as one chunk and never the last, empty one: broken off half way."""


class Server(NamedTuple):
    """Where the server listens, and the paths it was asked for."""

    url: str
    asked: list[str]


@contextmanager
def serving(answers: Mapping[str, Answer]) -> Iterator[Server]:
    """Serve these paths on a free port; any other is not found."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the name http.server looks for
            asked.append(self.path)
            answer = answers.get(self.path, Answer(status=404))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Connection", "close")
            if answer.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            elif answer.length is not None:
                length = len(answer.body) if answer.length == -1 else answer.length
                self.send_header("Content-Length", str(length))
            self.end_headers()
            if answer.chunked:
                self.wfile.write(b"%x\r\n" % len(answer.body))
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Keep the tests' output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{server.server_port}", asked)
        finally:
            server.shutdown()
            thread.join()
