"""Same seed, same bits: for any number of workers, any blocks, any company, any process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handrail.environments.registry import parameter_names
from handrail.simulation import entry as entries
from handrail.simulation.blocks import entry
from handrail.simulation.experiment import Contender, Experiment, recorded_rounds
from handrail.simulation.simulate import run_experiment, simulate

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "bernoulli": {
        "environment": "bernoulli",
        "algorithms": ["UCB", "CUCB", "CUCB2", "CUCB2T", "LinUCB"],
        "parameters": {"arms": 4, "checkpoint_every": 30, "alpha": 0.1},
    },
    "linear": {
        "environment": "linear",
        "algorithms": ["LinUCB", "CLUCB-S", "CUCB2"],
        "parameters": {"arms": 5, "dim": 3, "baseline_rank": 2},
    },
    "contextual-linear": {
        "environment": "contextual-linear",
        "algorithms": ["LinUCB", "CLUCB2"],
        "parameters": {"actions": 4, "dim": 3},
    },
}


def _tables(name: str, **size: Any) -> tuple[bytes, bytes]:
    """Both tables, to the last bit."""
    chosen = {"rounds": 120, "runs": 37, "problems": 2, "points": 20, **EXPERIMENTS[name], **size}
    environment = chosen.pop("environment")
    curves, runs = (simulate(environment, per=per, **chosen) for per in ("round", "run"))
    return bits(curves), bits(runs)


def bits(table: Any) -> bytes:
    """All columns of a table; NaN and null have bits too."""
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table[name].combine_chunks()
        digest.update(f"{name} {column.type} {column.null_count}".encode())
        filled = column.fill_null(0) if column.null_count else column
        digest.update(
            np.asarray(filled.to_numpy(zero_copy_only=False)).tolist().__repr__().encode()
        )
    return digest.digest()


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("runs", [37, pytest.param(95, marks=pytest.mark.long)])
def test_workers_and_blocks(name: str, runs: int) -> None:
    """Runs that do not fill their last group; one block, blocks of one group, odd sizes."""
    expected = _tables(name, runs=runs, workers=1, block=1000)
    for workers, block in [(1, 10), (2, 10), (3, 10), (2, 20), (3, 50), (2, 1), (2, 33), (2, None)]:
        assert _tables(name, runs=runs, workers=workers, block=block) == expected


def test_many_pairs_take_larger_blocks() -> None:
    """The default size of blocks depends on the company; the results do not."""
    chosen: dict[str, Any] = {"algorithms": ["UCB"], "rounds": 50, "runs": 23, "arms": 3}
    chosen |= {"baseline_rank": 2}
    alone = simulate("bernoulli", problems=1, **chosen).to_pylist()
    among = simulate("bernoulli", problems=20, **chosen).to_pylist()
    assert [row for row in among if row["problem"] == 0] == alone


SCRIPT = """
from simulation.test_bits import EXPERIMENTS, _tables
print([digest.hex() for name in EXPERIMENTS for digest in _tables(name)])
"""


def test_another_process() -> None:
    """Fresh caches of problems and tables, another number of threads for linear algebra."""
    tests = Path(__file__).parent.parent
    path = os.pathsep.join([str(tests), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        check=True,
        text=True,
        env={**environment, "PYTHONHASHSEED": "7"},
    )
    here = [digest.hex() for name in EXPERIMENTS for digest in _tables(name)]
    assert answer.stdout.strip() == str(here)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_seeds_differ(name: str) -> None:
    results = [_tables(name, seed=seed, runs=3) for seed in (0, 1, 2, 2**63 - 1)]
    assert len({curves for curves, _ in results}) == 4
    assert _tables(name, seed=1, runs=3) == results[1]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_company_changes_nothing(name: str) -> None:
    """More algorithms, problems or runs: what was there stays, in both tables."""
    algorithms = EXPERIMENTS[name]["algorithms"]
    large = _experiment(name, algorithms, rounds=100, runs=25, problems=4)
    everything = run_experiment(large).runs.to_pylist()
    small: dict[str, Any] = {"rounds": 100, "runs": 12, "problems": 2}
    rounds = run_experiment(_experiment(name, algorithms, **small)).curves.to_pylist()
    for fewer in (algorithms[:1], algorithms[-1:], algorithms[::-1]):
        tables = run_experiment(_experiment(name, fewer, **small))
        assert all(row in everything for row in tables.runs.to_pylist())
        assert all(row in rounds for row in tables.curves.to_pylist())
        assert tables.runs.num_rows == 24 * len(fewer)
        assert tables.curves.num_rows == len(rounds) * len(fewer) // len(algorithms)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_runs_and_problems_differ(name: str) -> None:
    """No run repeats another's rewards: 400 rounds of something unconstrained are never alike."""
    experiment = _experiment(name, ["LinUCB"], rounds=400, runs=5, problems=3)
    traces = {
        entry(experiment, experiment.contenders[0], problem).play(run, trace=True)[2].tobytes()
        for problem in range(3)
        for run in range(5)
    }
    assert len(traces) == 15


