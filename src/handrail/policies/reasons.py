"""Reasons: the numbers a decision rests on, as data and as one sentence for a person."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from handrail.policies.algorithm import Algorithm
from handrail.policies.names import Action

__all__ = ["Facts", "sentence"]


class Facts(NamedTuple):
    """The numbers a decision rests on, in the user's units.

    The leader is the most optimistic action besides the baseline.
    """

    algorithm: Algorithm
    round: int
    action: Action
    event: str
    margin: float | None
    upper: float
    lower: float
    baseline: Action | None
    baseline_mean: float | None
    baseline_low: float | None
    """Where the baseline's mean is only known to lie between this and ``baseline_mean``."""
    leader: Action | None
    leader_margin: float | None
    leader_upper: float
    leader_lower: float
    safe_actions: int
    reward_above: float
    held: bool = False
    """Whether the baseline was asked for, whatever the algorithm would play."""

    def data(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        leader = None
        if self.leader is not None:
            leader = {
                "action": self.leader,
                "margin": self.leader_margin,
                "upper": _finite(self.leader_upper),
                "lower": self.leader_lower,
            }
        return {
            "algorithm": self.algorithm.name,
            "round": self.round,
            "action": self.action,
            "event": self.event,
            "margin": self.margin,
            "upper": _finite(self.upper),
            "lower": self.lower,
            "baseline": self.baseline,
            "baseline_mean": (
                self.baseline_mean
                if self.baseline_low is None
                else [self.baseline_low, self.baseline_mean]
            ),
            "most_optimistic": leader,
            "safe_actions": self.safe_actions,
            "reward_above": self.reward_above,
            "held": self.held,
        }


def sentence(facts: Facts) -> str:
    """Say why the action was chosen, and from where reward is counted if not from 0."""
    text = _why(facts)
    if facts.algorithm.conservative and facts.reward_above:
        return f"{text[:-1]}; the promise is on reward above {facts.reward_above:g}."
    return text


def _why(facts: Facts) -> str:
    if facts.held:
        margin = f": {_margin(facts, facts.margin)}" if facts.algorithm.conservative else ""
        return f"Action {facts.action}, the baseline, was held on request{margin}."
    if facts.algorithm.selection == "proposal":
        return _guard(facts)
    if not facts.algorithm.conservative:
        return (
            f"Action {facts.action} has the largest upper bound ({_bound(facts.upper)}); "
            f"{facts.algorithm.name} makes no promise towards the baseline."
        )
    if facts.event == "optimistic":
        return (
            f"Action {facts.action} promises most (upper bound {_bound(facts.upper)}) and is "
            f"safe: {_margin(facts, facts.margin)}."
        )
    if facts.event == "safe":
        return _safe(facts)
    return _baseline(facts)


def _guard(facts: Facts) -> str:
    """Say what a guard has to say."""
    if not facts.algorithm.conservative:
        return f"Action {facts.action} was proposed; nobody checks it."
    if facts.event == "optimistic":
        return (
            f"Action {facts.action}, the proposal, is safe even if it earns nothing: "
            f"{_margin(facts, facts.margin)}."
        )
    if facts.leader == facts.action:
        return f"Action {facts.action}, the proposal, is the baseline itself."
    return (
        f"Action {facts.action}, the baseline, is played to stay safe: action {facts.leader}, the "
        f"proposal, might earn nothing, and {_margin(facts, facts.leader_margin)}."
    )


def _safe(facts: Facts) -> str:
    constrained = facts.algorithm.selection == "constrained"
    merit = (
        f"promises most (upper bound {_bound(facts.upper)})"
        if constrained
        else f"has the largest lower bound ({facts.lower:.4g})"
    )
    return (
        f"Action {facts.action} {merit} among the {facts.safe_actions} safe actions: "
        f"{_margin(facts, facts.margin)}; action {facts.leader} promises more "
        f"({_bound(facts.leader_upper)}) but is not safe (margin {facts.leader_margin:.4g})."
    )


def _baseline(facts: Facts) -> str:
    known = f"the baseline (mean {facts.baseline_mean:.4g})"
    if facts.baseline_low is not None:
        known = f"the baseline (mean {facts.baseline_low:.4g} to {facts.baseline_mean:.4g})"
    assert facts.baseline_mean is not None
    if facts.leader is None:
        return f"Action {facts.action}, {known}, is the only one."
    if facts.baseline_mean > facts.leader_upper:
        return (
            f"Action {facts.action}, {known}, exceeds what any other action can promise "
            f"({_bound(facts.leader_upper)} at most)."
        )
    others = "no other action is safe"
    if facts.safe_actions:
        others = f"none of the {facts.safe_actions} safe actions is preferred to the baseline"
    if facts.algorithm.selection == "two-step":
        others = f"{facts.algorithm.name} looks at no other"
    return (
        f"Action {facts.action}, {known}, is played to stay safe: action {facts.leader} promises "
        f"most ({_bound(facts.leader_upper)}) but is not safe "
        f"({_margin(facts, facts.leader_margin)}), and {others}."
    )


def _margin(facts: Facts, margin: float | None) -> str:
    """Say what a margin is worth, and when."""
    until = " by the next checkpoint" if facts.algorithm.schedule == "checkpoints" else ""
    return f"the certified margin is {margin:.4g}{until}"


def _bound(value: float) -> str:
    return "unknown yet" if math.isinf(value) else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
