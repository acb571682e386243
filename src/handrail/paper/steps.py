"""From the old algorithms to the recommended ones, one part at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from handrail.paper.settings import JESTER, LINEAR, MEANS
from handrail.policies.algorithm import Algorithm
from handrail.policies.catalogue import algorithm, algorithms
from handrail.policies.defaults import DEFAULTS, resolve
from handrail.simulation.experiment import Contender

__all__ = ["LADDERS", "Ladder", "Step", "ladder_contenders"]

_GIVEN: Final = ("alpha", "delta")
"""What everybody is told; all else is a step's own, or the paper's."""


@dataclass(frozen=True)
class Step:
    """One algorithm on the way.

    Attributes
    ----------
    name : str
        What was added, or what the algorithm is called; the label `step` of its rows.
    row : Algorithm
        Its parts.
    parameters : mapping
        Where its parameters differ from the paper's.
    oracle : str
        The label `step` of its own oracle (the same widths, checked on the true means), if any.
    """

    name: str
    row: Algorithm
    parameters: Mapping[str, Any] = field(default_factory=dict)
    oracle: str = ""


@dataclass(frozen=True)
class Ladder:
    """The steps in one environment.

    Attributes
    ----------
    name : str
        Of the environment, the label `environment` of its rows.
    size : str
        Which size of the scale its experiment has.
    policy : mapping
        The paper's parameters there.
    steps : tuple of Step
        The old algorithm first.
    new : str
        The step that is the paper's algorithm.
    default : str
        The step that is the recommended one; what stands behind it is another choice.
    oracles : tuple of Step
        Each once.
    bare : mapping
        Steps with the ellipsoid alone that the recommended one is compared with, by a name.
    of : str
        What a problem is called.
    """

    name: str
    size: str
    policy: Mapping[str, Any]
    steps: tuple[Step, ...]
    new: str
    default: str
    oracles: tuple[Step, ...]
    bare: Mapping[str, str] = field(default_factory=dict)
    of: str = "models"


def _as_catalogued(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the paper's parameters taken back, so that the catalogue's row decides."""
    return {name: DEFAULTS[name] for name in policy if name not in _GIVEN}


def _oracle(step: Step, name: str, policy: Mapping[str, Any]) -> Step:
    """Return a step's oracle: the same selection and widths, nothing to certify.

    An oracle rests on no event. Where events share delta, it is told the share that the step's
    estimator has, so that its widths are the step's.
    """
    catalogued = name in {row.name for row in algorithms()}
    row = algorithm(name) if catalogued else replace(step.row, name=name, past="oracle")
    own = {key: value for key, value in step.parameters.items() if key != "cumulative"}
    shared = {**policy, **step.parameters}["accounting"] == "union"
    if shared and step.row.past in ("martingale", "larger"):
        own["delta"] = policy["delta"] / 2.0
    if own.get("width", policy["width"]) not in ("mixture", None):
        own.pop("tightest_at", None)
    return Step(name, row, own)


