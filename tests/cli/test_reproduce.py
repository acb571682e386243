"""`handrail reproduce`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.cli import main
from handrail.paper.figures import FIGURES
from handrail.paper.scale import SCALES
from paper_tables import TINY


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.paper.scale.SCALES", {**SCALES, "tiny": TINY})


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["name", *FIGURES]
    assert main(["reproduce", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(FIGURES)
    assert rows[1]["title"] == "Regret on Bernoulli arms"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mba"], "figure: 'mba' is not a figure; did you mean mab?"),
        (["--scale", "papr"], "scale: 'papr' is not a scale; did you mean paper?"),
        (["--redraw", "--force"], "redraw: --force would remove"),
        (["--seed", "-1", "--out", "nowhere"], "seed: "),
        (["--workers", "0", "--out", "nowhere"], "workers: "),
        (["--workers", "two"], "command line: "),
        (["--redraw", "--out", "nowhere"], "out: nowhere holds no results to draw"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {message}")
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_tiny")
def test_claims_and_the_way_to_the_report_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "oracle-mab", "--scale", "tiny"]
    assert main(command) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].split()[:2] == ["claim", "verdict"]
    assert lines[-1] == "report: " + str(Path("out/reproduce-tiny/report.html"))
    assert "drawing 1 figure" in printed.err
    assert main([*command, "--redraw", "--json"]) == 0
    held = json.loads(Path("out/reproduce-tiny/claims.json").read_text())
    assert json.loads(capsys.readouterr().out) == held


@pytest.mark.usefixtures("_tiny")
def test_ctrl_c_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("handrail.paper.reproduce.run", interrupted)
    out = tmp_path / "out"
    assert main(["reproduce", "oracle-mab", "--scale", "tiny", "--out", str(out)]) == 130
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"stopped: what was finished is kept in {out}")
    assert "goes on from there" in message
