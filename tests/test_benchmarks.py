"""The parts of the benchmarks that do not measure: rows, rates, tables, pictures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.chart import draw_chart
from benchmarks.curve import Curve, slope
from benchmarks.growth_chart import draw_growth
from benchmarks.measure import Row, interleave, ratio
from benchmarks.parts import PARTS
from benchmarks.references import rank_one
from benchmarks.table import table

PNG = b"\x89PNG"
ROWS = [
    Row("rounds", "reference", 6.0, "ns"),
    Row("rounds", "ours", 9.0, "ns", "reference", 1.5, 2.0, "spread", aim=1.0),
    Row("rounds", "slow", 90.0, "ns", "reference", 15.0, 2.0),
    Row("start-up", "cold", 12.5, "s", limit=20.0),
    Row("start-up", "leak", -0.01, "bytes", limit=0.1),
    Row("service", "fast", 4_000.0, "pairs/s", "bare", 0.8, 0.7, least=True),
    Row("service", "slow", 2_000.0, "pairs/s", "bare", 0.6, 0.7, least=True),
    Row("service", "stuck", 0.0, "pairs/s", limit=3_000.0, aim=5_000.0, least=True),
]


def curve(power: float, name: str = "a", quantity: str = "rounds") -> Curve:
    """Return one that is flat below 100 and has that power above."""
    sizes = (1.0, 10.0, 100.0, 1_000.0, 10_000.0)
    seconds = tuple(max(1.0, (size / 100) ** power) for size in sizes)
    return Curve(name, quantity, 1, sizes, seconds)


def test_limits() -> None:
    assert [row.met for row in ROWS] == [None, True, False, True, True, True, False, False]
    assert [row.measured for row in ROWS] == [6.0, 1.5, 15.0, 12.5, -0.01, 0.8, 0.6, 0.0]


def test_turns() -> None:
    calls: list[str] = []

    def contestant(name: str, seconds: float) -> float:
        calls.append(name)
        return seconds

    found = interleave({"a": lambda: contestant("a", 2.0), "b": lambda: contestant("b", 4.0)}, 2)
    assert calls == ["a", "b"] * 3
    assert found == {"a": [2.0, 2.0], "b": [4.0, 4.0]}
    assert ratio(found["b"], found["a"]) == 2.0


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_slope_is_that_of_the_upper_half(power: float) -> None:
    assert slope(curve(power)) == pytest.approx(power, abs=1e-9)


def test_table() -> None:
    lines = table(ROWS).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["rounds", "start-up", "service"]
    assert lines[3].split() == ["ours", "9", "ns", "reference", "1.50", "2", "1", "met", "spread"]
    assert lines[4].split()[-2:] == ["NOT", "met"]
    assert lines[6].split() == ["cold", "12.5", "s", "20", "s", "met"]
    assert lines[9].split()[3:] == ["bare", "0.80", "at", "least", "0.7", "met"]


def test_pictures(tmp_path: Path) -> None:
    draw_chart(ROWS, tmp_path / "bench.png")
    curves = [curve(1.0), curve(2.0, "b"), curve(0.0, "a", "dimension")]
    draw_growth(curves, tmp_path / "growth.png")
    for name in ("bench.png", "growth.png"):
        assert (tmp_path / name).read_bytes().startswith(PNG)


def test_the_rank_one_reference_adds_rewards() -> None:
    features = np.random.default_rng(0).standard_normal((4, 6))
    start = features @ features.T / 0.5
    rewards = np.diag([3.0, 3.0, 3.0, 2.0])
    expected = np.linalg.inv(np.linalg.inv(start) + rewards)
    np.testing.assert_allclose(rank_one(start, 11), expected, atol=1e-12)


def test_command_line() -> None:
    def run(*given: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", *given]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=False
        )

    listed = run("--list")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [p.name for p in PARTS]
    unknown = run("no_such_part")
    assert unknown.returncode == 2
    assert "no_such_part" in unknown.stderr