def _with_oracles(
    steps: list[Step], names: Mapping[str, str], policy: Mapping[str, Any]
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return steps that know their oracles, and the oracles.

    A step that no name is given for has the oracle of the one before it; an empty name: none.
    """
    oracles: list[Step] = []
    known: list[Step] = []
    name = ""
    for step in steps:
        name = names.get(step.name, name)
        if step.name in names and name:
            oracles.append(_oracle(step, name, policy))
        known.append(replace(step, oracle=name))
    return tuple(known), tuple(oracles)


def _climb(
    first: str,
    parts: Sequence[tuple[str, Mapping[str, Any]]],
    default: str,
    policy: Mapping[str, Any],
) -> list[Step]:
    """Return one step a part, each with all parts before it; the last is the catalogue's row.

    ``past`` is the row's, all else are parameters. What changes nothing is no step.
    """
    row = algorithm(first)
    now = {**resolve(row, {**DEFAULTS, **policy}), "past": row.past}
    steps: list[Step] = []
    own: dict[str, Any] = {}
    for name, changes in parts:
        if all(now[key] == value for key, value in changes.items()):
            continue
        now |= changes
        own |= {key: value for key, value in changes.items() if key != "past"}
        if "past" in changes:
            row = replace(row, name=f"{first}, {name}", past=changes["past"])
        steps.append(Step(name, row, dict(own)))
    name = f"{steps.pop().name}: {default}"
    return [*steps, Step(name, algorithm(default), _as_catalogued(policy))]


def _means() -> Ladder:
    found = resolve(algorithm("HANDRAIL"), {**DEFAULTS, "reward_range": (0.0, 1.0)})
    boundary = {"cumulative": "mixture", "tightest_at": found["tightest_at"]}
    climbed = _climb(
        "CUCB2",
        [
            ("union accounting", {"accounting": "union"}),
            ("mixture boundary", boundary),
            ("mixture width", {"width": "mixture"}),
            (f"{found['width']} width", {"width": found["width"]}),
            ("larger past", {"past": "larger"}),
            (f"{found['cumulative']} boundary", {"cumulative": found["cumulative"]}),
        ],
        "HANDRAIL",
        MEANS,
    )
    names = {"CUCB": "CUCB-Or", "CUCB2": "CUCB2-Or", "union accounting": "CUCB2-Or, union"}
    names |= {"mixture width": "CUCB2-Or, mixture width", f"{found['width']} width": "HANDRAIL-Or"}
    base = [Step("CUCB", algorithm("CUCB")), Step("CUCB2", algorithm("CUCB2"))]
    steps, oracles = _with_oracles([*base, *climbed], names, MEANS)
    return Ladder(
        name="mab",
        size="ablation_mab",
        policy=MEANS,
        steps=steps,
        new="CUCB2",
        default=climbed[-1].name,
        oracles=oracles,
    )


def _linear(name: str, policy: Mapping[str, Any], of: str) -> Ladder:
    found = resolve(algorithm("LinHANDRAIL"), {**DEFAULTS, "features": [[0.0]]})
    boundary = {"cumulative": found["cumulative"], "tightest_at": found["tightest_at"]}
    ridge, lesson = f"{found['ridge']} ridge", "baseline's mean known"
    climbed = _climb(
        "CLUCB2",
        [
            ("union accounting", {"accounting": "union"}),
            ("determinant ellipsoid", {"width": "determinant"}),
            (f"{found['cumulative']} boundary", boundary),
            (ridge, {"ridge": found["ridge"]}),
            ("larger past", {"past": "larger"}),
            (lesson, {"learn_baseline": found["learn_baseline"]}),
            ("arms' own means", {"width": found["width"]}),
        ],
        "LinHANDRAIL",
        policy,
    )
    instead = "baseline's rewards, not its mean"
    own = {**_as_catalogued(policy), "learn_baseline": True}
    other = Step(instead, climbed[-1].row, own)
    names = {"CLUCB": "CLUCB-Or", "CLUCB2": "CLUCB2-Or", "union accounting": "CLUCB2-Or, union"}
    names |= {"determinant ellipsoid": "CLUCB2-Or, determinant", ridge: f"CLUCB2-Or, {ridge}"}
    names |= {lesson: f"CLUCB2-Or, {lesson}", climbed[-1].name: "LinHANDRAIL-Or"}
    names[instead] = ""  # an oracle that learns from other rounds would have other widths
    base = [Step("CLUCB", algorithm("CLUCB")), Step("CLUCB2", algorithm("CLUCB2"))]
    steps, oracles = _with_oracles([*base, *climbed, other], names, policy)
    return Ladder(
        name=name,
        size=f"ablation_{name}",
        policy=policy,
        steps=steps,
        new="CLUCB2",
        default=climbed[-1].name,
        bare={"ellipsoid": "larger past", "ellipsoid-taught": lesson},
        oracles=oracles,
        of=of,
    )


def ladder_contenders(ladder: Ladder) -> tuple[Contender, ...]:
    """Return who plays: all steps and oracles, told apart by the label `step`.

    Parameters
    ----------
    ladder : Ladder
        The steps in one environment.

    Returns
    -------
    tuple of Contender
        For one experiment.
    """
    return tuple(
        Contender(step.row, step.parameters, {"step": step.name})
        for step in (*ladder.steps, *ladder.oracles)
    )


LADDERS: Final[tuple[Ladder, ...]] = (
    _means(),
    _linear("linear", LINEAR, "models"),
    _linear("jester", JESTER, "users"),
)
"""The environments, in the order they are drawn."""
