"""Answers: what they hold, which headers they have, and what is said when nothing is there."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import httpx
import pytest

from edge import Edge, at_the_edge
from fake_desk import FakeDesk
from handrail.errors import InputError
from handrail.service.messages import (
    ArmRequest,
    CreateRequest,
    DecideRequest,
    ModeRequest,
    RewardRequest,
)
from handrail.service.problems import Problem

SECURITY = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


REWARDS = [{"decision": "id-1", "reward": 1.0}]


@pytest.fixture
def edge() -> Iterator[Edge]:
    with at_the_edge() as edge:
        yield edge


def check_headers(answer: httpx.Response) -> None:
    for name, value in SECURITY.items():
        assert answer.headers.get_list(name) == [value]
    assert "server" not in answer.headers
    assert answer.headers["date"].endswith("GMT")


def test_one_decision(edge: Edge) -> None:
    with edge.client() as client:
        answer = client.post("/v1/policies/a/decide", json={"baseline": "x", "baseline_mean": 0.5})
    check_headers(answer)
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == (
        b'{"id":"id-1","round":1,"action":0,"event":"baseline","margin":null,"reason":"because",'
        b'"awaits_reward":false,"repeated":false,"say_played":false}'
    )
    assert edge.desk.asked == [
        ("decide", "a", [DecideRequest(baseline="x", baseline_mean=0.5)], False)
    ]


def test_a_body_is_not_needed_where_nothing_has_to_be_said(edge: Edge) -> None:
    with edge.client() as client:
        assert client.post("/v1/policies/a/decide").json()["id"] == "id-1"
        assert client.post("/v1/policies/a/checkpoints").json() == {"checkpoints": 1}
        assert client.post("/v1/policies/a/checkpoints", json={}).json() == {"checkpoints": 1}
    assert edge.desk.asked[0] == ("decide", "a", [DecideRequest()], False)


def test_a_batch_of_decisions(edge: Edge) -> None:
    with edge.client() as client:
        answer = client.post("/v1/policies/a/decide", json={"requests": [{}, {"proposal": 3}]})
    assert [each["id"] for each in answer.json()["decisions"]] == ["id-1", "id-2"]
    assert edge.desk.asked == [("decide", "a", [DecideRequest(), DecideRequest(proposal=3)], True)]


def test_rewards(edge: Edge) -> None:
    first, second = {"decision": "i", "reward": 1}, {"decision": "j", "reward": 0.5}
    with edge.client() as client:
        one = client.post("/v1/policies/a/rewards", json=first).json()
        many = client.post("/v1/policies/a/rewards", json={"rewards": [first, second]}).json()
    assert one == {"decision": "i", "status": "learned", "detail": "it was learned from"}
    assert [each["decision"] for each in many["rewards"]] == ["i", "j"]
    told = [RewardRequest(decision="i", reward=1.0), RewardRequest(decision="j", reward=0.5)]
    assert edge.desk.asked == [("rewards", "a", told[:1], False), ("rewards", "a", told, True)]


def test_policies(edge: Edge) -> None:
    with edge.client() as client:
        made = client.post("/v1/policies", json={"name": "c", "algorithm": "CUCB", "arms": 3})
        assert (made.status_code, made.headers["location"]) == (201, "/v1/policies/c")
        assert made.json()["name"] == "c"
        assert client.get("/v1/policies/a").json()["head"]["events"] == 5
        assert client.patch("/v1/policies/a", json={"mode": "shadow"}).status_code == 200
        assert client.delete("/v1/policies/a").status_code == 200
        assert client.post("/v1/policies/a/arms", json={"name": "new"}).status_code == 201
        assert client.delete("/v1/policies/a/arms/new%2Fone").json() == {"arm": "new/one"}
        page = client.get("/v1/policies", params={"after": "a", "limit": 1}).json()
        assert [each["name"] for each in page["policies"]] == ["b"]
    assert edge.desk.asked == [
        ("create", CreateRequest(name="c", algorithm="CUCB", arms=3)),
        ("show", "a"),
        ("change_mode", "a", ModeRequest(mode="shadow")),
        ("archive", "a"),
        ("add_arm", "a", ArmRequest(name="new")),
        ("retire_arm", "a", "new/one"),
        ("policies",),
    ]


def test_views(edge: Edge) -> None:
    with edge.client() as client:
        assert client.get("/v1/policies/a/decisions").json()["next"] is None
        assert client.get("/v1/policies/a/budget?points=7&after=3").json()["policy"] == "a"
        assert client.get("/v1/policies/a/estimates").json()["theta"] == [0.5]
        fallback = client.post("/v1/policies/a/decisions/id-1/fallback").json()
        client.post("/v1/policies/a/decisions/id-1/fallback", json={"because": "choice"})
        word = client.post("/v1/policies/a/decisions/id-1/played").json()
        words = client.post("/v1/policies/a/played", json={"decisions": ["id-1", "id-2"]}).json()
        client.post("/v1/policies/a/decide", json={"requests": [{}], "played": ["id-1"]})
        client.post("/v1/policies/a/rewards", json={"rewards": REWARDS, "played": ["id-2"]})
        refused = client.post("/v1/policies/a/decisions/id-1/fallback", json={"because": "whim"})
    assert refused.status_code == 422
    assert fallback["status"] == "baseline"
    assert word["status"] == "played"
    assert [each["decision"] for each in words["played"]] == ["id-1", "id-2"]
    assert edge.desk.asked == [
        ("decisions", "a", 0, 100),
        ("budget", "a", 3, 7),
        ("estimates", "a", 0, 500),
        ("fallback", "a", "id-1", "no-answer"),
        ("fallback", "a", "id-1", "choice"),
        ("played", "a", "id-1"),
        ("played_all", "a", ["id-1", "id-2"]),
        ("decide", "a", [DecideRequest()], True, ["id-1"]),
        ("rewards", "a", [RewardRequest(decision="id-1", reward=1.0)], True, ["id-2"]),
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/v1",
        "/v1/policies/",
        "/v1/policies//decide",
        "/v1/policies/a/nothing",
        "/V1/policies",
    ],
)
def test_nothing_there(edge: Edge, path: str) -> None:
    with edge.client() as client:
        answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    check_headers(answer)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/policies/a/decide", "POST"),
        ("PUT", "/v1/policies/a", "DELETE, GET, HEAD, PATCH"),
        ("OPTIONS", "/v1/policies", "GET, HEAD, POST"),
        ("TRACE", "/v1/policies", "GET, HEAD, POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("PROPFIND", "/metrics", "GET, HEAD"),
    ],
)
def test_other_methods(edge: Edge, method: str, path: str, allowed: str) -> None:
    with edge.client(None if path == "/healthz" else "admin") as client:
        answer = client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    check_headers(answer)


@pytest.mark.parametrize("path", ["/healthz", "/v1/policies", "/v1/policies/a/events", "/metrics"])
def test_only_the_head(edge: Edge, path: str) -> None:
    with edge.client() as client:
        head, whole = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    if path in ("/healthz", "/v1/policies"):
        assert head.headers["content-length"] == whole.headers["content-length"]


def test_problems_of_the_desk(edge: Edge) -> None:
    with edge.client() as client:
        edge.desk.fails = Problem(409, "was said before", field="reward", remedy="say the same")
        answer = client.post("/v1/policies/a/decide")
        assert answer.status_code == 409
        assert answer.json()["detail"] == "reward: was said before; say the same"
        edge.desk.fails = Problem(503, "the database is away")
        answer = client.post("/v1/policies/a/decide")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        edge.desk.fails = InputError("alpha", "is 2", "pass less")
        assert client.post("/v1/policies/a/decide").json()["field"] == "alpha"


def test_what_was_not_foreseen_says_nothing_but_where_to_look(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    edge.desk.fails = RuntimeError("the password is hush")
    with edge.client() as client, caplog.at_level(logging.ERROR):
        answer = client.post("/v1/policies/a/decide")
    assert answer.status_code == 500
    check_headers(answer)
    assert "hush" not in answer.text
    assert "Traceback" not in answer.text
    (record,) = caplog.records
    assert answer.json()["reason"].endswith(f"incident {record.__dict__['incident']}")
    assert record.exc_info


def test_health(edge: Edge) -> None:
    with edge.client(None) as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        edge.desk.ready = False
        answer = client.get("/readyz")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.get("/healthz").json() == {"status": "alive"}
        edge.desk.broken = RuntimeError("hush")
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert "hush" not in answer.text


def test_without_keys() -> None:
    with at_the_edge(FakeDesk(), auth=False) as edge, edge.client(None) as client:
        assert client.get("/v1/policies").status_code == 200
        assert client.get("/v1/policies", headers={"Host": "evil.example"}).status_code == 403
        assert json.loads(client.get("/openapi.json").content)["openapi"] == "3.1.0"


def test_requests_are_logged_on_request(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "handrail"):
        with at_the_edge() as edge, edge.client() as client:
            client.get("/v1/policies?limit=1")
        assert caplog.records == []
        with at_the_edge(log_requests=True) as edge, edge.client() as client:
            client.get("/v1/policies?limit=1")
    (record,) = caplog.records
    said = record.__dict__
    assert (said["method"], said["path"], said["status"]) == ("GET", "/v1/policies", 200)
    assert said["key"] == edge.keys["admin"].split("_")[1]
    assert edge.keys["admin"] not in str(said)
