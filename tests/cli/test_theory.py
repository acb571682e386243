"""`handrail theory`, as a user types it."""

from __future__ import annotations

import json

import pytest

from handrail import theory
from handrail.cli import main

FLAGS = [
    *("--alpha", "0.1", "--delta", "0.02", "--dim", "3", "--noise", "0.2", "--ridge", "0.7"),
    *("--theta-bound", "0.9", "--feature-bound", "1.5", "--baseline-low", "0.4"),
    *("--baseline-high", "0.6", "--gap", "0.3", "--checkpoint-every", "5000", "--rounds", "9999"),
]
SETTING = theory.Setting(
    alpha=0.1, delta=0.02, dim=3, noise=0.2, ridge=0.7, theta_bound=0.9, feature_bound=1.5,
    baseline_low=0.4, baseline_high=0.6, gap=0.3, checkpoint_every=5000, rounds=9999,
)  # fmt: skip


def test_json_holds_every_bound_of_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory", "--json", *FLAGS]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(json.dumps(theory.evaluate(SETTING).json()))
    assert found["free_rounds"] == 344


def test_the_table_says_what_is_vacuous(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory"]) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[0].startswith("alpha 0.05, delta 0.01, dim 100")
    assert lines[1].split() == ["symbol", "value", "meaning"]
    assert "informative" not in printed  # these are the settings of figure `linear`
    assert sum(line.split()[2:3] == ["vacuous"] for line in lines) == 9
    assert main(["theory", "--dim", "2", "--feature-bound", "2", "--rounds", "1000000"]) == 0
    (regret,) = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.endswith("regret (corrected, as a maximum)")
    ]
    assert regret.split()[2] == "informative"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--alpha", "1.5"], "alpha: 1.5 is outside (0, 1)"),
        (["--dim", "1"], "dim: 1 is out of range"),
        (["--baseline-low", "0.9"], "baseline_low: 0.9 is above baseline_high, 0.55"),
        (["--rounds", "many"], "command line: "),
        (["--gap", "2"], "gap: 2 is outside [0, 1]"),
        (["--noise", "nan"], "noise: nan is not finite"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["theory", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {message}")
    assert printed.err.count("\n") == 1
