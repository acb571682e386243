"""Pairs of a decision and its reward by the service, against an endpoint that only commits a row.

Both are asked in turn, with bodies of the same sizes, by the same client on the same cores.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.endpoint import KEY
from benchmarks.load import Load, User, drive, percentile
from benchmarks.measure import Row
from benchmarks.noise import Others
from benchmarks.processes import free_port, served
from benchmarks.service_process import Service
from benchmarks.users import Matrix, pairs, random_features

__all__ = ["ARMS", "DIM", "PARAMETERS", "rates"]

ARMS, DIM = 24, 35
PARAMETERS: dict[str, Any] = {
    "algorithm": "LinHANDRAIL",
    "baseline_mean": 0.5,
    "alpha": 0.1,
    "delta": 0.05,
    "reward_range": [0, 1],
    "theta_bound": 1.0,
    "feature_bound": 1.0,
}
TURNS = 9
"""That are counted, after one that is not."""
CONNECTIONS = 8
PAIRS, ALONE = 640, 400
"""Of one connection in a turn: of each of many, and of the only one. With 640 every turn writes
more events than lie between two snapshots, so that none of them is spared the cost of one."""
POOL = 32
"""Different matrices of features that requests carry."""
SLOWER = 2.0
"""Allowed for the median time of a decision."""
AIM = 3_000.0
BARE = "bare endpoint"


@dataclass
class _Case:
    """One policy, and what came of asking it and the endpoint."""

    name: str
    policy: str
    made_with: dict[str, Any]
    limit: float
    features: list[Matrix] = field(default_factory=list)
    ours: dict[int, list[Load]] = field(default_factory=lambda: {1: [], CONNECTIONS: []})
    theirs: dict[int, list[Load]] = field(default_factory=lambda: {1: [], CONNECTIONS: []})

    def users(self, key: str, connections: int) -> list[User]:
        times = ALONE if connections == 1 else PAIRS
        return [pairs(self.policy, key, times, self.features) for _ in range(connections)]


def _cases() -> list[_Case]:
    fixed = {"features": random_features(ARMS, DIM), "baseline": 0}
    pool = [random_features(ARMS, DIM, seed) for seed in range(POOL)]
    return [
        _Case(f"{ARMS} x {DIM} features fixed at creation", "fixed", fixed, 0.7),
        _Case(f"{ARMS} x {DIM} features in the request", "wide", {"dim": DIM}, 0.5, pool),
    ]


def _play(case: _Case, service: Service, bare: int, connections: int) -> tuple[Load, Load]:
    ours = drive(service.port, case.users(service.key, connections))
    return ours, drive(bare, case.users(KEY, connections))


def _length(service: Service, case: _Case) -> int:
    """Return how long the ids of decisions are."""
    asked = {"features": case.features[0], "baseline": 0} if case.features else {}
    return len(service.call("POST", f"/v1/policies/{case.policy}/decide", asked)["id"])


def _ratio(
    ours: list[Load], theirs: list[Load], measure: Callable[[Load], float]
) -> tuple[float, float, float]:
    """Return the medians of both, and of the ratio within a turn."""
    a, b = [measure(load) for load in ours], [measure(load) for load in theirs]
    shares = (x / y for x, y in zip(a, b, strict=True))
    return statistics.median(a), statistics.median(b), statistics.median(shares)


def _half(load: Load) -> float:
    return load.rate / 2


def _latency(share: float) -> Callable[[Load], float]:
    """Return the time of decisions, in microseconds; they are every other request."""
    return lambda load: percentile(load.every(2), share) * 1e6


def _rows(case: _Case, played: dict[str, int]) -> list[Row]:
    group = f"service: {case.name}"
    kinds = ", ".join(f"{count:,} {event}" for event, count in played.items())
    mine, bare, ratio = _ratio(case.ours[CONNECTIONS], case.theirs[CONNECTIONS], _half)
    found = [
        Row(group, f"{BARE}, {CONNECTIONS} connections", bare, "pairs/s"),
        Row(
            group,
            f"decide and reward, {CONNECTIONS} connections",
            mine,
            "pairs/s",
            BARE,
            ratio,
            case.limit,
            kinds,
            least=True,
        ),
    ]
    if not case.features:
        found.append(Row(group, "the same as a number", mine, "pairs/s", aim=AIM, least=True))
    for connections in (CONNECTIONS, 1):
        ours, theirs = case.ours[connections], case.theirs[connections]
        mine, bare, ratio = _ratio(ours, theirs, _latency(0.5))
        late, bare_late, _ = _ratio(ours, theirs, _latency(0.99))
        note = f"bare {bare:.0f} us; p99 {late:.0f} us, bare {bare_late:.0f} us"
        name = f"decide p50, {connections} connection{'s' if connections > 1 else ''}"
        found.append(Row(group, name, mine, "us", BARE, ratio, SLOWER, note))
    return found


def rates(folder: Path) -> list[Row]:
    """Measure; the service and the endpoint run side by side and are asked in turn."""
    cases, found = _cases(), []
    with ExitStack() as stack:
        service = stack.enter_context(Service(folder / "rates"))
        bare, processes = {}, [service.process.pid]
        for case in cases:
            service.create(case.policy, **PARAMETERS, **case.made_with)
            bare[case.policy] = port = free_port()
            more = {
                "BARE_DATABASE": str(folder / f"{case.policy}.db"),
                "BARE_ID_LENGTH": str(_length(service, case)),
            }
            command = [sys.executable, "-m", "benchmarks.endpoint", "--port", str(port)]
            processes.append(stack.enter_context(served(command, port, more)).pid)
        others = Others(processes)
        for turn in range(TURNS + 1):
            for case in cases:
                for connections in (CONNECTIONS, 1):
                    ours, theirs = _play(case, service, bare[case.policy], connections)
                    if turn:
                        case.ours[connections].append(ours)
                        case.theirs[connections].append(theirs)
        share = others.share()
        for case in cases:
            played = service.call("GET", f"/v1/policies/{case.policy}")["decisions"]
            found += _rows(case, played)
    if share is not None:
        name = "processors' time taken by others meanwhile"
        found.append(Row("service: the machine", name, 100 * share, "%"))
    return found
