"""What a block costs on a cluster, and what that means for a sweep of 10^13 rounds.

``python -m benchmarks.cluster`` starts a scheduler and two workers on this machine. The client
talks to the scheduler through a relay that counts bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from handrail.extras import need_extra
from handrail.simulation.blocks import tasks
from handrail.simulation.cluster import run as cluster_run
from handrail.simulation.cluster.crew import Cluster
from handrail.simulation.crew import Finished, Task
from handrail.simulation.simulate import make_experiment
from handrail.simulation.store import MemoryStore

RESULTS = Path(__file__).resolve().parent.parent / "out" / "cluster.json"
WORKERS = 2
SWEEP = 10**13
ROUNDS_A_BLOCK = 50 * 10**7
"""Of a sweep: 50 runs of ten million rounds."""


class Relay:
    """Passes bytes on to a scheduler and back, and counts them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.up = self.down = 0
        self.address = ""
        ready = threading.Event()
        threading.Thread(target=asyncio.run, args=[self._serve(ready)], daemon=True).start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.address = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        await server.serve_forever()

    async def _connected(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        there, forth = await asyncio.open_connection("127.0.0.1", self._port)
        await asyncio.gather(self._pass(here, forth, up=True), self._pass(there, back, up=False))

    async def _pass(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, up: bool
    ) -> None:
        while data := await source.read(1 << 16):
            self.up += len(data) if up else 0
            self.down += 0 if up else len(data)
            sink.write(data)
            await sink.drain()
        sink.close()


@contextmanager
def started() -> Iterator[tuple[Relay, int]]:
    """Start a cluster; yield a way to its scheduler, and the scheduler's process id."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        file = Path(folder) / "scheduler.json"
        common = ["--host", "127.0.0.1", "--no-dashboard"]
        kinds = [["dask_scheduler", "--port", "0", "--scheduler-file", str(file)]]
        worker = ["dask_worker", "--scheduler-file", str(file), "--nthreads", "1"]
        kinds += [[*worker, "--no-nanny", "--local-directory", folder]] * WORKERS
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        processes = []
        for kind, *options in kinds:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{kind}", *options, *common],
                env={**os.environ, **limits},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            held.callback(process.wait)
            held.callback(process.kill)
            processes.append(process)
            while not file.exists() or not file.read_text():
                assert process.poll() is None, "the scheduler did not start"
                time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with need_extra("distributed", "dask").Client(address, set_as_default=False) as client:
            client.wait_for_workers(WORKERS)
        port = int(address.rpartition(":")[2])
        yield Relay(port), processes[0].pid


def measure(
    work: Sequence[Task], crew: Cluster, relay: Relay, scheduler: Any, ahead: int | None = None
) -> dict[str, float]:
    """Compute tasks on the cluster; return what each cost."""
    setattr(cluster_run, "AHEAD", ahead or AHEAD)  # noqa: B010 - a constant but for this
    store, taken, quickest = MemoryStore(), 0.0, float("inf")
    up, down, cpu, mine = relay.up, relay.down, sum(scheduler.cpu_times()[:2]), time.process_time()
    begin = time.perf_counter()
    with crew.work(work, store) as events:
        for event in events:
            if isinstance(event, Finished):
                taken += event.seconds
                quickest = min(quickest, event.seconds / event.task.rounds)
    wall = time.perf_counter() - begin
    count, rounds = len(work), sum(task.rounds for task in work)
    return {
        "blocks": count,
        "blocks_per_second": count / wall,
        "busy": taken / wall / crew.workers,
        "seconds_per_block": taken / count,
        "ns_per_round": taken / rounds * 1e9,
        "ns_per_round_undisturbed": quickest * 1e9,
        "task_bytes": sum(len(pickle.dumps(task.compute)) for task in work) / count,
        "result_bytes": sum(len(store.get(task.key)) for task in work) / count,
        "bytes_up": (relay.up - up) / count,
        "bytes_down": (relay.down - down) / count,
        "scheduler_cpu_ms": (sum(scheduler.cpu_times()[:2]) - cpu) / count * 1e3,
        "client_cpu_ms": (time.process_time() - mine) / count * 1e3,
    }


AHEAD = cluster_run.AHEAD


def blocks(environment: str, algorithm: str, rounds: int, count: int, seed: int) -> list[Task]:
    """Return so many blocks of ten runs each."""
    experiment = make_experiment(
        environment, [algorithm], {}, rounds=rounds, runs=10 * count, problems=1, seed=seed
    )
    return tasks([experiment], 10)[:count]


def sweep_blocks(rounds: int, problems: int, runs: int) -> list[Task]:
    """Return blocks as a sweep has them: 50 runs each."""
    given: dict[str, Any] = {"rounds": rounds, "problems": problems, "runs": runs, "seed": 3}
    return tasks([make_experiment("bernoulli", ["CUCB2"], {}, **given)], 50)


def planning() -> dict[str, float]:
    """Return what a task costs the client before it is sent."""
    begin = time.perf_counter()
    work = sweep_blocks(1_000_000, 2000, 50)
    plan = {"us_per_block": (time.perf_counter() - begin) / len(work) * 1e6}
    tracemalloc.start()
    work = sweep_blocks(1_000_000, 2000, 50)
    plan["bytes_per_block"] = tracemalloc.get_traced_memory()[0] / len(work)
    tracemalloc.stop()
    return plan


def sizing(
    cost: dict[str, float], sent: dict[str, float], tiny: dict[str, float]
) -> dict[str, float]:
    """Return what a sweep of 10^13 rounds takes at this cost of a round."""
    count = SWEEP / ROUNDS_A_BLOCK
    seconds = cost["ns_per_round_undisturbed"] * 1e-9 * ROUNDS_A_BLOCK
    # With a core each: what they can take does not depend on how busy this machine is.
    most = 1e3 / max(tiny["scheduler_cpu_ms"], tiny["client_cpu_ms"])
    return {
        "blocks": count,
        "seconds_per_block": seconds,
        "core_hours": count * seconds / 3600,
        "gb_up": count * sent["bytes_up"] / 1e9,
        "gb_down": count * sent["bytes_down"] / 1e9,
        "gb_stored": count * sent["result_bytes"] / 1e9,
        "hours_on_100_cores": count * seconds / 3600 / 100,
        "blocks_per_second_on_100_cores": 100 / seconds,
        "mb_down_per_second_on_100_cores": 100 / seconds * sent["bytes_down"] / 1e6,
        "scheduler_share_on_100_cores": 100 / seconds * tiny["scheduler_cpu_ms"] / 1e3,
        "most_blocks_per_second": most,
        "most_cores": most * seconds,
    }


def show(title: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print a table."""
    print(f"\n{title}")
    names = list(next(iter(rows.values())))
    print("".join(f"{head:>16}" for head in ["", *rows]))
    for name in names:
        cells = [f"{row[name]:.4g}" for row in rows.values()]
        print(f"{name:<32}" + "".join(f"{cell:>16}" for cell in cells))


def main() -> int:
    """Run."""
    psutil = need_extra("psutil", "dask")
    with started() as (relay, pid), Cluster(relay.address) as crew:
        scheduler = psutil.Process(pid)
        for environment, algorithm in (("bernoulli", "CUCB2"), ("linear", "CLUCB2")):
            measure(blocks(environment, algorithm, 500, 8, 1), crew, relay, scheduler)
        tiny = {
            str(ahead): measure(
                blocks("bernoulli", "CUCB2", 500, 400, 10 + ahead), crew, relay, scheduler, ahead
            )
            for ahead in (1, 2, 3, 4, 8, 32)
        }
        short = {
            str(ahead): measure(
                blocks("bernoulli", "CUCB2", 1_000_000, 100, ahead),
                crew,
                relay,
                scheduler,
                ahead,
            )
            for ahead in (1, 2, 3, 4, 8)
        }
        long = {
            "bernoulli": measure(
                blocks("bernoulli", "CUCB2", 10_000_000, 16, 90), crew, relay, scheduler
            ),
            "linear": measure(
                blocks("linear", "CLUCB2", 1_000_000, 16, 91), crew, relay, scheduler
            ),
        }
        sent = {
            "first": measure(sweep_blocks(20_000, 40, 50), crew, relay, scheduler),
            "later": measure(sweep_blocks(20_000, 20, 100)[1::2], crew, relay, scheduler),
        }
    sizes = {name: sizing(cost, sent["first"], tiny[str(AHEAD)]) for name, cost in long.items()}
    plan = planning()
    show("Blocks with next to no work, by tasks out for each thread", tiny)
    show("Blocks of ten million rounds, by tasks out for each thread", short)
    show("Blocks of 10 runs: ten million rounds each, and a million", long)
    show("Blocks of 50 runs: a problem's first, and one after it", sent)
    show("A block on the client, before it is sent", {"planning": plan})
    show(f"A sweep of {SWEEP:.0e} rounds in first blocks of {ROUNDS_A_BLOCK:.0e}", sizes)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"tiny": tiny, "short": short, "long": long, "sent": sent}
    found |= {"planning": {"client": plan}, "sweep": sizes}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(f"\nresults: {RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
