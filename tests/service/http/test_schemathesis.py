"""Requests made from the OpenAPI document, good and bad: no 5xx, no answer it does not tell of.

Seeded by the tests' Hypothesis profile. Most made-up names and parameters lead nowhere, so each
request is also sent with the names of what exists, and policies are also made of parameters that
fit but for one.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from edge import real_edge
from handrail.service.http.openapi import document
from handrail.service.http.table import ROUTES
from handrail.service.limits import Limits
from service_support import ALGORITHMS, kinds

LIMITS = Limits(batch=5)
SCHEMA = schemathesis.openapi.from_dict(json.loads(document(ROUTES, LIMITS)))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
FITS: list[dict[str, Any]] = [
    msgspec.to_builtins(request) for algorithm in ALGORITHMS for _, request in kinds(algorithm)
]
T = TypeVar("T")
EXAMPLES = int(os.environ.get("HANDRAIL_EXAMPLES", "12"))


class Service:
    """A server, its key, and what is in it."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = f"Bearer {key}"
        self.names: list[str] = []
        self.decisions: dict[str, str] = {}
        with self.client() as client:
            for algorithm in ("HANDRAIL", "LinHANDRAIL", "GUARD", "CUCB2T", "UCB", "LinUCB"):
                for kind, request in kinds(algorithm):
                    self._make(client, f"{algorithm}-{kind}", request)

    def client(self) -> httpx.Client:
        """Return a client that has the key."""
        headers = {"Authorization": self.key}
        return httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=60.0)

    def _make(self, client: httpx.Client, name: str, request: msgspec.Struct) -> None:
        given = {**msgspec.to_builtins(request), "name": name}
        client.post("/v1/policies", json=given).raise_for_status()
        self.names.append(name)
        made = client.post(f"/v1/policies/{name}/decide")
        if made.status_code == 200:
            self.decisions[name] = made.json()["id"]

    def answers(self, case: schemathesis.Case[Any], *more: Any) -> None:
        """Send a request, with the key unless the request is one without, and check the answer."""
        if "Authorization" in case.headers:
            case.headers["Authorization"] = self.key
        case.call_and_validate(base_url=self.url, checks=[*CHECKS, *more], timeout=60.0)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("schemathesis")
    with real_edge(str(folder / "log.db"), limits=LIMITS) as (url, key):
        yield Service(url, key)


def choose(case: schemathesis.Case[Any], among: Sequence[T]) -> T:
    """Return one of a few, the same for the same request."""
    said = repr((case.method, case.path, case.body, case.query, case.path_parameters))
    return among[zlib.crc32(said.encode()) % len(among)]


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_every_operation(service: Service, case: schemathesis.Case[Any]) -> None:
    service.answers(case, negative_data_rejection, unsupported_method)
    if "name" in case.path_parameters:
        archives = case.method == "DELETE" and "arm" not in case.path_parameters
        name = service.names[0] if archives else choose(case, service.names)
        case.path_parameters["name"] = name
        if "id" in case.path_parameters:
            case.path_parameters["id"] = service.decisions.get(name, "key:x")
        service.answers(case)
    if not isinstance(case.body, dict):
        return
    if "algorithm" in case.body:
        fits = choose(case, FITS)
        wrong = choose(case, sorted(set(case.body) - {"name"}))
        number = zlib.crc32(repr(case.body).encode())
        case.body = {**fits, wrong: case.body[wrong], "name": f"made-{number}"}
        service.answers(case)
    if "decision" in case.body:
        case.body["decision"] = service.decisions.get(choose(case, service.names), "x")
        service.answers(case)


@pytest.mark.parametrize(
    ("policy", "body", "field"),
    [
        ("UCB-arms", {"proposal": "x"}, "proposal"),
        ("UCB-arms", {"requests": [{"proposal": "x"}]}, "requests[0].proposal"),
        ("UCB-arms", {"requests": [{}, {"idempotency_key": ""}]}, "requests[1].idempotency_key"),
        ("shadow", {}, "proposal"),
        ("shadow", {"requests": [{"proposal": "new"}, {}]}, "requests[1].proposal"),
    ],
)
def test_a_problem_says_which_request_of_a_batch(
    service: Service, policy: str, body: dict[str, Any], field: str
) -> None:
    with service.client() as client:
        guard = next(fits for fits in FITS if fits["algorithm"] == "GUARD")
        client.post("/v1/policies", json={**guard, "name": "shadow", "mode": "shadow"})
        before = client.get(f"/v1/policies/{policy}").json()["head"]
        answer = client.post(f"/v1/policies/{policy}/decide", json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
        assert client.get(f"/v1/policies/{policy}").json()["head"] == before
