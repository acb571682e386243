"""Every environment keeps the contract, and the checks find those that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail.environments.bernoulli import Bernoulli
from handrail.environments.contextual import ContextualLinear
from handrail.environments.linear import Linear
from handrail.environments.problem import (
    ContextProblem,
    Contexts,
    Environment,
    FixedProblem,
    Problem,
)
from handrail.testing import check_environment

PARAMETERS: dict[str, dict[str, Any]] = {
    "bernoulli": {"arms": 4},
    "linear": {"arms": 6, "dim": 4},
    "contextual-linear": {"actions": 5, "dim": 4},
    "ratings": {"rank": 3, "baseline_rank": 2},
    "loud": {"arms": 4},
    "long-shots": {"arms": 6},
    "extremes": {"arms": 4},
    "tiny-gaps": {"arms": 4},
    "shortfalls": {"arms": 4},
    "traps": {"arms": 6, "dim": 4},
    "wilderness": {"dwell": 7},
    "lures": {"early": 20},
    "echoes": {"loss": 0.2},
}


def ratings(folder: Path) -> str:
    path = folder / "ratings.csv"
    table = np.random.default_rng(0).uniform(-1, 1, (12, 5))
    np.savetxt(path, table, delimiter=",")
    return str(path)


@pytest.mark.parametrize("name", handrail.environment_names())
def test_every_environment(name: str, tmp_path: Path) -> None:
    parameters = PARAMETERS[name]
    if name == "ratings":
        parameters = {**parameters, "table": ratings(tmp_path)}
    check_environment(lambda: handrail.make_environment(name, **parameters))


class Changed:
    """An environment whose problems are changed in one way."""

    def __init__(self, inner: Environment, change: Callable[[Any, int, int], Problem]) -> None:
        self.inner = inner
        self.change = change

    def problem(self, seed: int, index: int) -> Problem:
        return self.change(self.inner.problem(seed, index), seed, index)

    def describe(self) -> dict[str, Any]:
        return self.inner.describe()


def _contexts(change: Callable[[Contexts, int, int], Contexts]) -> Any:
    def apply(problem: ContextProblem, _seed: int, _index: int) -> Problem:
        return replace(
            problem,
            contexts=lambda run, start, stop: change(
                problem.contexts(run, start, stop), run, start
            ),
        )

    return apply


FIXED: dict[str, tuple[str, Any]] = {
    "outside": (r"means: lie outside \[0, 1\]", lambda p, s, i: replace(p, means=p.means + 1.0)),
    "linear": ("not linear", lambda p, s, i: replace(p, means=p.means**2)),
    "bound": ("theta_bound is below", lambda p, s, i: replace(p, theta_bound=p.theta_bound / 2)),
    "rewards": ("'poisson' is not known", lambda p, s, i: replace(p, rewards="poisson")),
    "noise": ("noise: 0 is not above 0", lambda p, s, i: replace(p, noise=0.0)),
    "index": ("index 1 gave the same problem", lambda p, s, i: Linear(6, 4).problem(s, 0)),
    "seed": ("another seed gave", lambda p, s, i: Linear(6, 4).problem(7, i)),
}
CONTEXTS: dict[str, tuple[str, Any]] = {
    "lower": (
        "below baseline_lower",
        lambda p, s, i: replace(p, baseline_lower=p.baseline_lower + 0.5),
    ),
    "long": ("exceed feature_bound", lambda p, s, i: replace(p, feature_bound=0.7)),
    "portions": (
        "depend on the portions",
        _contexts(lambda c, run, start: c._replace(baselines=(c.baselines + start) % 5)),
    ),
    "action": (
        "baselines: are not one action for each round",
        _contexts(lambda c, run, start: c._replace(baselines=c.baselines + 5)),
    ),
    "runs": (
        "runs 1 and 2",
        lambda p, s, i: replace(p, contexts=lambda run, start, stop: p.contexts(0, start, stop)),
    ),
}


@pytest.mark.parametrize("broken", FIXED)
def test_broken_fixed_arms_are_found(broken: str) -> None:
    complaint, change = FIXED[broken]
    with pytest.raises(AssertionError, match=complaint):
        check_environment(lambda: Changed(Linear(6, 4), change))


@pytest.mark.parametrize("broken", CONTEXTS)
def test_broken_contexts_are_found(broken: str) -> None:
    complaint, change = CONTEXTS[broken]
    with pytest.raises(AssertionError, match=complaint):
        check_environment(lambda: Changed(ContextualLinear(5, 4), change))


def test_an_environment_that_forgets_its_seed_is_found() -> None:
    draws = iter(range(10**6))

    def change(problem: FixedProblem, seed: int, index: int) -> Problem:
        return Bernoulli(4).problem(next(draws), index)

    with pytest.raises(AssertionError, match="the same seed and index gave another problem"):
        check_environment(lambda: Changed(Bernoulli(4), change))


def test_a_registered_environment_is_simulated_by_name() -> None:
    handrail.register_environment("two-coins", lambda bias=0.6: Bernoulli(2, 0.0, bias, 2))
    assert "two-coins" in handrail.environment_names()
    table = handrail.simulate("two-coins", algorithms=["CUCB2"], rounds=50, runs=2, bias=0.5)
    assert set(table.column("algorithm").to_pylist()) == {"CUCB2"}


def test_an_unknown_name_gets_near_ones() -> None:
    with pytest.raises(handrail.InputError, match="did you mean bernoulli") as caught:
        handrail.make_environment("bernouli")
    assert caught.value.field == "environment"


def test_names_of_its_own_are_kept() -> None:
    with pytest.raises(handrail.InputError, match="handrail's own"):
        handrail.register_environment("bernoulli", Bernoulli)


@pytest.mark.parametrize(
    ("name", "parameters", "field"),
    [
        ("bernoulli", {"arms": 0}, "arms"),
        ("bernoulli", {"low": 0.6, "high": 0.4}, "low"),
        ("bernoulli", {"low": -0.1}, "low"),
        ("bernoulli", {"baseline_rank": 11}, "baseline_rank"),
        ("bernoulli", {"dim": 3}, "dim"),
        ("linear", {"arms": 1}, "arms"),
        ("linear", {"dim": 1}, "dim"),
        ("linear", {"noise": 0}, "noise"),
        ("linear", {"baseline_rank": 0}, "baseline_rank"),
        ("contextual-linear", {"signal": 0.6}, "signal"),
        ("contextual-linear", {"perturbation": -1}, "perturbation"),
        ("contextual-linear", {"actions": 0}, "actions"),
        ("ratings", {"table": "no/such/file.csv"}, "table"),
        ("ratings", {"rank": 1}, "rank"),
        ("loud", {"arms": 1}, "arms"),
        ("loud", {"baseline_mean": 1.1}, "baseline_mean"),
        ("loud", {"high": -0.1}, "high"),
        ("loud", {"noise": 0}, "noise"),
        ("long-shots", {"arms": 1}, "arms"),
        ("long-shots", {"high": 2}, "high"),
        ("extremes", {"arms": 2}, "arms"),
        ("extremes", {"spread": 1.5}, "spread"),
        ("tiny-gaps", {"gap": 0.3}, "gap"),
        ("tiny-gaps", {"better": 0.6}, "better"),
        ("traps", {"dim": 2}, "dim"),
        ("traps", {"baseline_mean": 0}, "baseline_mean"),
        ("wilderness", {"actions": 1}, "actions"),
        ("wilderness", {"dwell": 0}, "dwell"),
        ("lures", {"lures": 0}, "lures"),
        ("lures", {"early": -1}, "early"),
        ("shortfalls", {"arms": 1}, "arms"),
        ("shortfalls", {"mean": 1.5}, "mean"),
        ("echoes", {"loss": 1.0}, "loss"),
        ("echoes", {"small": 0.0}, "small"),
    ],
)
def test_bad_parameters_name_their_field(name: str, parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(handrail.InputError) as caught:
        handrail.make_environment(name, **parameters)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("parameters", "field"), [({"rank": 6}, "rank"), ({"baseline_rank": 6}, "baseline_rank")]
)
def test_ratings_that_cannot_be(tmp_path: Path, parameters: dict[str, Any], field: str) -> None:
    given = {"rank": 3, "baseline_rank": 2, **parameters}
    with pytest.raises(handrail.InputError) as caught:
        handrail.make_environment("ratings", table=ratings(tmp_path), **given)
    assert caught.value.field == field


def test_more_problems_than_users(tmp_path: Path) -> None:
    environment = handrail.make_environment(
        "ratings", table=ratings(tmp_path), rank=3, baseline_rank=2
    )
    with pytest.raises(handrail.InputError, match="12 users") as caught:
        environment.problem(0, 12)
    assert caught.value.field == "problems"


def test_users_who_rate_everything_alike_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    np.savetxt(path, np.ones((4, 3)), delimiter=",")
    with pytest.raises(handrail.InputError, match="every user rates all items alike"):
        handrail.make_environment("ratings", table=str(path), rank=2, baseline_rank=2)
