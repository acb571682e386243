"""Every algorithm of the catalogue at work, written down number by number.

Run as a program it prints what `traces` returns, as JSON: so that the rules can be run once by the
compiler and once, in a process of its own, by the interpreter.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

import handrail
from handrail import Decision, Policy
from handrail.testing.world import World
from support import SETTINGS, make

Step = list[int | str]
"""Action, event, then the floats as hexadecimal text: nothing is lost in JSON."""


def _cases() -> dict[str, tuple[str, str, dict[str, Any], int]]:
    """Return what to run: an algorithm, a setting, changes of its parameters, and rounds."""
    cases: dict[str, tuple[str, str, dict[str, Any], int]] = {}
    for name, setting in SETTINGS:
        row = handrail.algorithm(name)
        learns = row.conservative and row.past != "oracle"
        variants: dict[str, dict[str, Any]] = {
            "": {},
            "window": {"window": 7, "default_reward": 0.25},
            "waived": {"window": 5},
            "noise": {"reward_range": None, "noise": 0.3},
            "range": {"reward_range": (-1.0, 2.0)},
        }
        if learns:
            variants["learned"] = {"baseline_mean": "learned"}
        if learns and setting != "guard":
            variants["lessons"] = {"learn_baseline": True}
        if row.schedule == "checkpoints":
            variants["list"] = {"checkpoint_every": None, "checkpoints": [5, 20, 21, 40]}
            variants["gap"] = {"checkpoint_every": None, "checkpoint_gap": 6}
        if row.conservative and setting != "dim":
            variants["interval"] = {"baseline_mean": (0.5, 0.6)}
        if row.estimator == "linear":
            variants["ridge"] = {"ridge": 0.5, "width": "determinant"}
        if setting == "arms":
            variants |= {f"width {width}": {"width": width} for width in ("wu", "ucb1", "kl")}
            if row.past != "oracle":
                variants["any"] = {"arms_ever": "any"}
        for variant, changes in variants.items():
            if row.estimator == "linear":  # so that features of any length allow the means drawn
                changes["theta_bound"] = 40.0
            cases[f"{name} {setting} {variant}"] = (name, setting, changes, 50)
    wide = {"dim": 9, "feature_bound": 2.0, "theta_bound": 40.0}
    for name in ("LinUCB", "CLUCB", "CLUCB2", "LinHANDRAIL", "CLUCB-L"):
        cases[f"{name} wide"] = (name, "dim", wide, 60)
    # V^-1 is computed afresh after 4,096 rewards.
    cases["LinUCB long"] = ("LinUCB", "dim", {"dim": 2, "theta_bound": 40.0}, 4_200)
    return cases


def _written(decision: Decision) -> Step:
    choice = decision._choice
    action, event, *numbers = choice
    return [str(decision.action), int(action), int(event), *(float(x).hex() for x in numbers)]


def _walk(policy: Policy, rounds: int, seed: int, wide: bool) -> list[Step]:
    """Play rounds, with rewards at once, late, in any order, or never; arms come and go."""
    world = World(policy, seed)
    rng = np.random.default_rng(seed)
    fixed = world.dim is None and not world.guard
    waiting: list[Decision] = []
    steps: list[Step] = []
    for number in range(rounds):
        waiting.append(policy.decide(**_round(policy, world, wide)))
        steps.append(_written(waiting[-1]))
        while waiting and rng.random() < 0.6:
            late = waiting.pop(int(rng.integers(len(waiting))))
            try:
                if rng.random() < 0.1:
                    policy.close(late)
                else:
                    policy.learn(late, world.reward())
            except handrail.InputError as error:  # settled by its window
                steps.append([str(error)])
        if fixed and number == rounds // 2:
            policy.retire_arm(0 if policy.parameters.get("baseline") != 0 else 2)
        if fixed and number == rounds // 3 and policy.parameters.get("arms_ever") == "any":
            policy.add_arm()
        if "checkpoint_gap" in policy.parameters and number % 8 == 7:
            policy.checkpoint()
    steps.append([policy.explain(**_round(policy, world, wide)).event])
    return steps


def _round(policy: Policy, world: World, wide: bool) -> dict[str, Any]:
    given = world.round()
    if wide:
        given["features"] = world.features(20)
    if world.guard and isinstance(policy.parameters.get("baseline_mean"), str):
        del given["baseline"]  # the mean that is learned is that of one
    return given


def traces() -> dict[str, list[Step]]:
    """Return the steps of every case."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", handrail.NoGuaranteeWarning)
        for position, (label, (name, setting, changes, rounds)) in enumerate(_cases().items()):
            policy = make(name, setting, **changes)
            found[label] = _walk(policy, rounds, position, label.endswith("wide"))
    return found


if __name__ == "__main__":
    printed = {
        "traces": traces(),
        "compilers": sorted({"numba", "llvmlite"} & set(sys.modules)),
        "dispatchers": sorted(
            f"{module}.{name}"
            for module, content in list(sys.modules.items())
            if module.startswith("handrail")
            for name, value in vars(content).items()
            if hasattr(value, "py_func")
        ),
    }
    json.dump(printed, sys.stdout)
