"""A real cluster: the same bits, and nothing is lost when parts of it are."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import handrail
from handrail.cli import main
from handrail.environments.bernoulli import Bernoulli
from handrail.errors import InputError
from handrail.paper.reproduce import reproduce
from handrail.simulation.cluster import crew as crews
from handrail.simulation.cluster.crew import Cluster
from handrail.simulation.cluster.run import AHEAD
from handrail.simulation.crew import Event, Finished, Notice, Task
from handrail.simulation.runner import run
from handrail.simulation.simulate import run_experiment
from handrail.simulation.store import MemoryStore, SqliteStore
from paper_tables import TINY
from simulation.clusters import (
    LIMIT,
    THREAD_SETTINGS,
    LocalCluster,
    die,
    fail,
    hold,
    pids,
    thread_settings,
    used,
    wait_until,
)
from simulation.test_bits import EXPERIMENTS, _experiment, bits

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def held(folder: Path, count: int) -> list[Task]:
    return [Task(str(n), 10, "arms", partial(hold, folder, n)) for n in range(count)]


def began(folder: Path, count: int) -> list[int]:
    """The numbers of the tasks that began, once there are so many."""

    def numbers() -> list[int]:
        return [int(each.name.partition("-")[2]) for each in folder.glob("began-*")]

    wait_until(lambda: len(numbers()) >= count, "tasks that began")
    return sorted(numbers())


def until(events: Iterator[Event], kind: type[Any], text: str = "") -> Any:
    """Go on until something of this kind is reported."""
    deadline = time.monotonic() + LIMIT
    for event in events:
        assert time.monotonic() < deadline, f"{kind} {text} was not reported"
        if isinstance(event, kind) and text in str(event):
            return event
    raise AssertionError(f"ended without {kind} {text}")


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_same_bits_here_and_there(name: str, cluster: LocalCluster) -> None:
    size: dict[str, Any] = {"rounds": 120, "runs": 37, "problems": 2}
    experiment = _experiment(name, EXPERIMENTS[name]["algorithms"], **size)
    tables = [
        run_experiment(experiment, workers=1, block=1000),
        run_experiment(experiment, workers=2),
        run_experiment(experiment, on=cluster.address),
        run_experiment(experiment, on=cluster.address, block=10),
    ]
    assert len({bits(each.curves) for each in tables}) == 1
    assert len({bits(each.runs) for each in tables}) == 1
    assert cluster.tasks() == 0


def test_the_commands_write_the_same_bytes(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["simulate", "bernoulli", "--algorithms", "UCB,CUCB2", "--rounds", "300", "--json"]
    printed, tables = [], []
    for name, on in [("here", "local"), ("there", cluster.address)]:
        assert main([*command, "--on", on, "--out", str(tmp_path / name)]) == 0
        printed.append(capsys.readouterr().out)
        tables.append({path.name: path.read_bytes() for path in (tmp_path / name).glob("*.p*")})
        reproduce(["oracle-mab"], scale=TINY, out=tmp_path / f"figures {name}", on=on)
    assert printed[0] == printed[1]
    assert tables[0] == tables[1]
    for file in ("curves.parquet", "runs.parquet", "oracle-mab.png"):
        here, there = (tmp_path / f"figures {name}" / "oracle-mab" for name in ("here", "there"))
        assert (here / file).read_bytes() == (there / file).read_bytes()
    assert "on 2 threads" in (tmp_path / "figures there" / "report.html").read_text()


# ---------------------------------------------------------------- parts that go


def test_workers_that_are_killed_cost_time_only(cluster: LocalCluster, tmp_path: Path) -> None:
    """First one of two, then the other too; what was finished is not computed again."""
    store, tasks = MemoryStore(), held(tmp_path, 6)
    (tmp_path / "go-0").touch()
    (tmp_path / "go-1").touch()
    with Cluster(cluster.address) as crew, crew.work(tasks, store) as events:
        until(events, Finished)
        until(events, Finished)
        first, second = began(tmp_path, 4)[2:4]
        cluster.kill(pids(tmp_path, "began", first)[0])
        wait_until(lambda: len(cluster.client.nthreads()) == 1, "the loss of a worker")
        (tmp_path / f"go-{second}").touch()
        until(events, Finished)
        (survivor,) = set(pids(tmp_path, "began", second))
        cluster.kill(survivor)
        until(events, Notice, "waiting for some")
        assert crew.workers >= 1
        for _ in range(2):
            cluster.start_worker()
        until(events, Notice, "going on")
        (tmp_path / "go").touch()
        assert sum(isinstance(event, Finished) for event in events) == 3
    assert {store.get(str(n)) for n in range(6)} == {str(n).encode() for n in range(6)}
    assert [len(pids(tmp_path, "done", n)) for n in range(6)] == [1] * 6
    assert len(pids(tmp_path, "began", first)) >= 2
    assert [len(pids(tmp_path, "began", n)) for n in (0, 1, second)] == [1, 1, 1]
    cluster.wait_for_workers(2)


COMMAND = ["simulate", "bernoulli", "--algorithms", "CUCB2", "--rounds", "1000000", "--runs", "90"]


def test_ctrl_c_stops_the_cluster_and_loses_nothing(cluster: LocalCluster, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "handrail", *COMMAND, "--on", cluster.address]
    with subprocess.Popen([*command, "--out", str(out)], stderr=subprocess.PIPE) as child:
        written = out / "blocks.sqlite-wal"
        wait_until(lambda: written.exists() and written.stat().st_size > 60_000, "some blocks")
        child.send_signal(signal.SIGINT)
        assert child.stderr is not None
        said = child.stderr.read().decode()
        assert child.wait(LIMIT) == 130
    assert said.splitlines()[-1].startswith("stopped: what was finished is kept")
    assert "Traceback" not in said
    cluster.wait_until_idle()
    with SqliteStore(out / "blocks.sqlite") as store:
        kept = store.keys()
        assert all(len(store.get(key)) > 1000 for key in kept)
    assert 0 < len(kept) < 9
    shutil.copytree(out, tmp_path / "local")
    assert main([*COMMAND, "--on", cluster.address, "--out", str(out)]) == 0
    assert main([*COMMAND, "--out", str(tmp_path / "local")]) == 0
    with SqliteStore(out / "blocks.sqlite") as store:
        assert kept < store.keys()
    for file in ("curves.parquet", "runs.parquet"):
        assert (out / file).read_bytes() == (tmp_path / "local" / file).read_bytes()


CHILD = """
import sys
from functools import partial
from pathlib import Path
from handrail.simulation.cluster.crew import Cluster
from handrail.simulation.crew import Task
from handrail.simulation.runner import run
from handrail.simulation.store import MemoryStore
from simulation.clusters import hold

