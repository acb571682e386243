"""`handrail.simulate`: where parameters go, what comes back, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import handrail
from handrail.environments.bernoulli import Bernoulli
from handrail.simulation.blocks import entry
from handrail.simulation.prepare import policy_parameters
from handrail.simulation.simulate import make_experiment, run_experiment
from handrail.simulation.summary import summarise
from handrail.simulation.tables import read_tables, table_bytes, write_tables

CURVES = [
    *("problem", "algorithm", "round", "regret_mean", "regret_se", "budget_mean", "budget_se"),
    *("e1", "e2", "e3"),
]
RUNS = [
    *("problem", "algorithm", "run", "regret", "smallest_budget", "violations"),
    *("smallest_budget_at_checkpoints", "e1", "e2", "e3"),
]
SIZE: dict[str, Any] = {"rounds": 60, "runs": 3, "problems": 2, "seed": 0}


# ---------------------------------------------------------------- where parameters go


def test_parameters_find_their_place() -> None:
    """Of the environment, of all policies that use them, of one."""
    experiment = make_experiment(
        "linear",
        ["LinUCB", "CLUCB2", "CLUCB2T", "CUCB2"],
        {
            "arms": 6,
            "noise": 0.2,
            "policy.noise": 0.3,
            "environment.dim": 4,
            "alpha": 0.1,
            "ridge": 0.7,
            "policy.delta": 0.2,
            "checkpoint_every": 20,
            "CLUCB2.width": "determinant",
            "CUCB2.clip": "none",
        },
        **SIZE,
    )
    assert experiment.parameters == {"arms": 6, "noise": 0.2, "dim": 4}
    linucb, clucb2, clucb2t, cucb2 = (
        policy_parameters(experiment, each) for each in experiment.contenders
    )
    shared = {"noise": 0.3, "delta": 0.2}
    assert linucb == {**shared, "ridge": 0.7}
    assert clucb2 == {**shared, "ridge": 0.7, "alpha": 0.1, "width": "determinant"}
    assert clucb2t == {**shared, "ridge": 0.7, "alpha": 0.1, "checkpoint_every": 20}
    assert cucb2 == {**shared, "alpha": 0.1, "clip": "none"}
    ready = entry(experiment, experiment.contenders[1], 0)
    assert ready.problem.noise == 0.2
    assert ready.rules["noise"][0] == 0.3
    assert ready.rules["ridge"][0] == 0.7


def test_parameters_make_a_difference() -> None:
    """Each changes what it should, and one algorithm's own leave the others alone."""
    chosen: dict[str, Any] = {"algorithms": ["UCB", "CUCB2"], "arms": 4, **SIZE, "rounds": 400}

    def regrets(**more: Any) -> dict[str, list[float]]:
        rows = handrail.simulate("bernoulli", per="run", **{**chosen, **more}).to_pylist()
        return {
            name: [row["regret"] for row in rows if row["algorithm"] == name]
            for name in ("UCB", "CUCB2")
        }

    plain = regrets()
    for change in ({"arms": 5}, {"low": 0.0}, {"seed": 1}, {"delta": 0.5}):
        changed = regrets(**change)
        assert changed["UCB"] != plain["UCB"]
        assert changed["CUCB2"] != plain["CUCB2"]
    of_one: list[dict[str, Any]] = [
        {"alpha": 0.5},
        {"CUCB2.width": "mixture"},
        {"CUCB2.alpha": 0.5},
    ]
    for own in of_one:
        changed = regrets(parameters=own)
        assert changed["UCB"] == plain["UCB"]
        assert changed["CUCB2"] != plain["CUCB2"]
    assert regrets(parameters={"policy.alpha": 0.05, "policy.delta": 0.01}) == plain
    assert regrets(parameters={"low": 0.1}) == regrets(low=0.1)


def test_alpha_measures_the_budget_of_algorithms_that_know_none() -> None:
    """budget = sum of mu - (1 - alpha) mu_b: one round more of mu_b alpha per round."""
    chosen: dict[str, Any] = {"algorithms": ["UCB"], "rounds": 50, "runs": 2, "arms": 3}
    chosen["baseline_rank"] = 2
    few, many = (
        handrail.simulate("bernoulli", alpha=alpha, **chosen)["budget_mean"].to_numpy()[-1]
        for alpha in (0.1, 0.3)
    )
    problem = Bernoulli(3, baseline_rank=2).problem(0, 0)
    assert many - few == pytest.approx(0.2 * 50 * problem.means[problem.baseline])


