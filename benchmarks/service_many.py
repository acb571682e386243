"""Ten thousand small policies, one a user say: the memory they take, and loading them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.load import drive, percentile
from benchmarks.measure import Row
from benchmarks.service_process import Service
from benchmarks.service_rates import ARMS, DIM, PARAMETERS
from benchmarks.users import making, random_features, visiting

__all__ = ["many"]

POLICIES, CONNECTIONS = 10_000, 8
MEMORY = 1.0
"""GB."""
EVERY = 100
"""Pairs of a connection between two looks at the memory."""


class _Peak:
    """Looks at the memory now and then, and keeps the most it saw."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._calls = 0
        self.first = self.most = service.memory()

    def __call__(self) -> None:
        self._calls += 1
        if self._calls % EVERY == 0:
            self.look()

    def look(self) -> float:
        """Look once; return the most seen, in bytes."""
        self.most = max(self.most, self._service.memory())
        return self.most


def _names() -> list[list[str]]:
    """Return the names, by connection."""
    return [
        [f"user-{i}" for i in range(first, POLICIES, CONNECTIONS)] for first in range(CONNECTIONS)
    ]


def _visit(group: str, name: str, service: Service, peak: _Peak) -> list[Row]:
    """Ask every policy once and reward it."""
    features = random_features(ARMS, DIM)
    users = [visiting(names, service.key, features, peak) for names in _names()]
    load = drive(service.port, users)
    middle, late = (percentile(load.every(2), share) * 1e3 for share in (0.5, 0.99))
    return [
        Row(
            group,
            name,
            load.rate / 2,
            "pairs/s",
            note=f"decide p50 {middle:.2f} ms, p99 {late:.2f} ms",
        ),
        Row(
            group,
            f"memory, {name}",
            peak.look() / 1e9,
            "GB",
            limit=MEMORY,
            note=f"{peak.first / 1e9:.3f} GB at the start",
        ),
    ]


def many(folder: Path) -> list[Row]:
    """Measure."""
    group = f"service: {POLICIES:,} policies with dim={DIM}"
    made_with: dict[str, Any] = {"dim": DIM, **PARAMETERS}
    with Service(folder / "many") as service:
        peak = _Peak(service)
        users = [making(names, service.key, made_with) for names in _names()]
        made = drive(service.port, users).rate
        found = [
            Row(group, "made", made, "policies/s"),
            *_visit(group, "each decided and rewarded once", service, peak),
        ]
        service.stop()
        ready = service.start()
        found.append(Row(group, "start", ready, "s"))
        return found + _visit(group, "each once more, loaded on demand", service, _Peak(service))
