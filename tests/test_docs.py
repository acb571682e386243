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