def test_algorithms_put_together_by_hand() -> None:
    mine = handrail.Algorithm("mine", "means", "martingale", "two-step", "checkpoints")
    table = handrail.simulate(
        "bernoulli", algorithms=["UCB", mine], parameters={"mine.checkpoint_every": 7}, **SIZE
    )
    assert table["algorithm"].unique().to_pylist() == ["UCB", "mine"]


def test_numbers_of_numpy_and_paths(tmp_path: Path) -> None:
    """Any number is a number, and any path a path."""
    chosen: dict[str, Any] = {"algorithms": ["UCB"], **SIZE}
    plain = handrail.simulate("bernoulli", arms=5, low=0.25, alpha=0.5, **chosen)
    more: dict[str, Any] = {"arms": np.int64(5), "low": np.float32(0.25), "alpha": np.float64(0.5)}
    assert handrail.simulate("bernoulli", **more, **chosen).equals(plain)
    path = tmp_path / "table.csv"
    np.savetxt(path, np.random.default_rng(0).normal(size=(9, 4)), delimiter=",")
    more = {"algorithms": ["LinUCB"], "rank": 2, "baseline_rank": 2, **SIZE}
    by_text = handrail.simulate("ratings", table=str(path), **more)
    assert handrail.simulate("ratings", table=path, **more).equals(by_text)


def test_a_table_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    more: dict[str, Any] = {"algorithms": ["LinUCB"], "rank": 2, "baseline_rank": 2, **SIZE}
    results = []
    for seed in range(2):
        np.savetxt(path, np.random.default_rng(seed).normal(size=(9 + seed, 4)), delimiter=",")
        results.append(handrail.simulate("ratings", table=str(path), **more))
    assert not results[0].equals(results[1])


def test_an_environment_that_is_registered_anew_is_made_anew() -> None:
    results = []
    for low in (0.1, 0.6):
        handrail.register_environment(
            "moving", lambda arms=3, low=low: Bernoulli(arms, low, 0.9, 2)
        )
        results.append(handrail.simulate("moving", algorithms=["UCB"], **SIZE))
    assert not results[0].equals(results[1])


# ---------------------------------------------------------------- what comes back


def test_curves() -> None:
    table = handrail.simulate("bernoulli", algorithms=["CUCB2", "UCB"], points=7, **SIZE)
    assert isinstance(table, pa.Table)
    assert table.column_names == CURVES
    kinds = [pa.int32(), pa.string(), pa.int64(), *[pa.float64()] * 7]
    assert [field.type for field in table.schema] == kinds
    rows = table.to_pylist()
    rounds = sorted({row["round"] for row in rows})
    assert len(rows) == 2 * 2 * len(rounds)
    assert rounds[-1] == 60
    # In the order asked for: algorithms, then problems, then rounds.
    places = [(row["algorithm"], row["problem"], row["round"]) for row in rows]
    expected = [(a, p, r) for a in ("CUCB2", "UCB") for p in range(2) for r in rounds]
    assert places == expected
    for row in rows:
        assert row["e1"] + row["e2"] + row["e3"] == pytest.approx(1.0)
        assert min(row["e1"], row["e2"], row["e3"]) >= 0
        assert row["regret_mean"] >= 0
        assert row["regret_se"] >= 0


def test_runs() -> None:
    table = handrail.simulate(
        "bernoulli", algorithms=["UCB", "CUCB2T"], per="run", checkpoint_every=25, **SIZE
    )
    assert table.column_names == RUNS
    kinds = [pa.int32(), pa.string(), pa.int64(), pa.float64(), pa.float64(), pa.int64()]
    assert [field.type for field in table.schema] == [*kinds, *[pa.float64()] * 4]
    rows = table.to_pylist()
    assert len(rows) == 2 * 2 * 3
    assert [row["run"] for row in rows] == [0, 1, 2] * 4
    for row in rows:
        at = row["smallest_budget_at_checkpoints"]
        assert (at is None) == (row["algorithm"] == "UCB")
        assert at is None or at >= row["smallest_budget"]
        assert (row["violations"] > 0) == (row["smallest_budget"] < -1e-9)
        assert row["e1"] + row["e2"] + row["e3"] == pytest.approx(1.0)
        assert 0 <= row["violations"] <= 60