tasks = [Task(str(n), 10, "arms", partial(hold, Path(sys.argv[2]), n)) for n in range(6)]
with Cluster(sys.argv[1]) as crew:
    run(tasks, MemoryStore(), crew)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_blocks_that_nobody_waits_for_stop(
    number: signal.Signals, cluster: LocalCluster, tmp_path: Path
) -> None:
    """Whether the client says goodbye or not; another client with the same tasks goes on."""
    path = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    mine = tmp_path / "mine"
    mine.mkdir()
    command = [sys.executable, "-c", CHILD, cluster.address, str(tmp_path)]
    with (
        subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL
        ) as child,
        Cluster(cluster.address) as crew,
    ):
        running = began(tmp_path, 2)
        store = MemoryStore()
        with crew.work(held(mine, 6), store) as events:
            child.send_signal(number)
            child.wait(LIMIT)
            wait_until(
                lambda: all((tmp_path / f"stopped-{n}").exists() for n in running), "the end"
            )
            assert began(tmp_path, 2) == running
            (mine / "go").touch()
            assert sum(isinstance(event, Finished) for event in events) == 6
    assert store.keys() == set("012345")
    cluster.wait_until_idle()


def test_what_is_out_is_bounded(cluster: LocalCluster, tmp_path: Path) -> None:
    tasks = held(tmp_path, 300)
    with Cluster(cluster.address) as crew, crew.work(tasks, MemoryStore()) as events:
        began(tmp_path, 2)
        assert cluster.tasks() <= AHEAD * 2
        (tmp_path / "go").touch()
        for count in range(1, 301):
            until(events, Finished)
            if count % 60 == 0:
                assert cluster.tasks() <= AHEAD * 2
    cluster.wait_until_idle()


def test_a_task_that_fails_stops_the_run(cluster: LocalCluster, tmp_path: Path) -> None:
    store = MemoryStore()
    tasks = [Task("broken", 10, "arms", fail), *held(tmp_path, 4)]
    with Cluster(cluster.address) as crew, pytest.raises(ZeroDivisionError) as caught:
        run(tasks, store, crew)
    assert "in block broken (arms, 10 rounds)" in caught.value.__notes__
    assert store.keys() == set()
    cluster.wait_until_idle()


