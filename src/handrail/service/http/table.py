"""All routes: the table that requests are sent by and the OpenAPI document is written from."""

from __future__ import annotations

from typing import Any, Final

from handrail.service import messages as said
from handrail.service import shown
from handrail.service.http import export, operations, policies, rounds, views
from handrail.service.http.meters import METRICS
from handrail.service.http.queries import Choice, Name, Whole
from handrail.service.http.replies import JSON
from handrail.service.http.routes import Route

__all__ = ["ROUTES"]

_POLICY: Final = "/v1/policies/{name}"
_ADMIN: Final[frozenset[str]] = frozenset()
_READ: Final = frozenset({"read"})
_DECIDE: Final = frozenset({"decide"})
_REWARD: Final = frozenset({"reward"})

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_BINARY: Final[dict[str, Any]] = {}
_AFTER: Final = Whole("after", 0, "only what comes after this round")
_LIMIT: Final = Whole("limit", 100, "how many at most", low=1, high=1_000)
_POINTS: Final = Whole("points", 500, "how many points over time at most", low=1, high=10_000)

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "POST",
        "/v1/policies",
        policies.create,
        "Make a policy",
        _ADMIN,
        whole=True,
        takes=(said.CreateRequest,),
        gives=(shown.PolicyView,),
        status=201,
        problems=(409,),
    ),
    Route(
        "GET",
        "/v1/policies",
        policies.list_policies,
        "List policies in the order of their names",
        _READ,
        gives=(shown.PolicyPage,),
        query=(Name("after", "", "only names that come after this one"), _LIMIT),
    ),
    Route("GET", _POLICY, policies.show, "Show a policy", _READ, gives=(shown.PolicyView,)),
    Route(
        "PATCH",
        _POLICY,
        policies.change_mode,
        "Change a policy's mode",
        _ADMIN,
        takes=(said.ModeRequest,),
        gives=(shown.PolicyView,),
        problems=(409,),
    ),
    Route(
        "DELETE",
        _POLICY,
        policies.archive,
        "Archive a policy: it decides no more, its log stays",
        _ADMIN,
        gives=(shown.PolicyView,),
        problems=(409,),
    ),
    Route(
        "POST",
        f"{_POLICY}/decide",
        rounds.decide,
        "Decide a round, or a batch of rounds",
        _DECIDE,
        takes=(said.DecideRequest, said.DecideBatch),
        gives=(said.Answer, said.Answers),
        problems=(409,),
    ),
    Route(
        "POST",
        f"{_POLICY}/rewards",
        rounds.rewards,
        "Tell the reward of a decision, or a batch of rewards",
        _REWARD,
        takes=(said.RewardRequest, said.RewardBatch),
        gives=(said.RewardAnswer, said.RewardAnswers),
        problems=(409,),
    ),
    Route(
        "POST",
        f"{_POLICY}/decisions/{{id}}/fallback",
        rounds.fallback,
        "Tell that the baseline was played after all",
        _DECIDE | _REWARD,
        takes=(said.FallbackRequest,),
        gives=(said.FallbackAnswer,),
        problems=(409,),
    ),
    Route(
        "POST",
        f"{_POLICY}/decisions/{{id}}/played",
        rounds.played,
        "Tell that a decision's action was played",
        _DECIDE | _REWARD,
        takes=(rounds.Nothing,),
        gives=(said.PlayedAnswer,),
        problems=(409,),
    ),
    Route(
        "POST",
        f"{_POLICY}/played",
        rounds.played_all,
        "Tell of several decisions that their actions were played",
        _DECIDE | _REWARD,
        takes=(said.PlayedBatch,),
        gives=(said.PlayedAnswers,),
        problems=(409,),
    ),
    Route(
        "POST",
        f"{_POLICY}/checkpoints",
        rounds.checkpoint,
        "Tell that the latest round was a checkpoint",
        _DECIDE,
        takes=(rounds.Nothing,),
        gives=(said.CheckpointAnswer,),
        problems=(409,),
    ),
    Route(
        "POST",
        f"{_POLICY}/arms",
        policies.add_arm,
        "Add an arm",
        _ADMIN,
        takes=(said.ArmRequest,),
        gives=(said.ArmAnswer,),
        status=201,
        problems=(409,),
    ),
    Route(
        "DELETE",
        f"{_POLICY}/arms/{{arm}}",
        policies.retire_arm,
        "Retire an arm",
        _ADMIN,
        gives=(said.ArmAnswer,),
        problems=(409,),
    ),
    Route(
        "GET",
        f"{_POLICY}/decisions",
        views.decisions,
        "List decisions in the order of their rounds",
        _READ,
        gives=(shown.DecisionPage,),
        query=(_AFTER, _LIMIT),
    ),
    Route(
        "GET",
        f"{_POLICY}/budget",
        views.budget,
        "Show what was earned, what had to be and what is certified, over time",
        _READ,
        gives=(shown.BudgetView,),
        query=(_AFTER, _POINTS),
    ),
    Route(
        "GET",
        f"{_POLICY}/estimates",
        views.estimates,
        "Show what is known of the actions, over time",
        _READ,
        gives=(shown.EstimatesView,),
        query=(_AFTER, _POINTS),
    ),
    Route(
        "GET",
        f"{_POLICY}/events",
        export.export,
        "Export the event log",
        _READ,
        media={export.NDJSON: _TEXT, export.PARQUET: _BINARY},
        query=(
            Choice("format", "ndjson", "of what is returned", words=("ndjson", "parquet")),
            Whole("after", 0, "only events that come after this one"),
            Whole("limit", None, "how many at most; without it, all there are", low=1),
        ),
    ),
    Route(
        "GET",
        "/healthz",
        operations.health,
        "Whether the process answers",
        None,
        gives=(operations.Health,),
    ),
    Route(
        "GET",
        "/readyz",
        operations.readiness,
        "Whether decisions are made",
        None,
        gives=(operations.Health,),
    ),
    Route(
        "GET",
        "/metrics",
        operations.metrics,
        "Numbers for Prometheus",
        _READ,
        whole=True,
        media={METRICS.partition(";")[0]: _TEXT},
    ),
    Route(
        "GET",
        "/openapi.json",
        operations.openapi,
        "This document",
        _READ,
        media={JSON: {"type": "object"}},
    ),
)
