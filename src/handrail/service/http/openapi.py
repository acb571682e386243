"""The OpenAPI 3.1 document, written from the table of routes and the types of the messages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from handrail._version import __version__
from handrail.service.http.queries import Parameter
from handrail.service.http.replies import JSON, PROBLEM
from handrail.service.http.routes import Route
from handrail.service.limits import Limits

__all__ = ["document"]

_REF: Final = "#/components/schemas/{name}"
_BRACES: Final = re.compile(r"\{(\w+)\}")
_ATTRIBUTE: Final = re.compile(r"^(\w+) : .*$", re.M)
_SAID: Final = {
    400: "The request cannot be read.",
    401: "No key, or one that is not known or was revoked.",
    403: "The key's role or scope does not cover this.",
    404: "There is no such policy, decision or arm.",
    408: "The request took too long to arrive.",
    409: "It contradicts what is known, or the policy is archived.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "Something in the request is wrong; `field` says what.",
    431: "The request's line and headers are too large.",
    500: "The service made a mistake; its log knows the incident.",
    503: "The service cannot answer now; ask again with the same idempotency key.",
}
_ALWAYS: Final = (400, 408, 431, 500, 503)
_PATH: Final[dict[str, dict[str, Any]]] = {
    "name": {
        "description": "The policy's name.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$", "minLength": 1},
    },
    "id": {"description": "The decision's id.", "schema": {"type": "string", "minLength": 1}},
    "arm": {
        "description": "The arm's name, or its number where arms have no names.",
        "schema": {"type": "string", "minLength": 1},
    },
}
_PROBLEM: Final[dict[str, Any]] = {
    "title": "Problem",
    "description": "What is wrong (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "reason"],
    "properties": {
        "type": {"const": "about:blank"},
        "title": {"type": "string", "description": "What the status stands for."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "Field, reason and remedy in one line."},
        "field": {"type": "string", "description": "What it is about."},
        "reason": {"type": "string", "description": "What is wrong with it."},
        "remedy": {"type": "string", "description": "What to do about it."},
    },
    "additionalProperties": False,
}


def document(routes: Iterable[Route], limits: Limits) -> bytes:
    """Return the OpenAPI document as JSON.

    Parameters
    ----------
    routes : iterable of Route
        What there is.
    limits : Limits
        What is taken at most.

    Returns
    -------
    bytes
        The document.
    """
    routes = list(routes)
    types = list(dict.fromkeys(type for route in routes for type in (*route.takes, *route.gives)))
    refs, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    named = dict(zip(types, refs, strict=True))
    for schema in schemas.values():
        _describe(schema)
    for batch, field in (("DecideBatch", "requests"), ("RewardBatch", "rewards")):
        schemas[batch]["properties"][field] |= {"minItems": 1, "maxItems": limits.batch}
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, named)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "handrail",
                "version": __version__,
                "summary": "Decisions that do not fall below the baseline",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "paths": paths,
            "components": {
                "schemas": {**schemas, "Problem": _PROBLEM},
                "securitySchemes": {
                    "key": {"type": "http", "scheme": "bearer", "description": "An API key."}
                },
            },
        }
    )


def _operation(route: Route, named: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    braces = _BRACES.findall(route.path)
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.about,
        "parameters": [
            *({"name": name, "in": "path", "required": True, **_PATH[name]} for name in braces),
            *(_in_query(parameter) for parameter in route.query),
        ],
        "responses": {
            str(route.status): {"description": "Done.", "content": _answers(route, named)},
            **{str(status): _refusal(status) for status in _refusals(route, braces)},
        },
        "security": [] if route.roles is None else [{"key": []}],
    }
    if route.roles is not None:
        operation["description"] = f"For the roles {', '.join(sorted({*route.roles, 'admin'}))}."
    if route.takes:
        operation["requestBody"] = {
            "required": _required(route.takes),
            "content": {JSON: {"schema": _any_of([named[type] for type in route.takes])}},
        }
    return operation


def _answers(route: Route, named: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    answers: dict[str, Any] = {type: {"schema": schema} for type, schema in route.media.items()}
    if route.gives:
        answers[JSON] = {"schema": _any_of([named[type] for type in route.gives])}
    return answers


def _refusals(route: Route, braces: list[str]) -> list[int]:
    statuses = {*_ALWAYS, *route.problems}
    if route.roles is not None:
        statuses |= {401, 403}
    if braces:
        statuses.add(404)
    if route.takes:
        statuses |= {413, 415}
    # Any request can have a query parameter that is not known.
    return sorted(statuses | {422})


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name="Problem")}
    return {"description": _SAID[status], "content": {PROBLEM: {"schema": schema}}}


def _in_query(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": f"{parameter.about[0].upper()}{parameter.about[1:]}.",
        "schema": parameter.schema(),
    }


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _required(types: Iterable[type[Any]]) -> bool:
    """Say whether there has to be a body: not where an object without fields would do."""
    return not any(
        all(not field.required for field in msgspec.structs.fields(type)) for type in types
    )


def _describe(schema: dict[str, Any]) -> None:
    """Give a struct's docstring to whom it belongs: the opening to it, the rest to its fields."""
    text = inspect.cleandoc(schema.get("description", ""))
    opening, _, rest = text.partition("\n\nAttributes\n----------\n")
    schema["description"] = " ".join(opening.split())
    parts = _ATTRIBUTE.split(rest)
    for name, about in zip(parts[1::2], parts[2::2], strict=True):
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = " ".join(about.split())
