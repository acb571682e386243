"""`handrail serve`, as a user types it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from edge import logging_restored
from handrail.cli import main

PATIENCE = 60.0
"""Seconds after which a test gives up."""
POLICY = {
    "name": "prices",
    "algorithm": "HANDRAIL",
    "arms": ["now", "lower", "higher"],
    "baseline": "now",
    "baseline_mean": 0.5,
    "alpha": 0.1,
    "delta": 0.05,
    "reward_range": [0, 1],
}


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run `handrail serve` on a free port until it is ready; yield it and what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "handrail", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "XDG_DATA_HOME": str(folder),
        },
    )
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if line.startswith("listening on "):
                break
        assert process.stderr is not None
        assert any('"message": "ready"' in line for line in process.stderr)
        yield process, said
    finally:
        process.kill()
        process.communicate()


def client(said: list[str], key: str) -> httpx.Client:
    return httpx.Client(
        base_url=said[-1].removeprefix("listening on "),
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
        timeout=PATIENCE,
    )


def first_key(said: list[str]) -> str:
    (key,) = [word for line in said for word in line.split() if word.startswith("hr_")]
    return key


@pytest.mark.skipif(sys.platform != "linux", reason="where data folders are differs")
def test_from_the_first_start_to_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "handrail" / "handrail.db"
    with serving(tmp_path) as (process, said):
        assert said[0] == f"database {file}"
        assert re.fullmatch(r"listening on http://127\.0\.0\.1:\d+", said[-1])
        key = first_key(said)
        with client(said, key) as caller:
            assert caller.post("/v1/policies", json=POLICY).status_code == 201
            decided = caller.post("/v1/policies/prices/decide").json()
            assert decided["action"] == "now"
            another = main(["keys", "create", "--role", "read", "--database", str(file)])
            assert another == 0
            (made,) = re.findall(r"hr_[0-9a-f]{8}_[0-9a-f]+", capsys.readouterr().out)
            page = caller.get("/v1/policies", headers={"Authorization": f"Bearer {made}"})
            assert page.status_code == 200  # without a restart
        process.send_signal(signal.SIGTERM)
        rest, log = process.communicate(timeout=PATIENCE)
        assert (process.returncode, rest) == (0, "")
        assert key not in log
        assert made not in log
    with serving(tmp_path) as (_, said):
        assert len(said) == 2  # no key is printed any more
        with client(said, key) as caller:
            assert caller.get("/v1/policies/prices").json()["round"] == 1
            again = serve_here(["--database", str(file), "--port", "0"], capsys)
            assert re.fullmatch(r"error: database: .*in use by another server.*\n", again)


def serve_here(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that a start ends with that is refused."""
    with logging_restored():
        assert main(["serve", *arguments]) == 2
    printed = capsys.readouterr()
    assert "listening" not in printed.out
    assert printed.err.count("\n") == 1
    return printed.err


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = ["--database", str(tmp_path / "log.db")]
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        said = serve_here([*database, "--port", str(port)], capsys)
        assert said.startswith(f"error: port: cannot listen on 127.0.0.1 port {port}: ")
    assert not (tmp_path / "log.db").exists()
    said = serve_here([*database, "--port", "70000"], capsys)
    assert said.startswith("error: port: 70000 is no port; ")
    said = serve_here([*database, "--port", "0", "--no-auth", "--host", "0.0.0.0"], capsys)
    assert said.startswith("error: no-auth: 0.0.0.0 can be reached from elsewhere; ")
    said = serve_here([*database, "--port", "0", "--host", "0.0.0.0"], capsys)
    assert "there is no key yet; make one: handrail keys create --role admin" in said
    said = serve_here(["--database", str(tmp_path), "--port", "0"], capsys)
    assert said.startswith("error: database: ")


def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = serve_here([], capsys)
    assert said == "error: uvicorn: is not installed; pip install 'handrail[service]'\n"
