"""The library against the oracle: named algorithms beyond the paper's, with what they preset."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import handrail
from oracle.beyond import Fractions, Proposals
from oracle.catalogue import Parts
from oracle.compare import Plan, run
from oracle.guarding import guarded
from oracle.oracle import Oracle
from oracle.pair import preset, with_lines
from oracle.problems import Bernoulli, Contexts, LinearArms, Problem, arguments

SCATTERED = Plan(longest=40, at_once=0.5)
MEANS = ["HANDRAIL", "HANDRAIL-Or", "HANDRAILT"]
LINEAR = ["LinHANDRAIL", "LinHANDRAIL-Or", "LinHANDRAILT"]
RANGE = (0.0, 1.0)


def _problem(name: str, seed: int) -> Problem:
    rng = np.random.default_rng([120, seed])
    more: dict[str, Any] = {"alpha": 0.1137, "reward_range": RANGE}
    if name in MEANS:
        make = Fractions if seed % 2 else Bernoulli
        return make(rng, arms=4, rank=seed % 3, **more)
    if seed % 2:
        truth = handrail.algorithm(name).past == "oracle"
        return Contexts(rng, dim=4, noise=0.3, tell_truth=truth, **more)
    return LinearArms(rng, arms=6, dim=3, rank=seed % 3, **more)


@pytest.mark.parametrize("plan", [Plan(), SCATTERED], ids=["at once", "scattered"])
@pytest.mark.parametrize("name", [*MEANS, *LINEAR])
def test_names(name: str, plan: Plan) -> None:
    """The policy is told its name, the oracle the parts and the preset behind it."""
    row = handrail.algorithm(name)
    parts = Parts(row.estimator, row.past, row.selection, row.schedule)
    seen: Counter[str] = Counter()
    for seed in range(4):
        problem = _problem(name, seed)
        settings = arguments(parts, problem.settings)
        policy = handrail.make_policy(name, **settings)
        oracle = Oracle(parts=parts, **with_lines({**preset(row, settings), **settings}))
        rng = np.random.default_rng(seed)
        seen += run(policy, oracle, problem, 200, rng, plan).events
    assert set(seen) >= {"optimistic", "baseline"}


@pytest.mark.parametrize("told", ["known", "round", "once", "learned"])
@pytest.mark.parametrize("name", ["GUARD", "GUARD-T"])
def test_guards(name: str, told: str) -> None:
    """Guards with what they preset."""
    more: dict[str, Any] = {} if name == "GUARD" else {"checkpoint_every": 11}
    problem = Proposals(np.random.default_rng(121), told)
    assert guarded(name, problem, 300, **more).events["optimistic"]
