"""Where a run is computed: what is wrong with that is said before anything is done."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import handrail
from handrail.cli import main
from handrail.errors import InputError
from handrail.simulation.cluster import crew as crews
from handrail.simulation.cluster.crew import Cluster


@pytest.mark.parametrize(
    ("on", "complaint"),
    [
        ("cluster", "on: 'cluster' is not an address; pass local, or"),
        ("host:8786", "on: 'host:8786' is not an address; did you mean tcp://host:8786?"),
        ("tcp://", "on: 'tcp://' does not name a host and a port; pass"),
        ("tcp://host", "on: 'tcp://host' does not name a host and a port; pass"),
        ("tcp://host:port", "on: 'tcp://host:port' does not name"),
        ("tcp://host:1/path", "on: 'tcp://host:1/path' does not name"),
        ("http://host:80", "on: 'http' is not tcp or tls; pass"),
        ("tcp://127.0.0.1:9", "on: no Dask scheduler answers at tcp://127.0.0.1:9 ("),
        ("tls://127.0.0.1:9", "on: no Dask scheduler answers at tls://127.0.0.1:9 ("),
    ],
)
def test_bad_places_are_one_line_and_touch_nothing(
    on: str,
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crews, "_REACHED_WITHIN", 0.5)
    out = tmp_path / "out"
    simulate = ["simulate", "bernoulli", "--algorithms", "UCB", "--rounds", "10"]
    for command in (simulate, ["reproduce", "oracle-mab"]):
        assert main([*command, "--on", on, "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {complaint}")
        assert error.count("\n") == 1
    assert not out.exists()


def test_a_server_that_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "_REACHED_WITHIN", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(InputError, match="no answer in time"):
            Cluster(f"tcp://127.0.0.1:{port}")


def test_workers_are_for_this_machine() -> None:
    with pytest.raises(InputError, match="a cluster uses all threads") as caught:
        handrail.simulate(
            "bernoulli", algorithms=["UCB"], rounds=9, on="tcp://127.0.0.1:9", workers=2
        )
    assert caught.value.field == "workers"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'handrail\[dask\]'"):
        handrail.simulate("bernoulli", algorithms=["UCB"], rounds=9, on="tcp://127.0.0.1:9")
