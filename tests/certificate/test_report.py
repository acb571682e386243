"""Many verdicts at once: the table of cases, the report, and the page it goes into."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.certificate import broken, report
from handrail.certificate.broken import VARIANTS, Variant, apply
from handrail.certificate.cases import GROUPS, Case, cases
from handrail.certificate.interval import FALSE_ALARM
from handrail.certificate.report import judge_all, line, markdown, summary

DOCS = Path(__file__).parent.parent.parent / "docs"
PACKAGE = Path(handrail.__file__).parent
QUICK: dict[str, Any] = {"alpha": 0.3, "delta": 0.2, "runs": 60, "rounds": 200}
SOUND = Case(group="entries", algorithm="CUCB2", environment="loud", **QUICK)
CONTROL = Case(group="controls", algorithm="UCB", environment="loud", expected=False, **QUICK)
FALSE = Case(group="entries", algorithm="UCB", environment="loud", **QUICK)
MISSED = Case(group="controls", algorithm="CUCB2", environment="loud", expected=False, **QUICK)


def test_every_conservative_entry_has_its_rows() -> None:
    table = cases()
    assert {case.group for case in table} == set(GROUPS)
    for row in handrail.algorithms():
        groups = {case.group for case in table if case.algorithm == row.name}
        if not row.conservative:
            assert groups == {"controls"}
        elif row.past == "oracle":
            assert groups == {"entries", "late"}
        else:
            assert groups >= {"entries", "baseline", "late", "controls"}
        assert ("schedules" in groups) == (row.schedule == "checkpoints")
    for case in table:
        assert case.expected is (case.group not in ("controls", "broken"))
        assert bool(case.broken) is (case.group == "broken")
        runs = 100.0 / case.delta if case.runs is None else case.runs
        assert runs * case.delta >= 10.0  # or no share above delta would be told from delta
    assert sum(case.expected for case in table) * FALSE_ALARM < 0.02


def test_every_broken_variant_has_its_row() -> None:
    """And the same runs are judged without what is broken, where bounds are cut."""
    table = cases()
    wrong = [case for case in table if case.broken]
    assert {case.broken for case in wrong} == set(VARIANTS)
    for case in wrong:
        assert (case.cut > 0.0) is VARIANTS[case.broken].bound
        if case.cut:
            whole = replace(case, group="edges", broken="", cut=0.0, expected=True)
            assert whole in table


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_can_be_applied(name: str, tmp_path: Path) -> None:
    """Each text stands in the sources once, and what replaces it is Python and something else."""
    apply(name, 0.25, tmp_path)
    changed = []
    for path in (tmp_path / "handrail").rglob("*.py"):
        before = (PACKAGE / path.relative_to(tmp_path / "handrail")).read_text()
        if path.read_text() != before:
            changed.append(path)
            assert ast.dump(ast.parse(path.read_text())) != ast.dump(ast.parse(before))
    assert 1 <= len(changed) <= len(VARIANTS[name].edits)


def test_a_text_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Variant("gone", (("no such text", ""),))
    monkeypatch.setattr(broken, "VARIANTS", {"gone": gone})
    with pytest.raises(LookupError, match="stands 0 times"):
        apply("gone", 0.0, tmp_path)


@pytest.mark.long
def test_a_broken_variant_is_judged_and_nothing_else_is_broken() -> None:
    """No union over 100 arms: the bounds are at 100 times their level."""
    (case,) = (case for case in cases() if case.broken == "no-union")
    row = report.judge(case)
    assert (row["verdict"], row["broken"], row["as_expected"]) == ("fails", "no-union", True)
    whole = report.judge(replace(case, group="edges", broken="", expected=True))
    assert whole["verdict"] == "holds"


def test_the_smallest_cut_that_is_noticed_is_shown() -> None:
    def row(**more: Any) -> dict[str, Any]:
        return dict(judge_all([SOUND], workers=1)["certificates"][0], **more)

    rows = [
        row(group="edges"),
        row(group="broken", broken="wu", cut=0.5, verdict="fails", share=0.9),
        row(group="broken", broken="wu", cut=0.25, verdict="fails", share=0.4),
        row(group="broken", broken="wu", cut=0.1, verdict="not refuted", share=0.3),
    ]
    shown = markdown({"certificates": rows})
    assert "| arm width `wu` | 25 % | 40 % | 0 % | 20 % |" in shown
    assert "CUCB2, arm width `wu` cut by 25 %" in shown


def test_a_report() -> None:
    said: list[str] = []
    found = judge_all([SOUND, CONTROL], workers=1, say=said.append)
    assert found["verdicts"] == 2
    assert found["as_expected"]
    assert found["false_alarm"] == FALSE_ALARM  # a control can raise none
    assert [row["verdict"] for row in found["certificates"]] == ["holds", "fails"]
    assert said[1].startswith("[2/2] UCB on loud, every-round, baseline known: 60 of 60 violated")
    assert said[1].endswith("fails (as it has to)")
    assert "at most 1 x 5e-05" in summary(found)
    assert json.loads(json.dumps(found)) == found
    assert [text for text in markdown(found).splitlines() if text.startswith("| UCB")] == [
        "| UCB | loud | every round | known | 0.3 | 0.2 | 60 x 200 | 60 | 84.78 to 100 % | fails |"
    ]


@pytest.mark.parametrize("case", [FALSE, MISSED], ids=["broken promise", "toothless control"])
def test_what_is_not_as_expected_is_said(case: Case) -> None:
    found = judge_all([SOUND, case], workers=1)
    assert not found["as_expected"]
    assert "1 verdict(s) are not as expected" in summary(found)
    assert "NOT AS EXPECTED" in line(found["certificates"][1])
    assert "**" in markdown(found)


def test_processes_change_nothing() -> None:
    one = judge_all([SOUND, CONTROL], workers=1)
    two = judge_all([SOUND, CONTROL], workers=2)
    assert one["certificates"] == two["certificates"]


def test_the_page_shows_the_committed_report() -> None:
    found = json.loads((DOCS / "guarantee.json").read_text())
    page = (DOCS / "guarantee.md").read_text()
    assert found["as_expected"]
    assert markdown(found) in page
    assert summary(found) in page.replace("\n", " ")
    told = [
        {name: row[name] for name in ("group", "algorithm", "environment", "alpha", "delta")}
        for row in found["certificates"]
    ]
    wanted = [
        {
            name: getattr(case, name)
            for name in ("group", "algorithm", "environment", "alpha", "delta")
        }
        for case in cases()
    ]
    assert told == wanted, (
        "the table of cases has changed: run `make certify` and commit its report"
    )
