"""What the service shows, as it is sent."""

from __future__ import annotations

import msgspec

from handrail.service.shown import BudgetView, DecisionView, EstimatesView, Head, PolicyView

LEARNED = {"decision": "d1", "status": "learned", "detail": "It was learned."}
VIEW = msgspec.to_builtins(
    PolicyView(
        name="shop",
        algorithm="CUCB2",
        mode="live",
        archived=False,
        created_at="2026-01-01T00:00:00Z",
        parameters={},
        actions=["current", "new"],
        baseline="current",
        round=2,
        pending=0,
        margin=0.5,
        decisions={"baseline": 2},
        failure_probability=0.05,
        notes=[],
        head=Head(events=3, hash="ab"),
    )
)
SEEN = msgspec.to_builtins(
    DecisionView(
        id="d1",
        round=1,
        at="2026-01-01T00:00:00Z",
        action="new",
        event="safe",
        margin=0.5,
        upper=None,
        lower=0.1,
        mode="live",
        reason="It is safe.",
        reward=None,
        rewarded_at=None,
        fell_back=False,
        said_played=False,
        would=None,
        digest=None,
    )
)
BUDGET = msgspec.to_builtins(
    BudgetView(
        policy="shop",
        alpha=0.1,
        delta=0.05,
        round=2,
        baseline_rounds=2,
        explored_rounds=0,
        pending=0,
        baseline_earnings=1.0,
        required=0.9,
        rewards=0.0,
        promised=0.0,
        low=0.0,
        margin=0.1,
        points=[],
    )
)
ESTIMATES = msgspec.to_builtins(
    EstimatesView(policy="shop", round=2, actions=None, theta=[0.5], points=[])
)
