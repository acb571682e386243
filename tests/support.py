"""Policies for tests: every row of the catalogue in every setting it works in."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import handrail
from handrail import Algorithm, Policy

FEATURES = np.array(
    [[0.9, 0.1, 0.0], [0.5, 0.5, 0.1], [0.1, 0.8, 0.4], [0.3, 0.2, 0.9], [0.6, 0.6, 0.5]]
)
MEANS = [0.45, 0.55, 0.65, 0.4, 0.8]
CONSERVATIVE = [
    row.name for row in handrail.algorithms() if row.conservative and row.estimator != "none"
]
"""Guards are apart: they make no proposals of their own."""
SETTINGS = [
    (row.name, setting)
    for row in handrail.algorithms()
    for setting in {"means": ("arms",), "linear": ("features", "dim"), "none": ("guard",)}[
        row.estimator
    ]
]


def parameters(name: str | Algorithm, setting: str, **changes: Any) -> dict[str, Any]:
    """Return parameters that make a policy of this algorithm; a change to None leaves one out."""
    row = name if isinstance(name, Algorithm) else handrail.algorithm(name)
    given: dict[str, Any] = {"delta": 0.1, "reward_range": (0.0, 1.0)}
    settings: dict[str, dict[str, Any]] = {
        "arms": {"arms": 5, "baseline": 1},
        "features": {"features": FEATURES, "theta_bound": 1.5, "baseline": 1},
        "dim": {"dim": 3, "theta_bound": 1.5, "feature_bound": 2.0},
        "guard": {"baseline": "old"},
    }
    given |= settings[setting]
    if row.conservative:
        given["alpha"] = 0.25
        if setting != "dim":
            given["baseline_mean"] = MEANS[1]
    if row.past == "oracle" and setting != "dim":
        given["true_means"] = MEANS
    if row.schedule == "checkpoints":
        given |= {"checkpoint_every": 10, "baseline_lower": 0.3}
    given |= changes
    return {key: value for key, value in given.items() if value is not None}


def make(name: str | Algorithm, setting: str, **changes: Any) -> Policy:
    """Return a fresh policy."""
    return handrail.make_policy(name, **parameters(name, setting, **changes))


def state(policy: Policy) -> bytes:
    """Return everything the policy would go on from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        return path.read_bytes()


def play(policy: Policy, rounds: int, seed: int = 0) -> list[handrail.Decision]:
    """Play rounds of valid input and reward each at once."""
    from handrail.testing.world import World

    world = World(policy, seed)
    decisions = []
    for _ in range(rounds):
        decision = policy.decide(**world.round())
        policy.learn(decision, world.reward())
        decisions.append(decision)
    return decisions
