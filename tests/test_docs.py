"""Every Python example in README and docs runs as written, from top to bottom of its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from handrail.paper.report import claims_markdown

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Output shown right after an example is what it prints."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code, shown in EXAMPLE.findall(page.read_text()):
        exec(compile(code, str(page), "exec"), names)  # the examples are ours
        if shown:
            assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    """Links inside the repository lead somewhere."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_claims_table_is_that_of_the_committed_claims() -> None:
    claims = json.loads((ROOT / "docs" / "reproduction" / "claims.json").read_text())
    assert claims["scale"] == "paper"
    assert claims_markdown(claims["claims"]) in (ROOT / "docs" / "reproduction.md").read_text()


def headings(page: Path) -> set[str]:
    """Return what a page's headings are called in links to them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_anchors(page: Path) -> None:
    """Links to a place on a page lead to one of its headings."""
    for target, place in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        assert place in headings(page.parent / target if target else page), (target, place)
