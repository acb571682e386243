"""The service's pages: their requests are sent to a real service, their tables held to the code."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from itertools import chain
from typing import get_args, get_type_hints

import httpx
import msgspec
import pytest

from edge import real_edge
from handrail.service import problems
from handrail.service.http.queries import Whole
from handrail.service.http.replies import SECURITY
from handrail.service.http.table import ROUTES
from handrail.service.limits import Limits
from handrail.service.messages import (
    Answer,
    Answers,
    ArmAnswer,
    ArmRequest,
    CheckpointAnswer,
    CreateRequest,
    DecideBatch,
    DecideRequest,
    FallbackAnswer,
    FallbackRequest,
    Mode,
    ModeRequest,
    PlayedAnswer,
    PlayedAnswers,
    PlayedBatch,
    PlayedStatus,
    RewardAnswer,
    RewardAnswers,
    RewardBatch,
    RewardRequest,
    RewardStatus,
)
from handrail.service.shown import BudgetView, PolicyView
from pages import DOCS, agree, ask, backticked, steps, tables


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A service with an empty database: its address, and a key."""
    with real_edge(str(tmp_path_factory.mktemp("docs") / "handrail.db")) as found:
        yield found


def names(struct: type[msgspec.Struct]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(struct)]


def named(rows: list[list[str]]) -> list[str]:
    """Return the names in the first column."""
    return [name for row in rows for name in backticked(row[0])]


def test_the_requests(served: tuple[str, str]) -> None:
    """Every answer shown is the one that comes, in its order from the top of the first page."""
    url, key = served
    ids: dict[str, str] = {}
    shown = 0

    def change(text: str) -> str:
        for one, other in ids.items():
            text = text.replace(one, other)
        return text

    variables = {"KEY": key, "API": f"{url}/v1/policies", "AUTH": "Authorization: Bearer $KEY"}
    with httpx.Client(trust_env=False, timeout=60.0) as client:
        pages = ("service.md", "http-api.md")
        for step in chain.from_iterable(steps(page, variables, change) for page in pages):
            answer = None
            for command in step.commands:
                if command[0] != "curl":
                    assert command[:2] in (["pip", "install"], ["handrail", "serve"]), command
                    continue
                answer = ask(client, command)
                if step.shown is None or command is not step.commands[-1]:
                    assert "status" not in answer or answer["status"] == "learned", answer
            if step.shown is not None and answer is not None:
                agree(step.shown, answer, ids)
                shown += 1
    assert shown > 10


def test_the_fields_of_a_policy() -> None:
    found = [rows for rows in tables("service.md", "field") if "`name`" in rows[0][0]]
    assert sorted(named(found[0])) == sorted(names(CreateRequest))


def test_the_fields_of_a_decision_and_its_answer() -> None:
    asked = [rows for rows in tables("service.md", "field") if "`features`" in rows[0][0]]
    assert named(asked[0]) == names(DecideRequest)
    (answer,) = tables("service.md", "answer")
    assert named(answer) == names(Answer)


def test_the_fields_of_the_budget() -> None:
    (budget,) = tables("service.md", "`budget`")
    assert set(named(budget)) < set(names(BudgetView))


def test_modes_and_what_becomes_of_rewards() -> None:
    (modes,) = tables("service.md", "mode")
    assert named(modes) == list(get_args(Mode))
    (found,) = [rows for rows in tables("service.md", "status") if not rows[0][0].isdigit()]
    assert named(found) == list(get_args(RewardStatus))
    (words,) = tables("service.md", "word")
    assert named(words) == list(get_args(PlayedStatus))


def test_the_limits() -> None:
    (rows,) = tables("service.md", "limit")
    told = {backticked(row[0])[0]: float(row[1].split()[0].replace(",", "")) for row in rows}
    assert told == {name: float(value) for name, value in dataclasses.asdict(Limits()).items()}


def test_the_errors() -> None:
    (rows,) = [rows for rows in tables("service.md", "status") if rows[0][0].isdigit()]
    assert {int(row[0]): row[1] for row in rows} == problems._TITLES


def test_the_paths() -> None:
    """Method, path, roles, and what a key limited to a policy may not do: as in the table."""
    (rows,) = tables("http-api.md", "method")
    told = {
        (method, backticked(path)[0]): (frozenset(re.findall(r"\w+", roles)), "*" in roles)
        for method, path, roles, _ in rows
    }
    real = {
        (route.method, route.path): (
            frozenset({"open"} if route.roles is None else route.roles or {"admin"}),
            route.whole,
        )
        for route in ROUTES
    }
    assert told == real


def test_the_pages_of_lists() -> None:
    queries = {route.path: {each.name: each for each in route.query} for route in ROUTES}
    (rows,) = tables("http-api.md", "path")
    paged = set()
    for paths, _, sizes, _ in rows:
        name, low, *rest = re.findall(r"`?([\w,]+)`?", re.sub(r"\b(from|to|default)\b", "", sizes))
        for path in backticked(paths):
            full = path.replace("...", "/v1/policies/{name}")
            size = queries[full][name]
            paged.add(full)
            assert isinstance(size, Whole)
            numbers = [int(each.replace(",", "")) for each in (low, *rest) if each != "all"]
            if size.default is None:
                assert numbers == [size.low]
            else:
                assert numbers == [size.low, size.high, size.default]
    assert paged == {path for path, query in queries.items() if "after" in query}


def test_the_fields_of_requests_and_answers() -> None:
    (rows,) = tables("http-api.md", "request")
    told = {row[0]: [backticked(cell) for cell in row[1:]] for row in rows}
    assert told["decide"] == [names(DecideRequest), names(Answer)]
    assert told["decide, batch"] == [names(DecideBatch), names(Answers)]
    assert told["reward"] == [names(RewardRequest), names(RewardAnswer)]
    assert told["reward, batch"] == [names(RewardBatch), names(RewardAnswers)]
    statuses = ["baseline", "choice", "ignored", "late"]
    assert told["fallback"] == [
        names(FallbackRequest),
        ["decision", "status", *statuses, "detail"],
    ]
    assert told["played"] == [[], names(PlayedAnswer)]
    assert told["played, batch"] == [names(PlayedBatch), names(PlayedAnswers)]
    assert get_args(get_type_hints(FallbackAnswer)["status"]) == tuple(statuses)
    assert told["checkpoint"] == [[], names(CheckpointAnswer)]
    assert told["arm"] == [names(ArmRequest), names(ArmAnswer)]
    assert told["mode"][0] == names(ModeRequest)
    text = (DOCS / "http-api.md").read_text()
    (policy,) = re.findall(r"^A policy is (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert [each for each in backticked(policy) if each in names(PolicyView)] == names(PolicyView)


def test_the_headers_of_every_answer(served: tuple[str, str]) -> None:
    url, _ = served
    answer = httpx.get(f"{url}/healthz", trust_env=False)
    (rows,) = tables("http-api.md", "header")
    for header in backticked(rows[0][0]):
        name, _, value = header.partition(": ")
        assert answer.headers[name] == value
    assert len(backticked(rows[0][0])) == len(SECURITY)
