"""What is counted for `/metrics`: plain numbers on the way, Prometheus' families when asked.

All of it happens in the thread of the event loop, so adding one takes no lock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from handrail.service.http.ports import DeskPort
from handrail.service.messages import Event, RewardStatus

__all__ = ["METRICS", "Meters"]

METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS: Final = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0),
)

_POLICIES: Final = 1_000
"""Policies whose margins are told: a metric for each of very many would choke Prometheus."""


class _Latency:
    """How long requests took: how many up to each bound, and their sum."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.total = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        """Return the buckets as Prometheus wants them, each with all below it."""
        so_far, buckets = 0, []
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            buckets.append((bound, float(so_far)))
        return buckets


class Meters(Collector):
    """Counts requests, decisions and rewards, and asks the desk for the rest.

    Parameters
    ----------
    desk : DeskPort
        Where the work is done.
    """

    def __init__(self, desk: DeskPort) -> None:
        self._desk = desk
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], _Latency] = {}
        # Prometheus sees no increase in a counter that begins at 1.
        self.decisions: Counter[str] = Counter(dict.fromkeys(get_args(Event), 0))
        self.rewards: Counter[str] = Counter(dict.fromkeys(get_args(RewardStatus), 0))
        self.connections: Callable[[], int] = lambda: 0
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def count(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request by its route, and how long it took."""
        self._requests[path, method, status] += 1
        where = self._seconds.get((path, method))
        if where is None:
            where = self._seconds[path, method] = _Latency()
        where.counts[bisect_left(_BOUNDS, seconds)] += 1
        where.total += seconds

    def text(self) -> bytes:
        """Return everything in Prometheus' format."""
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the names are not known before they are asked for."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Return everything as Prometheus' families."""
        requests = CounterMetricFamily(
            "handrail_requests", "Requests answered.", labels=["path", "method", "status"]
        )
        for (path, method, status), count in sorted(self._requests.items()):
            requests.add_metric([path, method, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily(
            "handrail_request_seconds", "Time to answer.", labels=["path", "method"]
        )
        for labels, latency in sorted(self._seconds.items()):
            seconds.add_metric(labels, latency.buckets(), latency.total)
        yield seconds
        yield _counted("handrail_decisions", "Decisions answered.", "event", self.decisions)
        yield _counted("handrail_rewards", "Rewards answered.", "status", self.rewards)
        yield _gauge("ready", "Whether decisions are made.", self._desk.ready)
        yield _gauge("connections", "Connections that are open.", self.connections())
        yield from _from_desk(self._desk)


def _counted(name: str, about: str, label: str, counts: Counter[str]) -> Metric:
    family = CounterMetricFamily(name, about, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"handrail_{name}", about, float(value))


def _from_desk(desk: DeskPort) -> Iterator[Metric]:
    yield _gauge("database_up", "Whether the database took what was written last.", desk.reachable)
    yield _gauge("queue", "Requests that wait for the writer.", desk.waiting)
    yield _gauge(
        "damaged_policies", "Policies whose logs do not follow their hashes.", desk.damaged
    )
    rows = GaugeMetricFamily(
        "handrail_damaged_rows", "Rows that nobody wrote, and that are left out.", labels=["table"]
    )
    for table, count in desk.damaged_rows.items():
        rows.add_metric([table], float(count))
    yield rows
    yield CounterMetricFamily(
        "handrail_restored",
        "Times that a log was not the one in memory, and all state was folded again.",
        desk.restored,
    )
    yield CounterMetricFamily("handrail_commits", "Transactions committed.", desk.batches)
    yield CounterMetricFamily(
        "handrail_commit_seconds", "Time in transactions, decisions included.", desk.commit_seconds
    )
    books = desk.books
    yield _gauge("policies_in_memory", "Policies in memory.", len(books))
    margins = GaugeMetricFamily(
        "handrail_margin",
        f"Certified margin of the latest round, of up to {_POLICIES} policies in memory.",
        labels=["policy"],
    )
    for book in books[-_POLICIES:]:  # those used last
        if book.margin is not None:
            margins.add_metric([book.definition["name"]], book.margin)
    yield margins
