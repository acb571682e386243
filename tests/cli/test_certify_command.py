"""`handrail certify`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.certificate import cases as table
from handrail.certificate.cases import Case
from handrail.cli import main

SMALL = ["--alpha", "0.3", "--delta", "0.2", "--runs", "60", "--rounds", "200"]
FIELDS = [
    "algorithm", "environment", "alpha", "delta", "runs", "violations", "share", "low", "high",
    "holds",
]  # fmt: skip
QUICK: dict[str, Any] = {"environment": "loud", "alpha": 0.3, "delta": 0.2, "runs": 60}
QUICK |= {"rounds": 200}


def test_a_promise_that_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found.json"
    arguments = ["certify", "CUCB2", "--environment", "loud", *SMALL]
    assert main([*arguments, "--out", str(out)]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].startswith(
        "CUCB2 on loud, alpha 0.3, delta 0.2, checked every-round, baseline known: 60"
    )
    assert text[2] == "verdict: holds (the whole interval is at most delta)"
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found)[: len(FIELDS)] == FIELDS
    assert found == json.loads(out.read_text())
    assert found["holds"] is True


def test_a_promise_that_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "UCB", "--environment", "loud", *SMALL, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["violations"], found["share"], found["holds"]) == (60, 1.0, False)
    assert found["low"] > found["delta"]


def test_parameters_and_a_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["certify", "CUCB2T", "--environment", "loud", *SMALL, "--schedule", "every:5"]
    assert (
        main([*arguments, "--param", "arms=3", "--param", "noise=3", "--param", "policy.noise=0.3"])
        == 1
    )
    assert "checked every:5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "error: algorithm: is required"),
        (["CUCB2"], "error: environment: is required"),
        (["CUCB2", "--environment", "loud", "--alpha", "0.1"], "error: delta: is required"),
        (
            ["CUCB2", "--environment", "lout", *SMALL],
            "error: environment: 'lout' is not known; did",
        ),
        (["CUCB2", "--environment", "late-click", *SMALL], "error: environment: 'late-click' is"),
        (["CUCB2", "--environment", "loud", *SMALL, "--schedule", "x"], "error: schedule: 'x' is"),
        (["CUCB2", "--environment", "loud", *SMALL, "--param", "x"], "error: --param: 'x' is not"),
        (["CUCB2", "--all"], "error: algorithm: is not for --all"),
        (["--all", "--runs", "3"], "error: runs: is not for --all"),
        (["--all", "--param", "a=1"], "error: --param: is not for --all"),
        (["--all", "--out", "no/such/folder/x.json"], "error: --out: no/such/folder is no folder"),
        (["CUCB2", "--environment", "loud", "--alpha", "x"], "error: command line: "),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(complaint)
    assert error.count("\n") == 1


@pytest.mark.parametrize(("expected", "code"), [(False, 0), (True, 1)])
def test_all_of_them(
    expected: bool,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A control that fails is as it should be; a promise that fails is not."""
    group = "entries" if expected else "controls"
    pair = [
        Case(group="entries", algorithm="CUCB2", **QUICK),
        Case(group=group, algorithm="UCB", expected=expected, **QUICK),
    ]
    monkeypatch.setattr(table, "cases", lambda: pair)
    out = tmp_path / "all.json"
    assert main(["certify", "--all", "--workers", "1", "--out", str(out)]) == code
    shown = capsys.readouterr()
    assert "2 verdicts: " in shown.out
    assert "the chance of any false alarm among them is at most" in shown.out
    assert shown.err.count("\n") == 2
    report = json.loads(out.read_text())
    assert report["verdicts"] == 2
    assert report["as_expected"] is not expected
    assert main(["certify", "--all", "--workers", "1", "--json"]) == code
    again = json.loads(capsys.readouterr().out)
    assert again["certificates"] == report["certificates"]
