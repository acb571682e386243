"""Many verdicts at once: the table of cases, the report, and the page it goes into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.certificate.cases import GROUPS, Case, cases
from handrail.certificate.interval import FALSE_ALARM
from handrail.certificate.report import judge_all, line, markdown, summary

DOCS = Path(__file__).parent.parent.parent / "docs"
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
        assert case.expected is (case.group != "controls")
        assert 0.1 <= case.delta <= 0.2  # large enough to be tested sharply
    assert len(table) * FALSE_ALARM < 0.02


def test_a_report() -> None:
    said: list[str] = []
    report = judge_all([SOUND, CONTROL], workers=1, say=said.append)
    assert report["verdicts"] == 2
    assert report["as_expected"]
    assert report["false_alarm"] == FALSE_ALARM  # a control can raise none
    assert [row["verdict"] for row in report["certificates"]] == ["holds", "fails"]
    assert said[1].startswith("[2/2] UCB on loud, every-round, baseline known: 60 of 60 violated")
    assert said[1].endswith("fails (as it has to)")
    assert "at most 1 x 5e-05" in summary(report)
    assert json.loads(json.dumps(report)) == report
    assert [text for text in markdown(report).splitlines() if text.startswith("| UCB")] == [
        "| UCB | loud | every round | known | 0.3 | 0.2 | 60 x 200 | 60 | 84.78 to 100 % | fails |"
    ]


@pytest.mark.parametrize("case", [FALSE, MISSED], ids=["broken promise", "toothless control"])
def test_what_is_not_as_expected_is_said(case: Case) -> None:
    report = judge_all([SOUND, case], workers=1)
    assert not report["as_expected"]
    assert "1 verdict(s) are not as expected" in summary(report)
    assert "NOT AS EXPECTED" in line(report["certificates"][1])
    assert "**" in markdown(report)


def test_processes_change_nothing() -> None:
    one = judge_all([SOUND, CONTROL], workers=1)
    two = judge_all([SOUND, CONTROL], workers=2)
    assert one["certificates"] == two["certificates"]


def test_the_page_shows_the_committed_report() -> None:
    report = json.loads((DOCS / "guarantee.json").read_text())
    page = (DOCS / "guarantee.md").read_text()
    assert report["as_expected"]
    assert markdown(report) in page
    assert summary(report) in page.replace("\n", " ")
    told = [
        {name: row[name] for name in ("group", "algorithm", "environment", "alpha", "delta")}
        for row in report["certificates"]
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
