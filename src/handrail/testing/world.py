"""Rounds for a policy under test: whatever it accepts, drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from handrail.policies.policy import Policy
from handrail.records import Floats

__all__ = ["World"]


class World:
    """Draws valid arguments for `decide` and valid rewards, from what the policy declares.

    Parameters
    ----------
    policy : Policy
        The policy; only its algorithm and parameters are looked at.
    seed : int
        Worlds with the same seed draw the same.
    """

    def __init__(self, policy: Policy, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._given = policy.parameters
        self._conservative = policy.algorithm.conservative
        self._oracle = policy.algorithm.past == "oracle"
        self._checkpoints = policy.algorithm.schedule == "checkpoints"
        self.low, self.high = (
            float(bound)
            for bound in self._given.get("reward_range", self._given.get("mean_range", (0.0, 1.0)))
        )
        self.bounded = "reward_range" in self._given
        self.guard = policy.algorithm.estimator == "none"
        self._told = self._conservative and not isinstance(self._given.get("baseline_mean"), str)
        self.dim: int | None = self._given.get("dim")
        self.feature_bound: float | None = self._given.get("feature_bound")

    def mean(self) -> float:
        """Draw a mean in the declared range, above a declared lower bound on the baseline's."""
        # Without a declared lower bound, checkpoints take the baseline's standing mean for it.
        least = self._given.get("baseline_mean", self.low) if self._checkpoints else self.low
        if not isinstance(least, float | int):
            least = self.low if isinstance(least, str) else least[0]
        low = float(self._given.get("baseline_lower", least))
        return float(self._rng.uniform(low, self.high))

    def features(self, actions: int) -> Floats:
        """Draw features within the declared bound."""
        assert self.dim is not None
        rows = self._rng.standard_normal((actions, self.dim))
        lengths = self._rng.uniform(0.2, 1.0, actions) * (self.feature_bound or 1.0)
        return np.asarray(rows * (lengths / np.linalg.norm(rows, axis=1))[:, None])

    def _possible(self, row: Floats) -> float:
        """Draw a mean that the bound on theta allows; a row too short for any is made longer."""
        mean, bound = self.mean(), float(self._given["theta_bound"])
        least = float(self._given.get("baseline_lower", self.low))
        if bound * np.linalg.norm(row) < max(least, -self.high):
            row *= (self.feature_bound or 1.0) / np.linalg.norm(row)
        reach = bound * float(np.linalg.norm(row))
        return max(min(max(mean, -reach), reach), least)

    def round(self) -> dict[str, Any]:
        """Draw the arguments of one `decide`."""
        given: dict[str, Any]
        if self.guard:
            names = ("ours", "theirs", 3)
            given = {
                "proposal": names[int(self._rng.integers(3))],
                "baseline": names[int(self._rng.integers(3))],
            }
            return given | ({"baseline_mean": self.mean()} if self._told else {})
        if self.dim is None:
            return {}
        actions = int(self._rng.integers(2, 7))
        given = {"features": self.features(actions)}
        given["baseline"] = int(self._rng.integers(actions))
        if self._told:
            given["baseline_mean"] = self._possible(given["features"][given["baseline"]])
        if self._oracle:
            given["true_means"] = self._rng.uniform(self.low, self.high, actions)
        return given

    def reward(self) -> float:
        """Draw a reward in the declared range, mostly good ones, so that something happens."""
        return float(self.low + (self.high - self.low) * self._rng.beta(3.0, 1.0))
