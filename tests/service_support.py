"""Policies of every kind for the service's tests, and requests that drive them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import handrail
from handrail.service.messages import CreateRequest, DecideRequest

ALGORITHMS = [row["name"] for row in handrail.algorithms()]
_BASE: dict[str, Any] = {"delta": 0.1, "reward_range": (0.0, 1.0)}


def kinds(name: str) -> Iterator[tuple[str, CreateRequest]]:
    """Return policies of an algorithm, of each kind that can be served."""
    row = handrail.algorithm(name)
    rng = np.random.default_rng(7)
    common = dict(_BASE)
    truth: dict[str, Any]
    if row.conservative:
        common["alpha"] = 0.2
    if row.schedule == "checkpoints":
        common |= {"checkpoint_every": 7, "baseline_lower": 0.0}
    if row.estimator == "none":
        yield (
            "guard",
            CreateRequest(
                name="guard", algorithm=name, **common, baseline="old", baseline_mean=0.4
            ),
        )
        return
    known: dict[str, Any] = {"baseline_mean": 0.4} if row.conservative else {}
    if row.estimator == "means":
        truth = {"true_means": [0.4, 0.5, 0.3, 0.6]} if row.past == "oracle" else {}
        yield (
            "arms",
            CreateRequest(
                name="arms", algorithm=name, arms=4, baseline=1, **common, **known, **truth
            ),
        )
        names = ["red", "green", "blue", "grey"]
        yield (
            "named",
            CreateRequest(
                name="named",
                algorithm=name,
                arms=names,
                baseline="green",
                **common,
                **known,
                **truth,
            ),
        )
        if row.conservative and row.past != "oracle":
            yield (
                "learned",
                CreateRequest(
                    name="learned",
                    algorithm=name,
                    arms=4,
                    baseline=1,
                    baseline_mean="learned",
                    window=9,
                    default_reward=0.0,
                    **common,
                ),
            )
        return
    linear = {**common, "theta_bound": 3.0}
    rows = (rng.uniform(0.1, 0.5, size=(5, 3))).tolist()
    truth = {"true_means": [0.4] * 5} if row.past == "oracle" else {}
    yield (
        "fixed",
        CreateRequest(
            name="fixed", algorithm=name, features=rows, baseline=1, **linear, **known, **truth
        ),
    )
    many = rng.uniform(0.1, 0.5, size=(12, 3)).tolist()
    if row.past == "oracle":
        return
    yield (
        "many",
        CreateRequest(
            name="many",
            algorithm=name,
            features={f"item-{i}": each for i, each in enumerate(many)},
            baseline="item-2",
            **linear,
            **known,
        ),
    )
    yield (
        "contexts",
        CreateRequest(name="contexts", algorithm=name, dim=3, feature_bound=1.0, **linear),
    )
    if row.conservative:
        yield (
            "unknown",
            CreateRequest(
                name="unknown",
                algorithm=name,
                dim=3,
                feature_bound=1.0,
                baseline_mean="learned",
                **linear,
            ),
        )


def request(kind: str, rng: np.random.Generator) -> DecideRequest:
    """Return a request for the next round of a policy of this kind."""
    if kind == "guard":
        return DecideRequest(proposal=f"new-{rng.integers(3)}")
    if kind in ("contexts", "unknown"):
        rows = rng.uniform(0.1, 0.5, size=(4, 3)).tolist()
        mean = None if kind == "unknown" else float(rng.uniform(0.3, 0.5))
        if rng.random() < 0.5:
            return DecideRequest(features=rows, baseline=1, baseline_mean=mean)
        names = ["a", "b", "c", "d"]
        return DecideRequest(
            features=dict(zip(names, rows, strict=True)), baseline="b", baseline_mean=mean
        )
    return DecideRequest()
