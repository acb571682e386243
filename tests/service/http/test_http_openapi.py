"""The OpenAPI document: whole, valid, and about this service."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from schemathesis.core.result import Ok

from handrail.service.http.openapi import document
from handrail.service.http.table import ROUTES
from handrail.service.limits import Limits

DOCUMENT: dict[str, Any] = json.loads(document(ROUTES, Limits(batch=7)))
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_every_path_that_was_promised_is_there() -> None:
    promised = {
        "/v1/policies": {"post", "get"},
        "/v1/policies/{name}": {"get", "patch", "delete"},
        "/v1/policies/{name}/decide": {"post"},
        "/v1/policies/{name}/rewards": {"post"},
        "/v1/policies/{name}/decisions/{id}/fallback": {"post"},
        "/v1/policies/{name}/decisions/{id}/played": {"post"},
        "/v1/policies/{name}/played": {"post"},
        "/v1/policies/{name}/checkpoints": {"post"},
        "/v1/policies/{name}/arms": {"post"},
        "/v1/policies/{name}/arms/{arm}": {"delete"},
        "/v1/policies/{name}/decisions": {"get"},
        "/v1/policies/{name}/budget": {"get"},
        "/v1/policies/{name}/estimates": {"get"},
        "/v1/policies/{name}/events": {"get"},
        "/healthz": {"get"},
        "/readyz": {"get"},
        "/metrics": {"get"},
        "/openapi.json": {"get"},
    }
    assert {path: set(methods) for path, methods in DOCUMENT["paths"].items()} == promised


def test_it_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    assert schema.statistic.operations.total == len(ROUTES)
    assert all(isinstance(each, Ok) for each in schema.get_all_operations())


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    text = json.dumps(DOCUMENT)
    for name in re.findall(r'"\$ref": "([^"]*)"', text):
        found: Any = DOCUMENT
        for part in name.removeprefix("#/").split("/"):
            found = found[part]
        assert found["type"] == "object"
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.meta.validate(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        )


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_operations(path: str, method: str, operation: dict[str, Any]) -> None:
    named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
    assert named == set(re.findall(r"\{(\w+)\}", path))
    statuses = set(operation["responses"])
    assert statuses & {"200", "201"}
    assert statuses >= {"400", "408", "422", "431", "500", "503"}
    is_open = path in ("/healthz", "/readyz")
    assert (operation["security"] == []) == is_open
    assert ({"401", "403"} <= statuses) == (not is_open)
    assert ("404" in statuses) == ("{" in path)
    assert ({"413", "415"} <= statuses) == ("requestBody" in operation)


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(names)) == len(names)


def test_what_has_to_be_sent() -> None:
    def required(path: str) -> Any:
        return DOCUMENT["paths"][path]["post"]["requestBody"]["required"]

    assert required("/v1/policies")
    assert required("/v1/policies/{name}/rewards")
    assert not required("/v1/policies/{name}/decide")
    batch = DOCUMENT["components"]["schemas"]["DecideBatch"]["properties"]["requests"]
    assert (batch["minItems"], batch["maxItems"]) == (1, 7)


def test_fields_are_described() -> None:
    answer = DOCUMENT["components"]["schemas"]["Answer"]
    assert answer["description"] == "What to play, and why."
    assert answer["properties"]["id"]["description"] == "The decision's id: rewards name it."
