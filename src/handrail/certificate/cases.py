"""What `make certify` certifies: a table of cases, most of them made from the catalogue.

A new entry of the catalogue gets its rows by itself. Problems are those that hurt most among the
ones tried: told a part of the noise, the same algorithms fail on them (the group "controls").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from handrail.policies.algorithm import Algorithm
from handrail.policies.catalogue import algorithms

__all__ = ["GROUPS", "Case", "cases"]

GROUPS: Final[Mapping[str, str]] = {
    "entries": "Every conservative entry of the catalogue on problems made to hurt",
    "bounds": "Tighter bounds",
    "schedules": "Schedules",
    "late": "Late rewards",
    "controls": "Controls, which have to fail",
}
"""Names and headings, in the order of the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One verdict: the arguments of `certify`, and what it has to be.

    Parameters
    ----------
    group : str
        Where the report shows it.
    algorithm, environment, alpha, delta, runs, rounds, schedule, parameters
        As for `handrail.certificate.certify.certify`.
    expected : bool
        Whether the promise has to hold. A control is there to fail: if it does not, what holds
        elsewhere proves nothing.
    """

    group: str
    algorithm: str
    environment: str
    alpha: float
    delta: float = 0.1
    runs: int | None = None
    rounds: int
    schedule: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    expected: bool = True


_ARMS: Final[tuple[dict[str, Any], ...]] = (
    {"environment": "loud", "alpha": 0.3, "rounds": 3000},
    {"environment": "long-shots", "alpha": 0.3, "rounds": 2000},
    {"environment": "extremes", "alpha": 0.1, "rounds": 3000},
    {"environment": "tiny-gaps", "alpha": 0.02, "rounds": 20_000},
)
_LINEAR: Final[tuple[dict[str, Any], ...]] = (
    {"environment": "loud", "alpha": 0.3, "rounds": 3000},
    {"environment": "traps", "alpha": 0.3, "rounds": 3000},
    {"environment": "wilderness", "alpha": 0.3, "rounds": 1000},
    {"environment": "lures", "alpha": 0.02, "rounds": 300},
)
_LATE: Final[tuple[dict[str, Any], ...]] = (
    {"environment": "late-clicks", "alpha": 0.2},
    {"environment": "late-news", "alpha": 0.5},
    {"environment": "late-any", "alpha": 0.5},
)
_SLOW: Final[dict[str, Any]] = {"delta": 0.2, "rounds": 1000}
"""Runs that policies are asked for round by round: a larger delta takes fewer of them."""
_TOO_QUIET: Final = {"means": 0.4, "linear": 0.25}
"""The noise that controls are told of, where it is 1: every width shrinks to this share."""


def cases() -> list[Case]:
    """Return the cases, in the order of the report.

    Returns
    -------
    list of Case
        Each is one verdict.
    """
    conservative = [row for row in algorithms() if row.conservative]
    return [
        *_entries(conservative),
        *_bounds(),
        *_schedules(),
        *_late(conservative),
        *_controls(conservative),
    ]


def _entries(rows: list[Algorithm]) -> Iterator[Case]:
    for row in rows:
        for setting in _ARMS if row.estimator == "means" else _LINEAR:
            given = dict(setting)
            if setting["environment"] == "lures" and row.past == "martingale":
                # As printed, psi is above all that these few rounds could bring.
                given["parameters"] = {"cumulative": "subgaussian"}
            yield Case(group="entries", algorithm=row.name, **given)


def _bounds() -> Iterator[Case]:
    for name, environment, parameters in (
        ("CUCB", "loud", {"width": "mixture", "tightest_at": 20}),
        ("CUCB-S", "loud", {"width": "mixture", "tightest_at": 20}),
        ("CUCB2", "loud", {"cumulative": "subgaussian"}),
        ("CUCB2", "loud", {"cumulative": "mixture", "width": "mixture", "tightest_at": 100}),
        ("CUCB2T", "loud", {"cumulative": "mixture", "width": "mixture", "tightest_at": 100}),
        ("CLUCB", "traps", {"width": "determinant"}),
        ("CLUCB", "wilderness", {"width": "determinant"}),
        ("CLUCB-S", "traps", {"width": "determinant"}),
        ("CLUCB2", "traps", {"width": "determinant", "cumulative": "mixture"}),
        ("CLUCB2", "wilderness", {"width": "determinant", "cumulative": "mixture"}),
        ("CLUCB2T", "wilderness", {"width": "determinant", "cumulative": "mixture"}),
    ):
        yield Case(
            group="bounds",
            algorithm=name,
            environment=environment,
            alpha=0.3,
            runs=2000,
            rounds=1000 if environment == "wilderness" else 3000,
            parameters=parameters,
        )


def _schedules() -> Iterator[Case]:
    for name, environment in (
        ("CUCB2T", "loud"),
        ("CUCB2T", "long-shots"),
        ("CLUCB2T", "traps"),
        ("CLUCB2T", "wilderness"),
    ):
        for schedule in ("every-round", "every:2", "every:100"):
            yield Case(
                group="schedules",
                algorithm=name,
                environment=environment,
                alpha=0.3,
                rounds=1000,
                schedule=schedule,
            )


def _late(rows: list[Algorithm]) -> Iterator[Case]:
    for row in rows:
        for setting in _LATE:
            yield Case(group="late", algorithm=row.name, **_SLOW, **setting)


def _controls(rows: list[Algorithm]) -> Iterator[Case]:
    fail: dict[str, Any] = {"group": "controls", "expected": False}
    for name, settings in (("UCB", _ARMS), ("LinUCB", _LINEAR)):
        for setting in settings:
            yield Case(algorithm=name, **fail, **setting)
    for row in rows:
        if row.past == "oracle":
            continue
        setting = _ARMS[0] if row.estimator == "means" else _LINEAR[1]
        told = _TOO_QUIET[row.estimator]
        yield Case(algorithm=row.name, **fail, **setting, parameters={"policy.noise": told})
    # One event at a time: the other gets so small a share of delta that it stays wide enough.
    for name, setting in (("CUCB2", _ARMS[0]), ("CLUCB2", _LINEAR[1])):
        for broken, sound in (("estimator", "martingale"), ("martingale", "estimator")):
            weights = {broken: 1.0, sound: 1e-100}
            wrong = {"policy.noise": 0.25, "cumulative": "subgaussian", "delta_weights": weights}
            yield Case(algorithm=name, **fail, **setting, parameters=wrong)
    # A sixth of the true bound on theta.
    for name in ("CLUCB-M", "CLUCB2", "CLUCB2T"):
        wrong = {"cumulative": "subgaussian", "theta_bound": 0.1}
        yield Case(algorithm=name, **fail, **_LINEAR[3], parameters=wrong)
    for row in rows:
        if row.past == "oracle":
            continue
        for setting in _LATE[:2]:
            naive = {**setting, "environment": f"{setting['environment']}-naive"}
            yield Case(algorithm=row.name, runs=100, **fail, **_SLOW, **naive)
