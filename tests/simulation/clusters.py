"""A real cluster for tests: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from handrail.extras import need_extra
from handrail.simulation.stop import Interrupted, Stop

LIMIT = 60.0
"""Seconds after which a test that waits in vain gives up."""

TESTS = Path(__file__).parent.parent


def wait_until(done: Callable[[], Any], what: str) -> Any:
    """Return the first true answer."""
    deadline = time.monotonic() + LIMIT
    while not (answer := done()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)
    return answer


class LocalCluster:
    """Processes on this machine; leaving the ``with`` block kills them."""

    def __init__(self, folder: Path, workers: int = 2, **settings: str) -> None:
        self.folder = folder
        self.settings = settings
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--scheduler-file", str(file))
        self.address = str(wait_until(lambda: _address(file), "the scheduler"))
        distributed = need_extra("distributed", "dask")
        self.client: Any = distributed.Client(self.address, set_as_default=False)
        for _ in range(workers):
            self.start_worker()
        self.wait_for_workers(workers)

    def start_worker(self, *options: str, path: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a worker; of `path`, modules are imported first."""
        chosen = options or ("--no-nanny", "--nthreads", "1")
        return self._start("worker", self.address, *chosen, path=path)

    def _start(
        self, kind: str, *arguments: str, path: Path | None = None
    ) -> subprocess.Popen[bytes]:
        number = len(self.processes)
        paths = [*filter(None, [path]), TESTS, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **self.settings}
        environment["PYTHONPATH"] = os.pathsep.join(str(each) for each in paths)
        common = ["--host", "127.0.0.1", "--no-dashboard"]
        if kind == "worker":
            common += ["--local-directory", str(self.folder)]
        with (self.folder / f"{number}-{kind}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, *common],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def kill(self, pid: int) -> None:
        """Kill a process at once, and wait until it has gone."""
        os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            if process.pid == pid:
                process.wait(LIMIT)

    def wait_for_workers(self, count: int) -> None:
        """Wait until there are so many."""
        wait_until(lambda: len(self.client.nthreads()) == count, f"{count} workers")

    def tasks(self) -> int:
        """Return how many tasks the scheduler knows."""
        return int(self.client.run_on_scheduler(_known))

    def wait_until_idle(self) -> None:
        """Wait until nobody computes anything."""
        wait_until(
            lambda: self.tasks() == 0 and not any(self.client.run(_executing).values()),
            "an idle cluster",
        )

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(LIMIT)


def _address(file: Path) -> Any:
    try:
        return json.loads(file.read_text())["address"]
    except (OSError, ValueError):
        return None


def _known(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def _executing(dask_worker: Any) -> int:
    return len(dask_worker.state.all_running_tasks)


THREAD_SETTINGS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


def thread_settings(dask_worker: Any) -> tuple[dict[str, str | None], int]:
    """Return what a worker's threads are limited to, and how many it has."""
    count = len([*Path("/proc/self/task").iterdir()])
    return {name: os.environ.get(name) for name in THREAD_SETTINGS}, count


def used(dask_worker: Any) -> tuple[float, float]:
    """Return the seconds of processor time that a worker has used, and the time."""
    return time.process_time(), time.monotonic()


# ---------------------------------------------------------------- tasks, computed on workers


def hold(folder: Path, number: int, stop: Stop) -> bytes:
    """Say that it began, and go on once the folder holds a file `go`, or one with its number."""
    with (folder / f"began-{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    while not (folder / "go").exists() and not (folder / f"go-{number}").exists():
        if stop.wait(0.02):
            (folder / f"stopped-{number}").touch()
            raise Interrupted
    with (folder / f"done-{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return str(number).encode()


def die(stop: Stop) -> bytes:
    """Take the worker along."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def fail(stop: Stop) -> bytes:
    raise ZeroDivisionError("no")


def pids(folder: Path, word: str, number: int) -> list[int]:
    """Return which processes have said that they began or are done."""
    file = folder / f"{word}-{number}"
    return [int(line) for line in file.read_text().split()] if file.exists() else []
