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
    "baseline": "What is known of the baseline",
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
    algorithm, environment, alpha, delta, runs, rounds, schedule, baseline, parameters
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
    baseline: str = "known"
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
_GUARDED: Final[tuple[dict[str, Any], ...]] = (
    {"environment": "loud", "alpha": 0.3, **_SLOW},
    {"environment": "long-shots", "alpha": 0.3, **_SLOW},
    {"environment": "extremes", "alpha": 0.1, **_SLOW},
    {"environment": "tiny-gaps", "alpha": 0.05, **_SLOW},
    {"environment": "wilderness", "alpha": 0.3, **_SLOW},
)
_SETTINGS: Final = {"means": _ARMS, "linear": _LINEAR, "none": _GUARDED}
_SHARP: Final = {"means": _ARMS[0], "linear": _LINEAR[1], "none": _GUARDED[0]}
"""Where a bound that is too small is caught most surely."""
_TOO_QUIET: Final = {"means": 0.4, "linear": 0.25, "none": 0.4}
"""The noise that controls are told of, where it is 1: every width shrinks to this share."""
_UNSEEN: Final[dict[str, Any]] = {
    "environment": "traps",
    "alpha": 0.3,
    "rounds": 3000,
    "baseline": "learned",
    "parameters": {"baseline_mean": 0.5},
}
"""A baseline that a linear model can learn in these rounds, so that something is risked at all."""
_SCHEDULES: Final = (
    *("every-round", "adversarial", "every:2", "every:100", "list:10,50,200,500"),
    *("min-gap:20", "gaps:poisson(40)", "gaps:uniform(30,30)"),
)


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
        *_baseline([row for row in conservative if row.past != "oracle"]),
        *_schedules([row for row in conservative if row.schedule == "checkpoints"]),
        *_late(conservative),
        *_controls([row for row in conservative if row.past != "oracle"]),
    ]


def _entries(rows: list[Algorithm]) -> Iterator[Case]:
    for row in rows:
        for setting in _SETTINGS[row.estimator]:
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
        ("CUCB", "long-shots", {"width": "kl"}),
        ("CUCB2", "long-shots", {"width": "kl", "cumulative": "bernstein"}),
        ("CUCB2", "extremes", {"width": "kl", "cumulative": "bernstein"}),
        ("CUCB2T", "tiny-gaps", {"width": "kl", "cumulative": "bernstein"}),
        ("CLUCB", "traps", {"width": "determinant"}),
        ("CLUCB", "wilderness", {"width": "determinant"}),
        ("CLUCB-S", "traps", {"width": "determinant"}),
        ("CLUCB2", "traps", {"width": "determinant", "cumulative": "mixture"}),
        ("CLUCB2", "wilderness", {"width": "determinant", "cumulative": "mixture"}),
        ("CLUCB2T", "wilderness", {"width": "determinant", "cumulative": "mixture"}),
    ):
        (setting, *_) = (each for each in _ARMS + _LINEAR if each["environment"] == environment)
        yield Case(group="bounds", algorithm=name, runs=2000, parameters=parameters, **setting)


def _baseline(rows: list[Algorithm]) -> Iterator[Case]:
    for row in rows:
        given: dict[str, Any] = {"group": "baseline", "algorithm": row.name}
        sharp = {**_SHARP[row.estimator], "delta": 0.2}
        # The true mean is the lower end, then the upper one.
        for known in ("interval:0,0.05", "interval:0.03,0"):
            yield Case(baseline=known, **given, **sharp)
        if row.estimator == "linear":
            yield Case(delta=0.2, **given, **_UNSEEN)
            yield Case(baseline="interval:0,0.05", delta=0.2, **given, **_LINEAR[2])
            yield Case(baseline="learned", delta=0.2, **given, **_LINEAR[2])
        else:
            yield Case(baseline="learned", **given, **sharp)
        if row.estimator != "none":
            yield Case(parameters={"learn_baseline": True}, **given, **sharp)


def _schedules(rows: list[Algorithm]) -> Iterator[Case]:
    for row in rows:
        sharp = {**_SHARP[row.estimator], "delta": 0.2, "rounds": 600}
        for schedule in _SCHEDULES:
            yield Case(group="schedules", algorithm=row.name, schedule=schedule, **sharp)


def _late(rows: list[Algorithm]) -> Iterator[Case]:
    for row in rows:
        # An oracle is safe whatever comes: one row is enough.
        for setting in _LATE[:1] if row.past == "oracle" else _LATE:
            yield Case(group="late", algorithm=row.name, runs=200, **_SLOW, **setting)


def _controls(rows: list[Algorithm]) -> Iterator[Case]:
    fail: dict[str, Any] = {"group": "controls", "expected": False, "runs": 300}
    for name, settings in (("UCB", _ARMS), ("LinUCB", _LINEAR)):
        for setting in settings:
            yield Case(algorithm=name, **{**fail, "runs": 100}, **setting)
    for row in rows:
        quiet = {"policy.noise": _TOO_QUIET[row.estimator]}
        yield Case(algorithm=row.name, parameters=quiet, **fail, **_SHARP[row.estimator])
    for row in rows:
        setting = dict(_SHARP[row.estimator], baseline="learned", parameters={})
        if row.estimator == "linear":
            setting = dict(_UNSEEN)
        quiet = {**setting.pop("parameters"), "policy.noise": 0.05}
        yield Case(algorithm=row.name, parameters=quiet, **{**fail, "runs": 600}, **setting)
    # One event at a time: the other gets so small a share of delta that it stays wide enough.
    for name, setting in (("CUCB2", _ARMS[0]), ("CLUCB2", _LINEAR[1])):
        for broken, sound in (("estimator", "martingale"), ("martingale", "estimator")):
            weights = {broken: 1.0, sound: 1e-100}
            wrong = {"policy.noise": 0.25, "cumulative": "subgaussian", "delta_weights": weights}
            yield Case(algorithm=name, parameters=wrong, **fail, **setting)
    # About a sixth of the true bound on theta; a balanced ridge would make up for it.
    for name in ("CLUCB-M", "CLUCB2", "CLUCB2T", "LinHANDRAIL", "LinHANDRAILT"):
        wrong = {"cumulative": "subgaussian", "theta_bound": 0.1, "ridge": 1.0}
        yield Case(algorithm=name, parameters=wrong, **fail, **_LINEAR[3])
    for row in rows:
        for setting in _LATE[:2]:
            naive = {**setting, "environment": f"{setting['environment']}-naive"}
            yield Case(algorithm=row.name, **{**fail, "runs": 100}, **_SLOW, **naive)