def test_a_block_that_kills_workers_and_a_scheduler_that_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crews, "_REACHED_WITHIN", 1.0)
    settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with LocalCluster(tmp_path, workers=1, **settings) as cluster, Cluster(cluster.address) as crew:
        with pytest.raises(InputError, match="1 workers died while they computed a block") as first:
            run([Task("deadly", 10, "arms", die)], MemoryStore(), crew)
        assert first.value.field == "on"
        with crew.work(held(tmp_path, 2), MemoryStore()) as events:
            until(events, Notice, "no worker is left")
            cluster.kill(cluster.processes[0].pid)
            with pytest.raises(InputError, match="was lost; start it again; what finished is kept"):
                until(events, Finished)


# ---------------------------------------------------------------- who is let in


@pytest.mark.parametrize("kind", ["older", "none"])
def test_another_version_is_refused(kind: str, cluster: LocalCluster, tmp_path: Path) -> None:
    """In the middle of a run it gets no work; at the start it is an error."""
    path = tmp_path / "path"
    if kind == "older":
        home = Path(handrail.__file__).parent
        shutil.copytree(home, path / "handrail", ignore=shutil.ignore_patterns("__pycache__"))
        (path / "handrail" / "_version.py").write_text('__version__ = "0.0.1"\n')
        complaint = f"has handrail 0.0.1, code .* this process has handrail {handrail.__version__}"
    else:
        path.mkdir()
        (path / "handrail.py").write_text("raise ModuleNotFoundError('No module named handrail')\n")
        complaint = "cannot import handrail"
    folder = tmp_path / "tasks"
    folder.mkdir()
    with Cluster(cluster.address) as crew, crew.work(held(folder, 40), MemoryStore()) as events:
        began(folder, 2)
        stranger = cluster.start_worker(path=path)
        try:
            notice = until(events, Notice)
            (folder / "go").touch()
            assert sum(isinstance(event, Finished) for event in events) == 40
            with pytest.raises(InputError, match=complaint) as caught:
                run_experiment(
                    _experiment("linear", ["LinUCB"], rounds=9, runs=1, problems=1),
                    on=cluster.address,
                )
        finally:
            cluster.kill(stranger.pid)
    assert "worker tcp://" in notice.text
    assert notice.text.endswith("it gets no work")
    assert caught.value.field == "on"
    assert "install the same handrail" in caught.value.remedy
    cluster.wait_for_workers(2)


def test_an_environment_of_the_client_alone(cluster: LocalCluster) -> None:
    handrail.register_environment("mine alone", lambda arms=3: Bernoulli(arms, 0.4, 0.6, 2))
    with pytest.raises(InputError, match=r"worker tcp://.*'mine alone' is not known.*entry point"):
        handrail.simulate("mine alone", algorithms=["UCB"], rounds=10, on=cluster.address)


def test_data_that_workers_lack_or_have_otherwise(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savetxt("ratings.csv", rng.normal(size=(9, 5)), delimiter=",")
    given: dict[str, Any] = {"algorithms": ["CLUCB2"], "rounds": 20, "runs": 2, "problems": 2}
    given |= {"rank": 3, "baseline_rank": 2}
    here = handrail.simulate("ratings", table="ratings.csv", **given)
    with pytest.raises(InputError, match=r"worker tcp://.*ratings.csv does not exist"):
        handrail.simulate("ratings", table="ratings.csv", on=cluster.address, **given)
    there = cluster.folder / "ratings.csv"
    np.savetxt(there, rng.normal(size=(9, 5)), delimiter=",")
    with pytest.raises(InputError, match=r"worker tcp://.*describes itself differently"):
        handrail.simulate("ratings", table="ratings.csv", on=cluster.address, **given)
    shutil.copy("ratings.csv", there)
    found = handrail.simulate("ratings", table="ratings.csv", on=cluster.address, **given)
    assert bits(found) == bits(here)


# ---------------------------------------------------------------- threads


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize("nanny", ["--nanny", pytest.param("--no-nanny", marks=pytest.mark.long)])
def test_threads_do_not_multiply(
    nanny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in THREAD_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    with LocalCluster(tmp_path, workers=0) as cluster:
        cluster.start_worker(nanny, "--nthreads", "1")
        cluster.wait_for_workers(1)
        experiment = _experiment("linear", ["LinUCB"], rounds=100_000, runs=60, problems=1)
        run_experiment(experiment, on=cluster.address)
        [before] = cluster.client.run(used).values()
        run_experiment(experiment, on=cluster.address)
        [after] = cluster.client.run(used).values()
        [(settings, threads)] = cluster.client.run(thread_settings).values()
    limited = THREAD_SETTINGS if nanny == "--nanny" else ["NUMBA_NUM_THREADS"]
    assert [settings[name] for name in limited] == ["1"] * len(limited)
    # The main thread, the event loop's, the one that computes, and some that wait.
    assert threads <= 12
    assert (after[0] - before[0]) / (after[1] - before[1]) < 1.3
