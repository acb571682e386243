"""A cluster that shrinks, work that is left, and an address that is a worker's."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import distributed

from handrail.errors import InputError
from handrail.simulation.cluster.crew import Cluster
from handrail.simulation.cluster.run import AHEAD
from handrail.simulation.crew import Finished, Task
from handrail.simulation.store import MemoryStore
from simulation.clusters import LocalCluster, hold, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes")


def _held(folder: Path, count: int) -> list[Task]:
    return [Task(str(n), 10, "arms", partial(hold, folder, n)) for n in range(count)]


def _began(folder: Path, count: int) -> None:
    wait_until(lambda: len(list(folder.glob("began-*"))) >= count, "tasks that began")


def test_a_window_that_shrinks(tmp_path: Path) -> None:
    """More tasks are out than the workers that are left have room for."""
    with LocalCluster(tmp_path, workers=2) as cluster, Cluster(cluster.address) as crew:
        assert crew.workers == 2
        store = MemoryStore()
        with crew.work(_held(tmp_path, 6 * AHEAD), store) as events:
            _began(tmp_path, 2)
            cluster.kill(int(next(tmp_path.glob("began-*")).read_text().split()[0]))
            done = 0
            for event in events:
                done += isinstance(event, Finished)
                if crew.workers == 1:
                    (tmp_path / "go").touch()
            assert done == len(store.keys()) == 6 * AHEAD


def test_work_that_is_left_stops_while_the_cluster_stays(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, workers=1) as cluster, Cluster(cluster.address) as crew:
        with crew.work(_held(tmp_path, 9), MemoryStore()) as events:
            _began(tmp_path, 1)
        wait_until(lambda: bool(list(tmp_path.glob("stopped-*"))), "a task that stopped")
        wait_until(lambda: not cluster.tasks(), "a scheduler without tasks")
        assert events is not None  # kept: nothing may hang on its being forgotten


def test_a_workers_address(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, workers=1) as cluster:
        connect: Any = distributed.Client
        with connect(cluster.address, set_as_default=False) as client:
            client.wait_for_workers(1)
            address = next(iter(client.scheduler_info()["workers"]))
        with pytest.raises(InputError, match=r"no Dask scheduler answers.*a Dask worker") as caught:
            Cluster(address)
        assert caught.value.field == "on"
