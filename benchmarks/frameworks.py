"""The choice of server, framework and commit: one endpoint, by all of them, in turn."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec

from benchmarks.endpoint import KEY
from benchmarks.load import Load, User, drive, percentile
from benchmarks.measure import Row
from benchmarks.processes import free_port, on_disk, served
from benchmarks.users import pairs, random_features

TURNS = 9
"""That are counted, after one that is not."""
CONNECTIONS = 8
PAIRS, WIDE = 200, 100
"""Of one connection in a turn: pairs of a decision and its reward, without features and with."""
ARMS, DIM = 24, 35
FIRST = "raw ASGI, uvicorn"
THREAD = "by a thread, one statement"


@dataclass(frozen=True)
class Candidate:
    """A server process."""

    command: list[str]
    """Without the port."""
    needs: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """Return the packages that are not installed."""
        return [name for name in ("msgspec", *self.needs) if find_spec(name) is None]


def _module(name: str, *options: str) -> list[str]:
    return [sys.executable, "-m", name, *options]


def _uvicorn(app: str, *needs: str) -> Candidate:
    return Candidate(
        _module("benchmarks.endpoint", "--app", app), ("uvicorn", "httptools", "uvloop", *needs)
    )


def _granian(*options: str) -> Candidate:
    command = _module("granian", "benchmarks.endpoint:raw_app", "--factory", *options)
    command += [
        "--interface",
        "asginl",
        "--workers",
        "1",
        "--loop",
        "uvloop",
        "--no-ws",
        "--no-log",
    ]
    return Candidate(command, ("granian", "uvloop"))


FRAMEWORKS = {
    FIRST: _uvicorn("benchmarks.endpoint:raw_app"),
    "Starlette, uvicorn": _uvicorn("benchmarks.endpoint_frameworks:starlette", "starlette"),
    "FastAPI and msgspec, uvicorn": _uvicorn(
        "benchmarks.endpoint_frameworks:fastapi_msgspec", "fastapi"
    ),
    "FastAPI and pydantic, uvicorn": _uvicorn("benchmarks.endpoint_frameworks:fastapi", "fastapi"),
    "raw ASGI, granian, one thread": _granian("--workers", "1", "--runtime-mode", "st"),
    "raw ASGI, granian, threads": _granian("--workers", "1", "--runtime-mode", "mt"),
    "no framework: httptools, uvloop": Candidate(
        _module("benchmarks.endpoint_frameworks"), ("httptools", "uvloop")
    ),
}


def _committed(commit: str, interval: float | None = None) -> Candidate:
    plain = FRAMEWORKS[FIRST]
    settings = {"BARE_COMMIT": commit}
    if interval is not None:
        settings["BARE_SWITCH"] = str(interval)
    return Candidate(plain.command, plain.needs, settings)


COMMITTING = {
    THREAD: _committed("thread"),
    f"{THREAD}, switch interval 0.5 ms": _committed("thread", 0.0005),
    f"{THREAD}, switch interval 0.05 ms": _committed("thread", 0.00005),
    "by a thread, a statement a row": _committed("thread, a statement a row"),
    "by the loop, one statement": _committed("loop"),
    "by the loop, a statement a row": _committed("loop, a statement a row"),
}


def _many(user: Callable[[], User]) -> list[User]:
    return [user() for _ in range(CONNECTIONS)]


def _measured(
    candidates: dict[str, Candidate], works: dict[str, Callable[[], list[User]]]
) -> dict[str, dict[str, list[Load]]]:
    """Return what came of every work by every candidate, turn by turn."""
    found: dict[str, dict[str, list[Load]]] = {
        work: {name: [] for name in candidates} for work in works
    }
    with on_disk() as folder, ExitStack() as stack:
        ports = {}
        for i, (name, candidate) in enumerate(candidates.items()):
            ports[name] = port = free_port()
            settings = {**candidate.settings, "BARE_DATABASE": str(folder / f"{i}.db")}
            stack.enter_context(served([*candidate.command, "--port", str(port)], port, settings))
        for turn in range(TURNS + 1):
            for name, port in ports.items():
                for work, users in works.items():
                    load = drive(port, users())
                    if turn:
                        found[work][name].append(load)
    return found


def _rows(group: str, first: str, loads: dict[str, list[Load]]) -> list[Row]:
    """Return the requests a second and latencies; the ratio is to the first of the same turn."""
    rates = {name: [load.rate for load in those] for name, those in loads.items()}
    found = []
    for name, those in loads.items():
        middle, late = (
            statistics.median(percentile(load.every(1), share) for load in those) * 1e6
            for share in (0.5, 0.99)
        )
        shares = [a / b for a, b in zip(rates[name], rates[first], strict=True)]
        found.append(
            Row(
                group,
                name,
                statistics.median(rates[name]),
                "requests/s",
                against="" if name == first else first,
                ratio=None if name == first else statistics.median(shares),
                note=f"p50 {middle:.0f} us, p99 {late:.0f} us",
            )
        )
    return found


def rows() -> list[Row]:
    """Measure; candidates that are not installed are named and left out."""
    present = {}
    for name, candidate in FRAMEWORKS.items():
        if missing := candidate.missing():
            print(f"{name} was left out: {', '.join(missing)} is not installed", file=sys.stderr)
        else:
            present[name] = candidate
    if FIRST not in present:
        raise ImportError(f"{FIRST} needs {', '.join(FRAMEWORKS[FIRST].missing())}")
    wide = [random_features(ARMS, DIM)]
    small = {
        f"{CONNECTIONS} connections": lambda: _many(lambda: pairs("p", KEY, PAIRS)),
        "1 connection": lambda: [pairs("p", KEY, PAIRS)],
    }
    large = {
        f"{CONNECTIONS} connections, {ARMS} x {DIM} features": lambda: _many(
            lambda: pairs("p", KEY, WIDE, wide)
        )
    }
    found = []
    for work, loads in _measured(present, {**small, **large}).items():
        found += _rows(f"framework: {work}", FIRST, loads)
    for work, loads in _measured(COMMITTING, small).items():
        found += _rows(f"commit: {work}", THREAD, loads)
    return found
