"""Who may do what: every route, every role, every scope, and no key at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from edge import ROLES, Edge, at_the_edge
from handrail.service.http.table import ROUTES
from handrail.service.keys import new_key

BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/policies"): {"name": "c", "algorithm": "CUCB"},
    ("PATCH", "/v1/policies/{name}"): {"mode": "paused"},
    ("POST", "/v1/policies/{name}/rewards"): {"decision": "id-1", "reward": 0.5},
    ("POST", "/v1/policies/{name}/played"): {"decisions": ["id-1"]},
}
OPEN = ("/healthz", "/readyz")
MAY = {
    ("POST", "/v1/policies/{name}/decide"): {"decide"},
    ("POST", "/v1/policies/{name}/checkpoints"): {"decide"},
    ("POST", "/v1/policies/{name}/rewards"): {"reward"},
    ("POST", "/v1/policies/{name}/decisions/{id}/fallback"): {"decide", "reward"},
    ("POST", "/v1/policies/{name}/decisions/{id}/played"): {"decide", "reward"},
    ("POST", "/v1/policies/{name}/played"): {"decide", "reward"},
}
"""Who may do what is no GET, besides admin."""
WHOLE = {("POST", "/v1/policies"), ("GET", "/metrics")}
"""What no key may that is limited to a policy."""
WHERE = [(route.method, route.path) for route in ROUTES]


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    with at_the_edge() as edge:
        yield edge


def ask(edge: Edge, key: str | None, method: str, path: str, name: str = "a") -> tuple[int, Any]:
    place = path.format(name=name, id="id-1", arm="1")
    with edge.client(key) as client:
        answer = client.request(method, place, json=BODIES.get((method, path)))
    kind = answer.headers["content-type"]
    return answer.status_code, answer.json() if "json" in kind and "nd" not in kind else None


def expected(method: str, path: str, role: str) -> bool:
    if role == "admin" or path in OPEN:
        return True
    return role == "read" if method == "GET" else role in MAY.get((method, path), set())


@pytest.mark.parametrize(("method", "path"), WHERE)
@pytest.mark.parametrize("role", ROLES)
def test_roles(edge: Edge, method: str, path: str, role: str) -> None:
    status, _ = ask(edge, role, method, path)
    assert status in ((200, 201) if expected(method, path, role) else (403,))


@pytest.mark.parametrize(("method", "path"), WHERE)
@pytest.mark.parametrize("role", ROLES)
def test_scopes(edge: Edge, method: str, path: str, role: str) -> None:
    may = expected(method, path, role) and (method, path) not in WHOLE
    status, _ = ask(edge, f"{role}:a", method, path)
    assert status in ((200, 201) if may else (403,))
    if "{name}" in path:
        before = len(edge.desk.asked)
        there, said = ask(edge, f"{role}:a", method, path, name="b")
        absent, said_of_absent = ask(edge, f"{role}:a", method, path, name="nothing-of-the-sort")
        assert there == absent == 403
        assert said == said_of_absent  # nobody learns what exists
        assert len(edge.desk.asked) == before  # nothing was looked up


@pytest.mark.parametrize("what", ["fallback", "played"])
@pytest.mark.parametrize("named", ["key:visit-1", "key%3Avisit-1", "%6bey:visit-1"])
@pytest.mark.parametrize("role", ROLES)
def test_a_reward_key_names_no_decision_by_its_idempotency_key(
    edge: Edge, what: str, named: str, role: str
) -> None:
    """Idempotency keys can be guessed, and the answer has the decision's id."""
    before = len(edge.desk.asked)
    with edge.client(role) as client:
        answer = client.post(f"/v1/policies/a/decisions/{named}/{what}")
    if role in ("admin", "decide"):
        assert answer.status_code == 200
        assert edge.desk.asked[before][:3] == (what, "a", "key:visit-1")
    else:
        assert answer.status_code == 403
        assert len(edge.desk.asked) == before  # nothing was looked up
    if role == "reward":
        assert (answer.json()["field"], answer.json()["remedy"]) == ("decision", "name its id")


@pytest.mark.parametrize(("method", "path"), [*WHERE, ("GET", "/nothing"), ("PUT", "/metrics")])
@pytest.mark.parametrize("key", [None, "nonsense", "hr_01234567_" + "0" * 48, "é"])
def test_no_key(edge: Edge, method: str, path: str, key: str | None) -> None:
    before = len(edge.desk.asked)
    if key == "é":
        place = path.format(name="a", id="id-1", arm="1")
        headers = {b"Authorization": "Bearer é".encode("latin-1")}
        with edge.client(None) as client:
            answer = client.request(method, place, headers=headers)
        status, said = answer.status_code, answer.json() if answer.is_error else None
    else:
        status, said = ask(edge, key, method, path)
    if path in OPEN:
        assert status == 200
        return
    assert status == 401
    assert said is not None
    assert said["reason"] == "no key that is known here"  # the same words for all of them
    assert len(edge.desk.asked) == before


@pytest.mark.parametrize("given", ["Basic abc", "Bearer", "", "{key}", "Token {key}"])
def test_other_schemes(edge: Edge, given: str) -> None:
    headers = {"Authorization": given.format(key=edge.keys["admin"])}
    with edge.client(None) as client:
        answer = client.get("/v1/policies", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_scheme_is_not_case_sensitive(edge: Edge) -> None:
    headers = {"Authorization": f"bearer {edge.keys['admin']}"}
    with edge.client(None) as client:
        assert client.get("/v1/policies", headers=headers).status_code == 200


def test_a_limited_key_lists_its_own_policy_only(edge: Edge) -> None:
    _, everything = ask(edge, "read", "GET", "/v1/policies")
    _, own = ask(edge, "read:a", "GET", "/v1/policies")
    assert [each["name"] for each in everything["policies"]] == ["a", "b"]
    assert [each["name"] for each in own["policies"]] == ["a"]


def test_a_path_of_an_encoded_name_is_within_the_scope_of_what_it_decodes_to(edge: Edge) -> None:
    with edge.client("read:a") as client:
        assert client.get("/v1/policies/%61").status_code == 200
        assert client.get("/v1/policies/%62").status_code == 403
        assert client.get("/v1/policies/a%2Fdecide").status_code == 403


def test_keys_come_and_go_while_the_server_runs() -> None:
    with at_the_edge() as edge:
        key, row = new_key("read")
        with edge.client(key) as client:
            # Whoever asks with a key that nobody knows makes the server look, once a second.
            edge.desk.rows.append(row)
            assert client.get("/v1/policies").status_code == 200
            edge.desk.rows.remove(row)
            edge.desk.rows.append(row._replace(revoked_at=1))
            with edge.client("hr_01234567_" + "0" * 48) as other:
                while client.get("/v1/policies").status_code == 200:
                    assert other.get("/v1/policies").status_code == 401
            assert client.get("/v1/policies").status_code == 401


def test_wrong_keys_do_not_wear_out_the_database() -> None:
    with at_the_edge() as edge, edge.client("hr_01234567_" + "0" * 48) as client:
        for _ in range(50):
            assert client.get("/v1/policies").status_code == 401
        assert 1 <= edge.desk.fetched < 25  # once a second, were each of them to take half of one
