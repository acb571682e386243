"""Run a library's guard and its oracle side by side, decision by decision."""

from __future__ import annotations

from typing import Any

import numpy as np

import handrail
from oracle.beyond import Proposals
from oracle.compare import (
    AT_ONCE,
    MOST_TIES,
    TIE,
    Act,
    After,
    Plan,
    Tally,
    fall_later,
    put_off,
    same,
)
from oracle.guard import GuardAnswer, GuardOracle
from oracle.pair import preset, with_lines


def guarded(
    name: str,
    problem: Proposals,
    rounds: int,
    *,
    plan: Plan = AT_ONCE,
    seed: int = 0,
    after: After | None = None,
    **more: Any,
) -> Tally:
    """GUARD or GUARD-T; raises AssertionError at the first difference."""
    settings = {**problem.settings, **more}
    if name == "GUARD":
        settings.pop("baseline_lower", None)
    policy = handrail.make_policy(name, **settings)
    oracle = GuardOracle(
        name, **with_lines({**preset(handrail.algorithm(name), settings), **settings})
    )
    rng = np.random.default_rng(seed)
    tally = Tally()
    due: dict[int, list[Act]] = {}
    for time in range(1, rounds + 1):
        told = problem.ask()
        hold = plan.hold(rng)
        decision = policy.decide(**told, hold=hold)
        answer = oracle.decide(**told, force=decision.action)
        if hold:
            margin = answer.baseline_margin
            baseline = {**problem.settings, **told}["baseline"]
            answer = answer._replace(action=baseline, event="baseline", margin=margin)
            assert (decision.action, decision.event) == (baseline, "baseline")
        _check(decision, answer, told["proposal"], (oracle.units.lo, oracle.units.hi), tally)
        if plan.falls(rng) and decision.event != "baseline":
            reward = problem.reward({**problem.settings, **told}["baseline"])
            fall_later(policy, oracle, decision, reward, plan, rng, due)
            tally.fallen += 1
        else:
            put_off(policy, oracle, decision, problem.reward(decision.action), plan, rng, due)
        acts = due.pop(time, [])
        for index in rng.permutation(len(acts)):
            acts[index]()
        if after is not None:
            after(time, policy, oracle)
    print(f"events {dict(tally.events)}, ties {tally.ties}")
    assert tally.ties <= MOST_TIES, f"{tally.ties} ties"
    return tally


def _check(
    decision: Any,
    answer: GuardAnswer,
    proposal: str | int,
    means: tuple[float, float],
    tally: Tally,
) -> None:
    tally.events[decision.event] += 1
    margin = answer.margin
    if (decision.action, decision.event) != (answer.action, answer.event):
        near = abs(answer.proposed) <= TIE * answer.magnitude
        assert near, f"not a tie: {decision} against {answer}"
        tally.ties += 1
        played = decision.action == proposal
        margin = answer.proposed if played else answer.baseline_margin
    assert decision.round == answer.round
    assert same(decision.margin, margin), f"{decision} against {answer}"
    # Of a proposal no more is known than that its mean is a mean.
    lo, hi = answer.baseline_mean if decision.event == "baseline" else means
    assert same(decision.lower, lo), f"{decision} against {answer}"
    assert same(decision.upper, hi), f"{decision} against {answer}"
