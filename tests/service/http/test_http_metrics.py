"""The metrics, read back with Prometheus' own parser."""

from __future__ import annotations

import re

from prometheus_client.parser import text_string_to_metric_families

from edge import Edge, at_the_edge
from fake_desk import FakeBook


def numbers(edge: Edge) -> dict[str, float]:
    """Return samples by name and labels."""
    with edge.client() as client:
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        sample.name
        + "".join(f" {sample.labels[key]}" for key in sorted(sample.labels)): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_decisions_and_rewards_are_counted() -> None:
    reward = {"decision": "i", "reward": 1}
    with at_the_edge() as edge:
        with edge.client() as client:
            client.post("/v1/policies/a/decide", json={"requests": [{}] * 3})
            client.post("/v1/policies/a/decide")
            client.post("/v1/policies/a/decide", content="{")
            client.post("/v1/policies/a/rewards", json=reward)
            client.post("/v1/policies/a/rewards", json={"rewards": [reward, reward]})
            client.get("/v1/policies/nothing")
            client.request("PROPFIND", "/v1/policies")
            client.get("/secret-path")
        found = numbers(edge)
    requests = "handrail_requests_total"
    assert found[f"{requests} POST /v1/policies/{{name}}/decide 200"] == 2
    assert found[f"{requests} POST /v1/policies/{{name}}/decide 400"] == 1
    assert found[f"{requests} GET /v1/policies/{{name}} 404"] == 1
    assert found[f"{requests} other other 404"] == found[f"{requests} other other 405"] == 1
    assert found["handrail_decisions_total baseline"] == 4
    assert found["handrail_rewards_total learned"] == 3
    assert found["handrail_ready"] == 1
    assert found["handrail_connections"] == 1
    where = "POST /v1/policies/{name}/decide"
    assert found[f"handrail_request_seconds_count {where}"] == 3
    assert found[f"handrail_request_seconds_sum {where}"] > 0
    assert found["handrail_request_seconds_bucket +Inf " + where.replace(" ", " ", 1)] == 3
    assert not any("secret" in name for name in found)


def test_buckets_hold_all_below_them() -> None:
    with at_the_edge() as edge:
        numbers(edge)
        found = numbers(edge)
    pattern = re.compile(r"handrail_request_seconds_bucket (\S+) GET /metrics")
    buckets = sorted(
        (float(match[1].replace("+Inf", "inf")), value)
        for name, value in found.items()
        if (match := pattern.fullmatch(name))
    )
    counts = [value for _, value in buckets]
    assert len(counts) == 15
    assert counts == sorted(counts)
    assert counts[-1] == 1


def test_what_the_desk_knows() -> None:
    with at_the_edge() as edge:
        edge.desk.reachable = False
        edge.desk.waiting = 3
        edge.desk.batches = 4
        edge.desk.commit_seconds = 0.5
        edge.desk.books = [
            FakeBook({"name": "earlier"}, 1.0),
            *(FakeBook({"name": f"p{number}"}, number / 2) for number in range(999)),
            FakeBook({"name": 'quo"te'}, None),
        ]
        found = numbers(edge)
    assert found["handrail_database_up"] == 0
    assert found["handrail_queue"] == 3
    assert found["handrail_commits_total"] == 4
    assert found["handrail_commit_seconds_total"] == 0.5
    assert found["handrail_policies_in_memory"] == 1001
    assert found["handrail_margin p998"] == 499
    assert "handrail_margin earlier" not in found  # more than are told
    assert 'handrail_margin quo"te' not in found  # nothing is promised
