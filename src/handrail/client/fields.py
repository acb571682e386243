"""The fields of a policy, typed: those of the request that makes one, but name and algorithm."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from handrail.client.choice import FeaturesLike
from handrail.service.messages import Action, Mode, Override

__all__ = ["PolicyFields"]


class PolicyFields(TypedDict, total=False):
    """What `create_policy` takes besides the name and the algorithm; see `make_policy`."""

    mode: Mode
    keep_candidates: bool
    may_override: list[Override] | None
    arms: int | list[str] | None
    dim: int | None
    features: FeaturesLike | None
    baseline: Action | None
    baseline_mean: float | tuple[float, float] | Literal["learned"] | None
    alpha: float | None
    delta: float | None
    noise: float | None
    reward_range: tuple[float, float] | None
    mean_range: tuple[float, float] | None
    theta_bound: float | None
    feature_bound: float | None
    ridge: float | str | None
    width: str | None
    cumulative: str | None
    accounting: str | None
    delta_weights: dict[str, float] | None
    tightest_at: float | None
    clip: str | None
    checkpoint_every: int | None
    checkpoints: list[int] | None
    checkpoint_gap: int | list[float] | dict[str, Any] | None
    baseline_lower: float | None
    baseline_delta: float | None
    learn_baseline: bool | str | None
    arms_ever: int | str | None
    true_means: list[float] | None
    window: int | None
    default_reward: float | None
    confirm: bool | Literal["by-reward"] | None
