"""The page on the event log: its tables, its chain and its check of a file, held to real logs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from edge import real_edge
from handrail.cli import main
from handrail.service import events
from handrail.service.logfile import FORMAT, VERSION, Header, parquet_schema
from handrail.service.messages import CreateRequest
from pages import DOCS, backticked, tables

PAGE = "event-log.md"


def fields(struct: type[Any]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(struct)]


def test_the_kinds_and_their_fields_in_their_order() -> None:
    (rows,) = tables(PAGE, "kind")
    told = {backticked(kind)[0]: backticked(cell.partition(":")[0]) for kind, cell in rows}
    (decided,) = tables(PAGE, "`decided`")
    told["decided"] = [name for row in decided for name in backticked(row[0])]
    assert told == {kind: fields(struct) for kind, struct in events._KINDS.items()}


def test_the_header_of_a_file() -> None:
    (rows,) = tables(PAGE, "header")
    assert [name for row in rows for name in backticked(row[0])] == fields(Header)
    assert rows[0][1].startswith(f'`"{FORMAT}"`, {VERSION};')


def test_the_columns_of_parquet() -> None:
    (rows,) = tables(PAGE, "column")
    told = [(name, kind) for names, kind, _ in rows for name in backticked(names)]
    assert told == [(field.name, str(field.type)) for field in parquet_schema()]


def test_the_fields_of_a_definition() -> None:
    text = (DOCS / PAGE).read_text()
    (said,) = re.findall(r"^`definition` is (.*?), as the policy was created", text, re.MULTILINE)
    own = backticked(said)
    assert own[-1] == "parameters"
    assert own[:-1] == [name for name in fields(CreateRequest) if name in own]


def test_what_is_kept_free() -> None:
    """The parameters, fields and kinds that only a later release gives a meaning."""
    text = (DOCS / PAGE).read_text()
    (said,) = re.findall(r"^(`credit`.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    told = backticked(said)
    assert set(told) == {*events._RESERVED, *events._FREE_KINDS, *events.FREE_PARAMETERS}
    assert not set(events.FREE_PARAMETERS) & set(fields(CreateRequest))
    assert not set(events._FREE_KINDS) & set(events._KINDS)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a log in which events of many kinds happened."""
    folder = tmp_path_factory.mktemp("log")
    made = {
        **{"name": "a", "algorithm": "HANDRAIL", "arms": ["x", "y"], "arms_ever": 5},
        **{"baseline": "x", "baseline_mean": 0.3, "alpha": 0.5, "delta": 0.05},
        **{"reward_range": [0, 1], "mode": "shadow", "window": 9, "default_reward": 0},
    }
    with real_edge(str(folder / "handrail.db")) as (url, key):
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False) as api:
            assert api.post("/v1/policies", json=made).status_code == 201
            assert (
                api.post("/v1/policies/a/decide", json={"idempotency_key": "é \0"}).status_code
                == 200
            )
            assert api.patch("/v1/policies/a", json={"mode": "live"}).status_code == 200
            answers = api.post("/v1/policies/a/decide", json={"requests": [{}] * 6}).json()[
                "decisions"
            ]
            waiting = [answer["id"] for answer in answers if answer["awaits_reward"]]
            told = {"decision": waiting[0], "reward": 1 / 3, "played": waiting[:1]}
            api.post("/v1/policies/a/rewards", json=told).raise_for_status()
            api.post(f"/v1/policies/a/decisions/{waiting[1]}/fallback").raise_for_status()
            assert api.post("/v1/policies/a/arms", json={"name": "z"}).status_code == 201
            assert api.delete("/v1/policies/a/arms/y").status_code == 200
            assert api.delete("/v1/policies/a").status_code == 200
        out = folder / "a.ndjson"
        assert (
            main(["export", str(folder / "handrail.db"), "--policy", "a", "--out", str(out)]) == 0
        )
    return out


def test_the_check_of_a_file(exported: Path, tmp_path: Path) -> None:
    """The page's own check takes a real log, and finds an altered and a missing event."""
    (code,) = re.findall(r"^```py\n(.*?)^```$", (DOCS / PAGE).read_text(), re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = {}
    exec(compile(code, PAGE, "exec"), found)  # the example is ours
    lines = exported.read_text().splitlines(keepends=True)
    kinds = {json.loads(line)["event"]["kind"] for line in lines[1:]}
    assert kinds == events._KINDS.keys() - {"closed", "checkpoint", "upgraded"}
    assert found["check"](exported) == len(lines) - 1
    bad = tmp_path / "bad.ndjson"
    bad.write_text("".join(lines).replace('"reward":0.3333', '"reward":0.3334'))
    with pytest.raises(AssertionError, match="was altered"):
        found["check"](bad)
    bad.write_text("".join(lines[:-1]))
    with pytest.raises(AssertionError, match="cut off"):
        found["check"](bad)
