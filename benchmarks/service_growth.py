"""A million decisions, each with its reward: memory, log, and the start after them."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np

from benchmarks.load import drive
from benchmarks.measure import Row
from benchmarks.service_process import Service
from benchmarks.service_rates import ARMS, DIM, PARAMETERS
from benchmarks.users import batches, random_features

__all__ = ["growth"]

DECISIONS = 1_000_000
BATCH, CONNECTIONS = 1_000, 2
EVERY = 10_000
"""Decisions between two looks at the memory."""
SETTLED = 0.2
"""Share of the decisions after which the memory is expected to stay as it is."""
LEAK = 8.0
"""Bytes more for each decision: less than any object kept a decision would take."""
STARTS = 3
SECONDS = 5.0
POLICY = "fixed"


class _Watch:
    """Looks at the memory now and then."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.decided: list[int] = [0]
        self.held: list[float] = [service.memory()]
        self._done = 0

    def __call__(self, decisions: int) -> None:
        self._done += decisions
        if self._done - self.decided[-1] >= EVERY:
            self.decided.append(self._done)
            self.held.append(self._service.memory())

    def leak(self) -> float:
        """Return the slope of the memory over the decisions once it has settled."""
        first = next(i for i, done in enumerate(self.decided) if done >= SETTLED * DECISIONS)
        slope, _ = np.polyfit(self.decided[first:], self.held[first:], 1)
        return float(slope)

    def marks(self) -> str:
        """Return the memory at the beginning and at every quarter of the way."""
        places = np.linspace(0, len(self.held) - 1, 5).round().astype(int)
        return " -> ".join(f"{self.held[place] / 1e6:.1f}" for place in places) + " MB"


def _decide(group: str, service: Service) -> list[Row]:
    watch = _Watch(service)
    before = service.disk()
    times = DECISIONS // BATCH // CONNECTIONS
    users = [batches(POLICY, service.key, times, BATCH, watch) for _ in range(CONNECTIONS)]
    load = drive(service.port, users)
    seconds = load.seconds
    played = service.call("GET", f"/v1/policies/{POLICY}")
    stopped = service.stop()
    size = (service.disk() - before) / DECISIONS
    return [
        Row(
            group,
            f"decisions and rewards, batches of {BATCH:,}",
            DECISIONS / seconds,
            "pairs/s",
            note=f"{played['round']:,} rounds, {played['head']['events']:,} events",
        ),
        Row(
            group,
            f"memory, per decision after {SETTLED * DECISIONS:,.0f}",
            watch.leak(),
            "bytes",
            limit=LEAK,
            note=watch.marks(),
        ),
        Row(group, "database, per decision with its reward", size, "bytes"),
        Row(group, "SIGTERM to the end of the process", stopped, "s"),
    ]


def _start(service: Service) -> float:
    """Return the seconds from the start of the process to the answer of a decision."""
    ready = service.start()
    asked = drive(service.port, [batches(POLICY, service.key, 1, 1, lambda _: None)])
    return ready + asked.latencies[0][0]


def _starts(group: str, service: Service) -> list[Row]:
    """Start after an orderly end, and after none: what followed the last snapshot is folded."""
    found = []
    for name, kill in (("SIGTERM", False), ("SIGKILL", True)):
        taken = []
        for turn in range(STARTS + 1):
            try:
                seconds = _start(service)
                # Events that no snapshot holds yet.
                drive(service.port, [batches(POLICY, service.key, 3, BATCH, lambda _: None)])
            finally:
                service.stop(kill=kill)
            if turn:
                taken.append(seconds)
        found.append(
            Row(
                group,
                f"start to the first decision, after {name}",
                statistics.median(taken),
                "s",
                limit=SECONDS,
                note=f"{min(taken):.2f} to {max(taken):.2f} s",
            )
        )
    return found


def growth(folder: Path) -> list[Row]:
    """Measure."""
    group = f"service: {DECISIONS:,} decisions"
    service = Service(folder / "growth")
    with service:
        features = random_features(ARMS, DIM)
        service.create(POLICY, features=features, baseline=0, **PARAMETERS)
        found = _decide(group, service)
    return [*found, *_starts(group, service)]