def test_no_checkpoint_before_the_horizon() -> None:
    table = handrail.simulate(
        "bernoulli", algorithms=["CUCB2T"], per="run", checkpoint_every=61, **SIZE
    )
    assert table["smallest_budget_at_checkpoints"].null_count == table.num_rows
    assert table.schema.field("smallest_budget_at_checkpoints").type == pa.float64()


def test_pandas_and_polars() -> None:
    table = handrail.simulate("bernoulli", algorithms=["UCB"], points=5, **SIZE)
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == CURVES
    other = polars.from_arrow(table)
    assert isinstance(other, polars.DataFrame)
    assert other.columns == CURVES
    assert other["regret_mean"].to_list() == frame["regret_mean"].tolist()


def test_written_tables_say_where_they_come_from(tmp_path: Path) -> None:
    """Settings, seed and versions in the metadata; what is read back is what was written."""
    experiment = make_experiment("bernoulli", ["UCB", "CUCB2"], {"arms": 4}, **SIZE)
    tables = run_experiment(experiment)
    write_tables(tables, tmp_path, {"seed": experiment.seed, "experiment": experiment.settings()})
    again = read_tables(tmp_path)
    for name in ("curves", "runs"):
        read = getattr(again, name)
        assert read.equals(getattr(tables, name))
        note = json.loads(read.schema.metadata[b"handrail"])
        assert note["settings"]["seed"] == 0
        assert note["settings"]["experiment"]["parameters"] == {"arms": 4}
        assert note["versions"]["handrail"] == handrail.__version__
        assert "numpy" in note["versions"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.parquet", "runs.parquet"]


def test_summary() -> None:
    """By hand from the table of runs; who reached no checkpoint has broken no promise."""
    chosen = {"arms": 5, "CUCB2T.checkpoint_every": 10}
    experiment = make_experiment("bernoulli", ["UCB", "CUCB2T"], chosen, **SIZE)
    tables = run_experiment(experiment)
    frame = tables.runs.to_pandas()
    checked = {"UCB": "smallest_budget", "CUCB2T": "smallest_budget_at_checkpoints"}
    for row in summarise(experiment, tables):
        mine = frame[frame["algorithm"] == row["algorithm"]]
        means = mine.groupby("problem")["regret"].mean()
        assert row["regret"] == pytest.approx(means.mean())
        assert row["regret_se"] == pytest.approx(means.std(ddof=1) / np.sqrt(2))
        assert row["smallest_budget"] == mine["smallest_budget"].min()
        assert row["violated"] == (mine[checked[row["algorithm"]]] < -1e-9).mean()
    chosen["CUCB2T.checkpoint_every"] = 1000
    experiment = make_experiment("bernoulli", ["CUCB2T"], chosen, **SIZE)
    tables = run_experiment(experiment)
    assert tables.runs["violations"].to_numpy().max() > 0
    assert summarise(experiment, tables)[0]["violated"] == 0


@pytest.mark.parametrize(("problems", "runs"), [(1, 200), (16, 130), (1, 1)])
def test_disk_space_asked_for_is_enough(tmp_path: Path, problems: int, runs: int) -> None:
    """Few pairs make small blocks, many large ones: either way the files fit."""
    size = {"rounds": 300, "runs": runs, "problems": problems, "seed": 0}
    experiment = make_experiment("bernoulli", ["UCB"], {"arms": 4}, **size)
    run_experiment(experiment, out=tmp_path / "out")
    written = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    asked = table_bytes([experiment])
    print(f"{written:,} bytes written, {asked:,} asked for")
    assert written <= asked <= 1_500_000 + 20 * written


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"environment": "bernouli"}, "environment", "did you mean bernoulli"),
        ({"environment": "context"}, "environment", "contextual-linear"),
        ({"algorithms": ["CUBC2"]}, "algorithm", "CUCB2"),
        ({"algorithms": ["UCB", "UCB"]}, "algorithms", "twice"),
        ({"algorithms": []}, "algorithms", "none"),
        ({"algorithms": "UCB"}, "algorithms", "list"),
        ({"alfa": 0.1}, "alfa", "did you mean alpha"),
        ({"arm": 3}, "arm", "did you mean arms"),
        ({"CUCB.width": "wu"}, "CUCB.width", "not part of this run"),
        ({"CUCB2.widht": "wu"}, "widht", "did you mean width"),
        ({"UCB.alpha": 0.1}, "alpha", "UCB does not use it"),
        ({"policy.arms": 4}, "arms", "not for a simulation to say"),
        ({"policy.window": 4}, "window", "not for a simulation to say"),
        ({"environment.arm": 4}, "arm", "did you mean arms"),
        ({"width": "paper"}, "width", "wu"),
        ({"checkpoint_every": 5}, "checkpoint_every", "none of these algorithms uses it"),
        ({"algorithms": ["CUCB2T"]}, "checkpoint_every", "required"),
        ({"arms": 0}, "arms", "from 1"),
        ({"baseline_rank": 11}, "baseline_rank", "1 .best. to 10"),
        ({"low": 0.9}, "low", "low <= high"),
        ({"alpha": 1.0}, "alpha", "outside"),
        ({"delta": 0.0}, "delta", "outside"),
        ({"rounds": 0}, "rounds", "from 1"),
        ({"rounds": 1.5}, "rounds", "not a whole number"),
        ({"runs": 0}, "runs", "from 1"),
        ({"problems": 0}, "problems", "from 1"),
        ({"seed": -1}, "seed", "from 0"),
        ({"seed": 2**63}, "seed", "from 0"),
        ({"points": 0}, "points", "from 1 to 500"),
        ({"points": 501}, "points", "from 1 to 500"),
        ({"per": "x"}, "per", "'round' or 'run'"),
        ({"workers": 0}, "workers", "from 1"),
        ({"block": 0}, "block", "from 1"),
        ({"engine": "fsat"}, "engine", "fast"),
    ],
    ids=str,
)
def test_refused(change: dict[str, Any], field: str, says: str) -> None:
    """One line that names the field and what to do; every error comes before any round."""
    given = {"environment": "bernoulli", "algorithms": ["UCB", "CUCB2"], **SIZE, **change}
    with pytest.raises(handrail.InputError, match=says) as caught:
        handrail.simulate(given.pop("environment"), **given)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["UCB", "CUCB2T"])
