"""The command line, as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import handrail
from handrail.cli import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"handrail {handrail.__version__}\n"


def test_algorithms_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows == [dict(row) for row in handrail.algorithms()]
    assert list(rows[0]) == [*("name", "estimator", "past", "selection", "schedule", "description")]


def test_algorithms_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 25
    assert lines[0].split() == ["name", "estimator", "past", "selection", "schedule", "description"]
    assert lines[7].split()[:5] == ["CUCB2", "means", "martingale", "constrained", "every-round"]


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "algorithms" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["algorithm"], ["algorithms", "--jsn"], ["--verbose"]])
def test_bad_usage_is_one_line_and_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: command line: ")
    assert printed.err.count("\n") == 1


def test_the_installed_command() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "handrail", "algorithms", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(json.loads(run.stdout)) == 24


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_reader_that_goes_away_is_no_error() -> None:
    """The reader is gone before anything is written, as after `| head` of a long output."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        run = subprocess.run(
            [sys.executable, "-m", "handrail", "algorithms", "--json"],
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line_and_code_2() -> None:
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(
            [sys.executable, "-m", "handrail", "algorithms", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 2
    assert run.stderr.startswith("error: output: ")
    assert run.stderr.count("\n") == 1


def test_nothing_heavy_is_imported_for_help_or_by_import() -> None:
    code = (
        "import sys, handrail, handrail.cli; handrail.cli._parser(); handrail.algorithms(); "
        "print([m for m in ('numpy', 'numba', 'scipy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
