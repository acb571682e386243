"""What `make certify` certifies: a table of cases, most of them made from the catalogue.

A new entry of the catalogue gets its rows by itself. Problems are those that hurt most among the
ones tried: told a part of the noise, the same algorithms fail on them (the group "controls"), and
with a formula broken they fail as well (the group "broken").

A cut of a width shows as delta^(keep^2) in place of delta: at delta 0.1 a quarter less is 2.7 times
delta, and what the bound gives away hides it; at delta 0.001 it is 20 times. So bounds are tested
at small deltas, on many short runs (the group "edges").
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
    "use": "Decisions not carried out, arms that come and go, other ranges, doubtful intervals",
    "edges": "Problems that use up delta",
    "controls": "Controls, which have to fail",
    "broken": "Broken variants, which have to fail",
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
    broken : str, optional
        The variant of `handrail.certificate.broken` that is judged in place of handrail.
    cut : float, default=0.0
        What it takes off a width, as a share of it.
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
    broken: str = ""
    cut: float = 0.0


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
_USE: Final[tuple[dict[str, Any], ...]] = (
    {"environment": "unanswered", "alpha": 0.1},
    {"environment": "choices", "alpha": 0.1},
    {"environment": "unsaid", "alpha": 0.05},
    {"environment": "fallbacks", "alpha": 0.3},
    {"environment": "timeouts", "alpha": 0.2, "baseline": "learned", "rounds": 1000},
    {"environment": "comings", "alpha": 0.3},
    {"environment": "comings-declared", "alpha": 0.3},
    {"environment": "shifted", "alpha": 0.3},
    {"environment": "shifted-clicks", "alpha": 0.2},
)

_USED: Final = ("CUCB", "CUCB2T", "CLUCB2", "HANDRAIL", "LinHANDRAIL", "GUARD")
"""One of each kind."""

_FINE: Final[dict[str, Any]] = {"delta": 0.001, "runs": 30_000}
"""So small a delta shows small cuts, and takes as many runs."""
_STILL: Final = {"high": 0.0}
"""Of `loud`: the arms are worth nothing at all."""
_PAST_ALONE: Final = {"delta_weights": {"estimator": 1e-100, "martingale": 1.0}}
_NOW_ALONE: Final = {"delta_weights": {"estimator": 1.0, "martingale": 1e-100}}
"""All of delta for one event: the other's bound is so wide that it is never wrong."""
_GAPS: Final[dict[str, Any]] = {
    **{"environment": "loud", "alpha": 0.9, "rounds": 4000, "schedule": "gaps:uniform(500,500)"},
    **{"delta": 0.1, "runs": 2000},
}
"""Gaps of which few are much shorter than most: a quantile that is too large is too large often."""
_GAPS_ALONE: Final = {"delta_weights": {"estimator": 1e-9, "martingale": 1e-9, "schedule": 1.0}}
_EDGES: Final[Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "wu": (
        "CUCB",
        {"environment": "loud", "alpha": 0.3, "rounds": 100, **_FINE},
        {"arms": 11, **_STILL},
    ),
    "arm-mixture": (
        "CUCB",
        {"environment": "loud", "alpha": 0.3, "rounds": 300, **_FINE},
        {"arms": 11, **_STILL, "width": "mixture", "tightest_at": 5.0},
    ),
    "kl": (
        "CUCB",
        {"environment": "shortfalls", "alpha": 0.3, "rounds": 200, "delta": 0.01, "runs": 3000},
        {"arms": 11, "mean": 0.01, "baseline_mean": 0.03, "width": "kl"},
    ),
    "own-mean": (
        "CLUCB2",
        {"environment": "loud", "alpha": 0.3, "rounds": 300, **_FINE},
        {"arms": 6, **_STILL, "width": "intersection", "tightest_at": 5.0, **_NOW_ALONE},
    ),
    "ellipsoid-paper": (
        "CLUCB",
        {"environment": "loud", "alpha": 0.3, "rounds": 1000, **_FINE},
        {"arms": 2, **_STILL, "width": "paper", "ridge": 1.0},
    ),
    "determinant": (
        "CLUCB",
        {"environment": "loud", "alpha": 0.3, "rounds": 1000, **_FINE},
        {"arms": 2, **_STILL, "width": "determinant", "ridge": 1.0},
    ),
    "psi-paper": (
        "CUCB2",
        {"environment": "loud", "alpha": 0.3, "rounds": 100, **_FINE},
        {"arms": 2, **_STILL, "noise": 100.0, "baseline_mean": 0.5, **_PAST_ALONE},
    ),
    "psi-subgaussian": (
        "CUCB2",
        {"environment": "loud", "alpha": 0.3, "rounds": 100, **_FINE},
        {"arms": 2, **_STILL, "cumulative": "subgaussian", **_PAST_ALONE},
    ),
    "psi-mixture": (
        "CUCB2",
        {"environment": "loud", "alpha": 0.3, "rounds": 300, **_FINE},
        {"arms": 2, **_STILL, "cumulative": "mixture", "tightest_at": 5.0, **_PAST_ALONE},
    ),
    "bernstein": (
        "CUCB2",
        {
            **{"environment": "shortfalls", "alpha": 0.03, "rounds": 10_000},
            **{"delta": 0.001, "runs": 10_000},
        },
        {
            **{"arms": 301, "baseline_mean": 0.99, "width": "kl", "cumulative": "bernstein"},
            # An arm's lower bound is close, or a whole reward were held back for the round to come.
            "delta_weights": {"estimator": 0.001, "martingale": 1.0},
        },
    ),
    "gap-quantile": (
        "CUCB2T",
        _GAPS,
        {"arms": 2, **_STILL, **_GAPS_ALONE},
    ),
}
"""For each bound, who plays what where all of delta is used up, or as much of it as was found."""
_NOTICED: Final = {
    "wu": 0.2,
    "arm-mixture": 0.15,
    "kl": 0.1,
    "own-mean": 0.2,
    "ellipsoid-paper": 0.25,
    "determinant": 0.15,
    "psi-paper": 0.25,
    "psi-subgaussian": 0.25,
    "psi-mixture": 0.15,
    "bernstein": 0.25,
    "gap-quantile": 0.1,
}
"""The smallest cut of each that is noticed there, of 10, 15, 20, ... %."""


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
        *_use([row for row in conservative if row.past != "oracle"]),
        *_edges(),
        *_controls([row for row in conservative if row.past != "oracle"]),
        *_broken(),
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


