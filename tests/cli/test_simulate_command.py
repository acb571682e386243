"""`handrail simulate`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from handrail.cli import main

SMALL = ["simulate", "bernoulli", "--rounds", "200", "--runs", "4", "--problems", "2"]


def test_a_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*SMALL, "--algorithms", "UCB, CUCB2", "--param", "arms=5"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "bernoulli: 2 problem(s) x 4 run(s), 200 rounds, seed 0"
    assert [line.split()[0] for line in lines[2:4]] == ["UCB", "CUCB2"]
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["algorithm"] for row in rows] == ["UCB", "CUCB2"]
    assert rows[1]["violated"] == 0.0
    assert rows[0]["e1"] + rows[0]["e2"] + rows[0]["e3"] == pytest.approx(1.0)


def test_tables_are_written_and_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = [*SMALL, "--algorithms", "CUCB2T", "--param", "checkpoint_every=20"]
    assert main([*arguments, "--out", str(out)]) == 0
    curves, runs = (pq.read_table(out / f"{name}.parquet") for name in ("curves", "runs"))
    assert runs.num_rows == 8
    note = json.loads(curves.schema.metadata[b"handrail"])
    assert note["settings"]["seed"] == 0
    assert note["settings"]["policy"] == {"checkpoint_every": 20}
    assert "numpy" in note["versions"]
    before = (out / "curves.parquet").read_bytes()
    assert main([*arguments, "--out", str(out)]) == 0
    assert (out / "curves.parquet").read_bytes() == before
    capsys.readouterr()
    assert main([*arguments, "--out", str(out), "--seed", "1"]) == 2
    assert capsys.readouterr().err.startswith("error: out: ")
    assert (out / "curves.parquet").read_bytes() == before
    assert main([*arguments, "--out", str(out), "--seed", "1", "--force"]) == 0
    assert (out / "curves.parquet").read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--algorithms", "CUBC2"], "error: algorithm: 'CUBC2' is not in the catalogue; did you"),
        (["--algorithms", ""], "error: algorithms: none is given"),
        (["--algorithms", "UCB", "--param", "armz=3"], "error: armz: is a parameter neither"),
        (["--algorithms", "UCB", "--param", "arms"], "error: --param: 'arms' is not of the form"),
        (["--algorithms", "UCB", "--param", "LinUCB.ridge=2"], "error: LinUCB.ridge: 'LinUCB' is"),
        (["--algorithms", "UCB", "--param", "UCB.alpha=0.1"], "error: alpha: UCB does not use it"),
        (["--algorithms", "CUCB2", "--param", "alpha=2"], "error: alpha: 2 is outside (0, 1)"),
        (["--algorithms", "CUCB2T"], "error: checkpoint_every: is required"),
        (["--algorithms", "UCB", "--runs", "0"], "error: runs: 0 is out of range"),
        (["--algorithms", "UCB", "--engine", "warp"], "error: engine: 'warp' is not known"),
        (["--algorithms", "UCB", "--workers", "0"], "error: workers: 0 is out of range"),
        (["--algorithms", "UCB", "--param", "window=3"], "error: window: is not for a simulation"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(complaint)
    assert error.count("\n") == 1


def test_contexts_need_linear_algorithms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "contextual-linear", "--rounds", "5", "--algorithms", "CUCB"]) == 2
    assert "CUCB needs arms that stay the same" in capsys.readouterr().err
