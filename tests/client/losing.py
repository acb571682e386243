"""The real service in a process of its own, and a proxy before it that loses answers on purpose."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from client.misbehaving import Asked, Server, raw, response

LIMIT = 120.0
"""Seconds after which a test that waits in vain gives up."""


@contextmanager
def served(database: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `handrail serve` until the block ends, then stop it in order."""
    command = ["-m", "handrail", "serve", "--no-auth", "--port", "0", "--database", str(database)]
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), line
        yield line.removeprefix("listening on ").strip(), process
        process.terminate()
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
        process.communicate()


class Proxy:
    """Hands requests on, waits for the whole answer, and loses it where it is told to.

    An answer that came from the service is on its disk: what is lost here was committed.
    """

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream.removeprefix("http://")
        self.lose: Callable[[Asked], bool] = lambda _: False
        self.refuse: Callable[[Asked], bool] = lambda _: False
        self.lost: list[Asked] = []

    def __call__(self, connection: socket.socket, asked: Asked) -> None:
        if self.refuse(asked):
            raw(response(503, b"{}"))(connection, asked)
            return
        link = http.client.HTTPConnection(self._upstream, timeout=LIMIT)
        try:
            headers = {"Content-Type": "application/json"} if asked.body else {}
            link.request(asked.method, asked.path, asked.body, headers)
            answer = link.getresponse()
            body = answer.read()
        finally:
            link.close()
        if self.lose(asked):
            self.lost.append(asked)
        else:
            raw(response(answer.status, body))(connection, asked)


@contextmanager
def losing(upstream: str) -> Iterator[tuple[str, Proxy]]:
    """Put a proxy before a service."""
    proxy = Proxy(upstream)
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(listener, (), proxy, None)
    thread = threading.Thread(target=server.accept)
    thread.start()
    try:
        yield server.url, proxy
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for worker in server.threads:
            worker.join()


def key_of(asked: Asked) -> str:
    """Return the idempotency key of a request to decide."""
    return str(json.loads(asked.body)["idempotency_key"])