def _use(rows: list[Algorithm]) -> Iterator[Case]:
    slow: dict[str, Any] = {"group": "use", "delta": 0.2, "rounds": 400, "runs": 200}
    for row in rows:
        if row.name not in _USED:
            continue
        for setting in _USE:
            comes = setting["environment"].startswith("comings")
            if comes and row.estimator != "means":
                continue  # the ellipsoid covers arms that it has not seen; guards know none
            yield Case(algorithm=row.name, **{**slow, **setting})
    yield _doubtful("use")


def _doubtful(group: str, **more: Any) -> Case:
    """An interval that is wrong as often as it may be, and gaps that are short as often."""
    return Case(
        group=group,
        algorithm="GUARD-T",
        environment="shortfalls",
        alpha=0.7,
        delta=0.2,
        runs=3000,
        rounds=3000,
        schedule="gaps:expon(0,1000)",
        baseline="doubtful:0.19",
        parameters={
            "arms": 21,
            "mean": 0.2,
            "delta_weights": {"martingale": 0.05, "schedule": 1.0},
        },
        **more,
    )


def _edges() -> Iterator[Case]:
    for name, setting, parameters in _EDGES.values():
        yield Case(group="edges", algorithm=name, parameters=parameters, **setting)
    for mistake, (algorithm, setting) in _MISTAKEN.items():
        if mistake != "long-gap":  # judged on the runs of its quantile
            yield Case(group="edges", algorithm=algorithm, **setting)


_MISTAKEN: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "no-union": (
        "CUCB",
        {
            **{"environment": "loud", "alpha": 0.9, "delta": 0.01, "runs": 2000, "rounds": 2000},
            "parameters": {"arms": 101, **_STILL, "width": "mixture", "tightest_at": 5.0},
        },
    ),
    "no-log-det": (
        "CLUCB",
        {
            **{"environment": "loud", "alpha": 0.3, "delta": 0.01, "runs": 6000, "rounds": 3000},
            "parameters": {"arms": 2, **_STILL, "width": "determinant", "ridge": 0.01},
        },
    ),
    "upper-end-learned": (
        "LinHANDRAIL",
        {
            **{"environment": "echoes", "alpha": 0.1, "delta": 0.1, "runs": 300, "rounds": 1000},
            **{"baseline": "interval:0,0.5", "parameters": {"learn_baseline": "mean"}},
        },
    ),
    "lower-end-needed": (
        "CUCB",
        {
            **{"environment": "shortfalls", "alpha": 0.1, "delta": 0.1, "runs": 300},
            **{"rounds": 3000, "baseline": "interval:0.4,0"},
            "parameters": {"mean": 0.7},
        },
    ),
    "long-slack": (
        "CUCB2T",
        {"environment": "loud", "alpha": 0.85, "delta": 0.1, "runs": 300, "rounds": 300},
    ),
    "no-variation": (
        "CUCB2",
        {
            **{"environment": "shortfalls", "alpha": 0.2, "delta": 0.1, "runs": 300},
            "rounds": 4000,
            "parameters": {
                **{"mean": 0.5, "baseline_mean": 0.8, "width": "kl", "cumulative": "bernstein"},
                **_PAST_ALONE,
            },
        },
    ),
    "learned": (
        "GUARD",
        {
            **{"environment": "shortfalls", "alpha": 0.3, "delta": 0.2, "runs": 150},
            **{"rounds": 500, "baseline": "learned"},
            "parameters": {"mean": 0.3, "baseline_mean": 0.5},
        },
    ),
    "long-gap": (
        "CUCB2T",
        {**_GAPS, "parameters": {"arms": 2, **_STILL, **_GAPS_ALONE}},
    ),
}
"""For each mistake, who plays what where it is caught."""


def _broken() -> Iterator[Case]:
    fail: dict[str, Any] = {"group": "broken", "expected": False}
    for part, (name, setting, parameters) in _EDGES.items():
        given: dict[str, Any] = {"algorithm": name, "parameters": parameters, "broken": part}
        yield Case(cut=_NOTICED[part], **given, **fail, **setting)
    yield _doubtful(**fail, broken="interval-for-free")
    for mistake, (name, setting) in _MISTAKEN.items():
        yield Case(algorithm=name, broken=mistake, **fail, **setting)
    slow: dict[str, Any] = {"delta": 0.2, "rounds": 400, "runs": 200}
    settings = {setting["environment"]: setting for setting in _USE}
    for name, environment, mistake in (
        ("CUCB", "comings", "no-union-ever"),
        ("CUCB", "fallbacks", "fallback-twice"),
        ("CUCB", "shifted", "noise-of-the-range"),
        ("HANDRAIL", "unanswered", "lost-credited"),
        ("HANDRAIL", "unsaid", "unsaid-credited"),
        ("GUARD", "choices", "choice-as-fallback"),
        ("GUARD", "timeouts", "timeout-teaches"),
    ):
        given = {**slow, **settings[environment], "algorithm": name}
        yield Case(broken=mistake, **given, **fail)