def _experiment(name: str, algorithms: list[str], **size: Any) -> Experiment:
    """One of the experiments with these algorithms."""
    given = EXPERIMENTS[name]["parameters"]
    own = {key: value for key, value in given.items() if key in parameter_names(name)}
    rest = {key: value for key, value in given.items() if key not in own}
    contenders = tuple(Contender(each) for each in algorithms)
    return Experiment(name, own, contenders, policy=rest, seed=9, points=12, **size)


def test_algorithms_see_the_same_rewards() -> None:
    """Where two algorithms have played an arm equally often, they know the same of it.

    CUCB-M and CUCB2 start alike; UCB and CUCB know an arm's first rewards alike. Seen through
    traces: after the same plays the same decision follows.
    """
    policy = {"alpha": 0.999999, "delta": 0.1, "accounting": "paper"}
    contenders = (Contender("CUCB"), Contender("CUCB-M"), Contender("CUCB-S"), Contender("CUCB2"))
    drawing = {"arms": 4, "low": 0.2, "high": 0.9}
    experiment = Experiment("bernoulli", drawing, contenders, 300, 1, 1, 5, policy)
    traces = [entry(experiment, each, 0).play(2, trace=True)[2] for each in contenders]
    # With alpha next to 1 everything is safe from the start: four names for one algorithm.
    for trace in traces[1:]:
        np.testing.assert_array_equal(trace, traces[0])
    assert len(set(traces[0].tolist())) == 4


def test_portions_of_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rounds are brought at a time."""
    contenders = tuple(Contender(name) for name in ("LinUCB", "CLUCB", "CLUCB2", "CLUCB-Or"))
    drawing = {"actions": 5, "dim": 4}
    experiment = Experiment("contextual-linear", drawing, contenders, 333, 1, 1, 3, points=50)
    for contender in contenders:
        ready = entry(experiment, contender, 0)
        monkeypatch.undo()
        curve, meter, actions = ready.play(1, trace=True)
        for portion in (1, 20, 20 * 7, 20 * 332, 20 * 333):
            monkeypatch.setattr(entries, "_PORTION", portion)
            other_curve, other_meter, other_actions = ready.play(1, trace=True)
            assert actions.tobytes() == other_actions.tobytes()
            assert curve.tobytes() == other_curve.tobytes()
            assert meter.tobytes() == other_meter.tobytes()


# ---------------------------------------------------------------- means and errors over runs


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("runs", [2, 10, 11, 37])
def test_moments(name: str, runs: int) -> None:
    """Mean, standard error with n - 1, and shares of events, from the curves of single runs."""
    algorithms = EXPERIMENTS[name]["algorithms"]
    experiment = _experiment(name, algorithms, rounds=150, runs=runs, problems=2)
    tables = run_experiment(experiment, block=10)
    rows = tables.curves.to_pylist()
    single = tables.runs.to_pylist()
    for contender in experiment.contenders:
        for problem in range(2):
            ready = entry(experiment, contender, problem)
            curves = np.array([ready.play(run)[0] for run in range(runs)])
            mine = {"problem": problem, "algorithm": contender.algorithm}
            found = [row for row in rows if mine.items() <= row.items()]
            assert [row["round"] for row in found] == ready.grid.tolist()
            error = curves.std(axis=0, ddof=1) / np.sqrt(runs)
            for point, row in enumerate(found):
                for column, what in enumerate(["regret", "budget"]):
                    expected = curves[:, point, column].mean()
                    assert row[f"{what}_mean"] == pytest.approx(expected, rel=1e-12, abs=1e-12)
                    spread = error[point, column]
                    assert row[f"{what}_se"] == pytest.approx(spread, rel=1e-9, abs=1e-12)
                shares = curves[:, point, 2:].mean(axis=0) / row["round"]
                assert [row["e1"], row["e2"]] == pytest.approx(shares.tolist(), abs=1e-14)
                assert row["e3"] == pytest.approx(1 - shares.sum(), abs=1e-14)
                assert row["e3"] >= 0
            ends = [row["regret"] for row in single if mine.items() <= row.items()]
            assert ends == curves[:, -1, 0].tolist()


def test_a_single_run_has_no_error() -> None:
    row = simulate("bernoulli", algorithms=["UCB"], rounds=50, runs=1).to_pylist()[-1]
    assert row["regret_se"] is None or np.isnan(row["regret_se"])
    assert np.isfinite(row["regret_mean"])


@pytest.mark.parametrize("points", [1, 2, 3, 7, 99, 500])
def test_recorded_rounds(points: int) -> None:
    for rounds in [*range(1, 60), 499, 500, 501, 19_999, 10**6, 10**9]:
        grid = recorded_rounds(rounds, points)
        assert grid[-1] == rounds
        assert grid[0] >= 1
        assert len(grid) <= points
        assert (np.diff(grid) > 0).all()
        if rounds <= points // 2:
            assert len(grid) == rounds