def test_arms_need_arms_that_stay(name: str) -> None:
    with pytest.raises(handrail.InputError, match=f"{name} needs arms that stay") as caught:
        handrail.simulate(
            "contextual-linear", algorithms=["LinUCB", name], rounds=10, parameters={}
        )
    assert caught.value.field == "algorithms"


def test_more_problems_than_users(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    np.savetxt(path, np.random.default_rng(0).normal(size=(9, 4)), delimiter=",")
    chosen: dict[str, Any] = {"table": str(path), "rank": 2, "baseline_rank": 2, "rounds": 10}
    assert handrail.simulate("ratings", algorithms=["LinUCB"], problems=9, **chosen).num_rows
    with pytest.raises(handrail.InputError, match="the table has 9 users") as caught:
        handrail.simulate("ratings", algorithms=["LinUCB"], problems=10, **chosen)
    assert caught.value.field == "problems"


@pytest.mark.parametrize(
    ("field", "value"), [("feature_bound", 0.5), ("baseline_lower", 0.9)], ids=str
)
def test_bounds_that_contexts_would_break(field: str, value: float) -> None:
    with pytest.raises(handrail.InputError, match="the environment's") as caught:
        handrail.simulate(
            "contextual-linear",
            algorithms=["CLUCB2T"],
            rounds=10,
            parameters={field: value, "checkpoint_every": 5},
        )
    assert caught.value.field == field


@pytest.mark.parametrize("parameters", [{"arms": 4}, {"environment.arms": 4}], ids=str)
def test_a_parameter_given_twice(parameters: dict[str, Any]) -> None:
    with pytest.raises(handrail.InputError, match="is given twice") as caught:
        handrail.simulate("bernoulli", algorithms=["UCB"], rounds=10, arms=5, parameters=parameters)
    assert caught.value.field == "arms"


def test_many_arms_take_no_memory_they_do_not_need() -> None:
    table = handrail.simulate(
        "bernoulli", algorithms=["UCB"], rounds=20, runs=1, arms=50_000, baseline_rank=1
    )
    assert table.num_rows > 0


def test_a_missing_package_is_said_before_anything_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        handrail.InputError, match=r"pip install 'handrail\[simulation\]'"
    ) as caught:
        handrail.simulate("bernoulli", algorithms=["UCB"], rounds=10**9, runs=1000)
    assert caught.value.field == "pyarrow"
