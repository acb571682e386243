"""The page on the client: its examples run against a real service, its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import handrail
from edge import real_edge
from handrail.client.steps import Cause

PAGE = Path(__file__).parent.parent / "docs" / "client.md"
EXAMPLE = re.compile(r"^```py\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def test_the_examples_run_against_a_real_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From top to bottom, with the address and key of a service that is there."""
    with real_edge(str(tmp_path / "handrail.db")) as (url, key):
        names: dict[str, object] = {"client_url": url, "client_key": key}
        examples = EXAMPLE.findall(PAGE.read_text())
        for written, shown in examples:
            code = written.replace("http://127.0.0.1:8642", url).replace("hr_5d0c9f27_...", key)
            exec(compile(code, str(PAGE), "exec"), names)  # the examples are ours
            if shown:
                assert capsys.readouterr().out == shown
        for client in (names["client"], names["nobody"]):
            assert isinstance(client, handrail.Client)
            client.close()
    assert len(examples) > 4


def test_every_cause_is_explained() -> None:
    told = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(told) == sorted(get_args(Cause))


def test_every_call_is_named() -> None:
    text = PAGE.read_text()
    for kind in (handrail.Client, handrail.AsyncClient):
        calls = [name for name in dir(kind) if not name.startswith("_")]
        assert [name for name in calls if f"{name}(" not in text and f"`{name}`" not in text] == []
    assert {name for name in dir(handrail.Client) if not name.startswith("_")} == {
        name for name in dir(handrail.AsyncClient) if not name.startswith("_")
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", "0.25"),
        ("failures", "5"),
        ("rest", "5"),
        ("patience", "10"),
        ("connections", "20"),
        ("remember", "10_000"),
    ],
)
def test_settings_are_what_the_page_says(name: str, value: str) -> None:
    assert f"`{name}={value}`" in PAGE.read_text()
    with handrail.Client("http://127.0.0.1:1") as client:
        assert getattr(client._settings, name) == float(value)
