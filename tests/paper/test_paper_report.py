"""The report: whole, valid, and asking for nothing from elsewhere."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

from handrail.paper.claims import answer
from handrail.paper.figures import FIGURES
from handrail.paper.report import Entry, Report, claims_markdown, render
from paper_tables import TINY, make_tables

VOID = {"meta", "img", "br", "link", "hr", "input"}


class _Page(HTMLParser):
    """Checks that tags are balanced, and collects ids, links and sources."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        found = dict(attrs)
        assert tag not in ("link", "script", "iframe", "base")
        if "id" in found:
            self.ids[str(found["id"])] += 1
        if "href" in found:
            self.links.append(str(found["href"]))
        if "src" in found:
            self.sources.append(str(found["src"]))
            assert found.get("alt")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _page(without: str = "") -> tuple[str, _Page]:
    evidence = []
    entries = []
    for name, plan in FIGURES.items():
        if name == without:
            entries.append(Entry(plan, None, "the data is missing; run `handrail data jester`"))
            continue
        evidence += plan.evidence(make_tables(plan.experiments(TINY, 0)), TINY)
        entries.append(Entry(plan, b"not a picture"))
    claims = {
        "version": "1.2",
        "scale": "tiny",
        "seed": 5,
        "seconds": 3725.0,
        "claims": [claim.json() for claim in answer(evidence)],
    }
    text = render(Report(TINY, claims, entries, {"python": "3.99 <&>"}, workers=2))
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return text, page


def test_every_figure_and_claim_once() -> None:
    text, page = _page()
    for name, plan in FIGURES.items():
        assert page.ids[name] == 1
        assert text.count(f'alt="{plan.title}"') == 1
        assert f"{name}/curves.parquet" in page.links
    assert all(count == 1 for count in page.ids.values())
    assert len(page.sources) == len(FIGURES)
    for id_ in ("mab-reduction", "safe"):
        assert f'<th scope="row"><code>{id_}</code>' in text
    assert "1 h 2 min" in text
    assert "3.99 &lt;&amp;&gt;" in text


def test_nothing_is_asked_for_from_elsewhere() -> None:
    text, page = _page()
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    for link in page.links:
        assert link.startswith("#") or "//" not in link
        if link.startswith("#"):
            assert page.ids[link[1:]] == 1
    assert "url(" not in text
    assert "@import" not in text
    assert "http" not in text


def test_a_missing_figure_is_marked_with_its_remedy() -> None:
    text, page = _page(without="jester")
    assert len(page.sources) == len(FIGURES) - 1
    assert page.ids["jester"] == 1
    assert "Missing." in text
    assert "handrail data jester" in text


def test_light_dark_phone_and_print() -> None:
    text, _ = _page()
    for word in ("prefers-color-scheme: dark", "@media print", "max-width", "width=device-width"):
        assert word in text


def test_claims_as_markdown() -> None:
    rows = [claim.json() for claim in answer([])]
    rows[0] |= {
        "measured": 0.5,
        "low": 0.4,
        "high": 0.6,
        "why": "a | b",
        "verdict": "holds",
        "what": "it",
    }
    lines = claims_markdown(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert "50.0 % [40.0, 60.0] (it) | **holds** | a \\| b |" in lines[2]
    assert lines[3].count(" | ") == 4
