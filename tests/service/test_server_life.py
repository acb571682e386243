"""A server's life: how it starts, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from children import child, line
from fake_desk import FakeDesk, FakeStore
from fake_service import SCRIPT
from handrail.errors import InputError
from handrail.service.keys import Keyring, new_key
from handrail.service.server import Settings, bind, first_keys, serve

PATIENCE = 30.0
"""Seconds after which a test gives up; no test waits as long unless it fails."""


@contextmanager
def running(
    folder: Path, mode: str = "", grace: float = 10.0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server; yield its process and its address."""
    with child(SCRIPT, folder, mode, grace) as process:
        said = line(process)
        assert said.startswith("listening on http://127.0.0.1:"), said
        yield process, said.removeprefix("listening on ")


def refuses(url: str) -> bool:
    """Say whether nobody listens any longer."""
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def decide(url: str, name: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/policies/{name}/decide", timeout=PATIENCE, trust_env=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_answers_what_is_in_flight(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path) as (process, url), ThreadPoolExecutor() as pool:
        asked = pool.submit(decide, url, "slow")
        assert line(process) == "deciding"
        process.send_signal(number)
        while not refuses(url):
            pass
        assert not asked.done()
        (tmp_path / "go").touch()
        answer = asked.result(PATIENCE)
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        assert line(process) == "desk stopped"  # after the answer, not before
        assert process.wait(PATIENCE) == 0


def test_idle_connections_do_not_hold_it_up(tmp_path: Path) -> None:
    with running(tmp_path, grace=3600.0) as (process, url), httpx.Client(trust_env=False) as client:
        assert client.get(f"{url}/healthz").status_code == 200
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_at_the_end_it_notes_which_keys_were_used(tmp_path: Path) -> None:
    with child(SCRIPT, tmp_path, "keys", 10.0) as process:
        key, url = line(process), line(process).removeprefix("listening on ")
        header = {"Authorization": f"Bearer {key}"}
        answer = httpx.get(f"{url}/v1/policies", headers=header, trust_env=False)
        assert answer.status_code == 200
        process.terminate()
        assert line(process) == f"used: {key.split('_')[1]}"
        assert line(process) == "desk stopped"  # afterwards, when all was written
        assert process.wait(PATIENCE) == 0


def test_what_takes_too_long_is_cut_off(tmp_path: Path) -> None:
    with running(tmp_path, grace=0.1) as (process, url), ThreadPoolExecutor() as pool:
        asked = pool.submit(decide, url, "slow")
        assert line(process) == "deciding"
        process.terminate()
        with pytest.raises(httpx.HTTPError):
            asked.result(PATIENCE)
        assert process.wait(PATIENCE) == 0


def test_told_twice_it_leaves_at_once(tmp_path: Path) -> None:
    with running(tmp_path, grace=3600.0) as (process, url), ThreadPoolExecutor() as pool:
        asked = pool.submit(decide, url, "slow")
        assert line(process) == "deciding"
        process.terminate()
        while not refuses(url):
            pass
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        with pytest.raises(httpx.HTTPError):
            asked.result(PATIENCE)


def test_it_does_not_wait_for_the_compiler(tmp_path: Path) -> None:
    with running(tmp_path, "compiling") as (process, url):
        assert line(process) == "compiling"
        assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
        assert httpx.get(f"{url}/readyz", trust_env=False).status_code == 503
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_broken_database_ends_it_and_nothing_is_acknowledged(tmp_path: Path) -> None:
    with running(tmp_path, "broken") as (process, url), ThreadPoolExecutor() as pool:
        waiting = pool.submit(decide, url, "slow")
        assert line(process) == "deciding"
        with pytest.raises(httpx.HTTPError):
            decide(url, "a").raise_for_status()
        assert process.wait(PATIENCE) == 1
        with pytest.raises(httpx.HTTPError):
            waiting.result(PATIENCE).raise_for_status()


def settings(**changes: Any) -> Settings:
    return Settings(**{"host": "127.0.0.1", "port": 0, "database": "nothing", **changes})


def serve_nothing(chosen: Settings, store: FakeStore) -> None:
    def open_store(source: str) -> Any:
        return store

    serve(chosen, open_store, lambda *_: FakeDesk(), lambda line: None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_without_keys_only_here(host: str) -> None:
    with pytest.raises(InputError, match=r"no-auth: .* can be reached from elsewhere"):
        serve_nothing(settings(host=host, auth=False), FakeStore())


def test_without_a_key_nobody_elsewhere_is_served() -> None:
    _, revoked = new_key("admin")
    for rows in ([], [revoked._replace(revoked_at=1)]):
        store = FakeStore(rows)
        with pytest.raises(InputError, match="there is no key yet; make one: handrail keys create"):
            serve_nothing(settings(host="0.0.0.0"), store)
        assert store.rows == rows
        assert store.closed


def test_the_first_key_is_made_and_said_once() -> None:
    store, said = FakeStore(), list[str]()
    rows = first_keys(store, settings(), said.append)
    assert rows == store.rows
    (text,) = said
    key = Keyring(rows).check(text.split()[-1])
    assert key is not None
    assert (key.role, key.policy) == ("admin", None)
    assert first_keys(store, settings(), said.append) == rows
    assert first_keys(store, settings(host="0.0.0.0"), said.append) == rows
    assert len(said) == 1


def test_whoever_revoked_all_keys_is_given_none() -> None:
    _, revoked = new_key("admin")
    store, said = FakeStore([revoked._replace(revoked_at=1)]), list[str]()
    first_keys(store, settings(), said.append)
    assert said == []
    assert len(store.rows) == 1


def test_a_port_in_use() -> None:
    with closing(bind("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        opened = FakeStore()
        with pytest.raises(InputError, match=f"port: cannot listen on 127.0.0.1 port {port}"):
            serve_nothing(settings(port=port), opened)
        assert opened.rows == []  # the database was not touched


@pytest.mark.parametrize("host", ["no such host", "256.256.256.256", "x" * 1000])
def test_no_address(host: str) -> None:
    with pytest.raises(InputError, match="host"):
        bind(host, 0)


def test_the_log_is_lines_of_json_without_secrets(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path), "", "10"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        url = line(process).removeprefix("listening on ")
        httpx.get(f"{url}/healthz", headers={"Authorization": "Bearer hush"}, trust_env=False)
        process.terminate()
        _, log = process.communicate()
    finally:
        timer.cancel()
        process.kill()
    lines = [json.loads(each) for each in log.splitlines()]
    assert [each["message"] for each in lines] == ["ready", "stopping", "stopped"]
    assert all({"time", "level", "logger"} <= set(each) for each in lines)
    assert "hush" not in log
