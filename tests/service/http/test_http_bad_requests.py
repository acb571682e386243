"""Bad requests: every one gets its status, its field and its reason, and nothing is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from edge import Edge, at_the_edge
from handrail.service.limits import Limits

LIMITS = Limits(body_bytes=100_000, batch=10)
DECIDE, REWARDS, CREATE = (
    "/v1/policies/a/decide",
    "/v1/policies/a/rewards",
    "/v1/policies",
)
POLICY = '"name": "c", "algorithm": "CUCB"'


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    with at_the_edge(limits=LIMITS) as edge:
        yield edge


def refused(edge: Edge, answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said: dict[str, Any] = answer.json()
    assert said["status"] == status
    assert said["reason"]
    assert said["title"]
    assert edge.desk.asked == []
    return said


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "is not JSON: input data was truncated"),
        (b"what?", "is not JSON: invalid character (byte 0)"),
        (b"{} {}", "is not JSON: trailing characters (byte 4)"),
        (b'{"features": [[NaN]]}', "is not JSON: invalid character (byte 15)"),
        (b'{"features": [[Infinity]]}', "is not JSON: invalid character (byte 15)"),
        (b'{"features": [[-Infinity]]}', None),
        (b'{"features": [[01]]}', None),
        (b"{'proposal': 1}", None),
        (b'{"proposal": 1,}', None),
        (b"\xef\xbb\xbf{}", None),
        (b'{"idempotency_key": "\\ud800"}', None),
        (b'{"idempotency_key": "a\nb"}', None),
        (b'{"idempotency_key": "\xff"}', "is not UTF-8"),
        (b'{"\xff": 1}', "is not UTF-8"),
        ("{}".encode("utf-16"), None),
        (b"\0" * 10, None),
    ],
)
def test_what_is_no_json(edge: Edge, body: bytes, reason: str | None) -> None:
    with edge.client() as client:
        said = refused(edge, client.post(DECIDE, content=body), 400)
    assert said["field"] == "body"
    assert reason in (None, said["reason"])


def test_deep_nesting(edge: Edge) -> None:
    deep = b'{"name": "c", "algorithm": "CUCB", "checkpoint_gap": {"a": ' + b"[" * 50_000
    with edge.client() as client:
        said = refused(edge, client.post(CREATE, content=deep), 400)
        assert said["reason"] == "is nested too deeply"
        typed = client.post(DECIDE, content=b'{"features": ' + b"[" * 50_000)
        assert refused(edge, typed, 422)["field"] == "features[0][0]"


@pytest.mark.parametrize(
    ("path", "body", "field", "reason"),
    [
        (DECIDE, "[]", "body", "is an array, not an object"),
        (DECIDE, "null", "body", "is null, not an object"),
        (DECIDE, "7", "body", "is a whole number, not an object"),
        (DECIDE, '{"x": 1}', "x", "is not a known field"),
        (DECIDE, '{"features": "a"}', "features", "is a string, not an object or an array"),
        (DECIDE, '{"features": [[1, "a"]]}', "features[0][1]", "is a string, not a number"),
        (DECIDE, '{"features": {"a": 1}}', "features[...]", "is a whole number, not an array"),
        (DECIDE, '{"features": [[1e999]]}', "features[0][0]", "is too large a number"),
        (DECIDE, '{"features": [[-1e999]]}', "features[0][0]", "is too large a number"),
        (DECIDE, f'{{"features": [[{"9" * 400}]]}}', "features[0][0]", "is too large a number"),
        (DECIDE, f'{{"proposal": {"9" * 5000}}}', "proposal", "is too large a number"),
        (DECIDE, f'{{"proposal": {2**53}}}', "proposal", "is too large a number"),
        (DECIDE, f'{{"baseline": {-(2**53)}}}', "baseline", "is too large a number"),
        (CREATE, f'{{{POLICY}, "arms": {"9" * 400}}}', "arms", "is too large a number"),
        (DECIDE, '{"proposal": 1.5}', "proposal", "is a number, not a whole number or a string"),
        (
            DECIDE,
            '{"proposal": true}',
            "proposal",
            "is true or false, not a whole number or a string",
        ),
        (DECIDE, '{"baseline_mean": [1, 2, 3]}', "baseline_mean", "is not an array of 2"),
        (DECIDE, '{"requests": 1}', "requests", "is a whole number, not an array"),
        (DECIDE, '{"requests": []}', "requests", "has 0 entries, not 1 to 10"),
        (
            DECIDE,
            json.dumps({"requests": [{}] * 11}),
            "requests",
            "has 11 entries, not 1 to 10",
        ),
        (
            DECIDE,
            '{"requests": [{}, {"features": [[1], [null]]}]}',
            "requests[1].features[1][0]",
            "is null, not a number",
        ),
        (DECIDE, '{"requests": [{"y": 1}]}', "requests[0].y", "is not a known field"),
        (
            DECIDE,
            '{"idempotency_key": "k", "requests": [{}]}',
            "idempotency_key",
            "is not a known field",
        ),
        (REWARDS, "{}", "decision", "is missing"),
        (REWARDS, "", "decision", "is missing"),
        (REWARDS, '{"decision": "a"}', "reward", "is missing"),
        (REWARDS, '{"decision": 1, "reward": 1}', "decision", "is a whole number, not a string"),
        (REWARDS, '{"decision": "a", "reward": "1"}', "reward", "is a string, not a number"),
        (REWARDS, '{"decision": "a", "reward": 1e400}', "reward", "is too large a number"),
        (REWARDS, '{"rewards": [{"decision": "a"}]}', "rewards[0].reward", "is missing"),
        (REWARDS, '{"rewards": []}', "rewards", "has 0 entries, not 1 to 10"),
        (CREATE, "{}", "name", "is missing"),
        (CREATE, f"{{{POLICY}, " + '"mode": "x"}', "mode", "'x' is not a known value"),
        (
            CREATE,
            f"{{{POLICY}, " + '"reward_range": [0, "1"]}',
            "reward_range[1]",
            "is a string, not a number",
        ),
        ("/v1/policies/a/checkpoints", '{"x": 1}', "x", "is not a known field"),
        ("/v1/policies/a/decisions/id-1/fallback", "[]", "body", "is an array, not an object"),
    ],
)
def test_what_does_not_fit(edge: Edge, path: str, body: str, field: str, reason: str) -> None:
    with edge.client() as client:
        said = refused(edge, client.post(path, content=body), 422)
    assert (said["field"], said["reason"]) == (field, reason)


def test_a_long_name_is_not_repeated_at_length(edge: Edge) -> None:
    body = json.dumps({"x" * 10_000: 1})
    with edge.client() as client:
        said = refused(edge, client.post(DECIDE, content=body), 422)
    assert len(said["field"]) == 100


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("decisions", "after=-1", "after"),
        ("decisions", "after=x", "after"),
        ("decisions", "after=", "after"),
        ("decisions", "after=1.0", "after"),
        ("decisions", "after=+1", "after"),
        ("decisions", "after=%D9%A1", "after"),  # a digit, but not one of ours
        ("decisions", f"after={2**53}", "after"),
        ("decisions", f"after={'9' * 5000}", "after"),
        ("decisions", "limit=0", "limit"),
        ("decisions", "limit=1001", "limit"),
        ("decisions", "limit=1&limit=2", "limit"),
        ("decisions", "points=1", "points"),
        ("budget", "points=0", "points"),
        ("estimates", "points=10001", "points"),
        ("events", "format=csv", "format"),
        ("events", "limit=0", "limit"),
        ("events", "x", "query"),
        ("events", "%ff=1", "query"),
        ("decide", "x=1", "x"),
    ],
)
def test_query_parameters(edge: Edge, path: str, query: str, field: str) -> None:
    with edge.client() as client:
        method = "POST" if path == "decide" else "GET"
        answer = client.request(method, f"/v1/policies/a/{path}?{query}")
    assert refused(edge, answer, 422)["field"] == field


def test_query_parameters_of_the_list(edge: Edge) -> None:
    with edge.client() as client:
        for query in ("after=%00", f"after={'a' * 101}"):
            assert refused(edge, client.get(f"{CREATE}?{query}"), 422)["field"] == "after"


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "application/json; charset=latin-1",
        "multipart/form-data",
        "",
    ],
)
def test_other_types(edge: Edge, kind: str) -> None:
    with edge.client() as client:
        answer = client.post(DECIDE, content="{}", headers={"Content-Type": kind})
    assert refused(edge, answer, 415)["field"] == "Content-Type"


def test_packed_bodies(edge: Edge) -> None:
    with edge.client() as client:
        answer = client.post(DECIDE, content="{}", headers={"Content-Encoding": "gzip"})
    assert refused(edge, answer, 415)["field"] == "Content-Encoding"


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/vnd.api+json",
    ],
)
def test_json_by_any_name(kind: str | None) -> None:
    with at_the_edge() as edge, edge.client() as client:
        headers = {} if kind is None else {"Content-Type": kind}
        assert client.post(DECIDE, content=b"{}", headers=headers).status_code == 200


def test_a_body_that_says_it_is_too_large(edge: Edge) -> None:
    with edge.client() as client:
        answer = client.post(DECIDE, content=b" " * (LIMITS.body_bytes + 1))
        said = refused(edge, answer, 413)
        assert said["reason"] == "is larger than 100000 bytes"
        just = client.post(DECIDE, content=b" " * (LIMITS.body_bytes - 1) + b"?")
        assert refused(edge, just, 400)


def test_a_body_that_does_not_say_how_large_it_is(edge: Edge) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(200):
            yield b" " * 1000

    with edge.client() as client:
        refused(edge, client.post(DECIDE, content=parts()), 413)
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("name", ["%00", "a%20b", "%ff", "%E2%98%83", "a%2Fb", "x" * 5000])
def test_names_that_no_policy_has(edge: Edge, name: str) -> None:
    with edge.client() as client:
        refused(edge, client.get(f"/v1/policies/{name}"), 404)
        refused(edge, client.post(f"/v1/policies/{name}/decide"), 404)
