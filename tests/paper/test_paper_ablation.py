"""One part at a time: what the steps are, what is said of them, and what the page says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from handrail.paper.drawing.sheet import style
from handrail.paper.experiments import bernoulli, linear
from handrail.paper.figures import FIGURES
from handrail.paper.measures.ablation import ablation_tables
from handrail.paper.reproduce import reproduce
from handrail.paper.scale import PAPER, QUICK, Scale
from handrail.paper.settings import LINEAR, MEANS
from handrail.paper.steps import LADDERS, Ladder, ladder_contenders
from handrail.paper.tabular import table_markdown
from handrail.policies.catalogue import algorithm
from handrail.records import RULES
from handrail.simulation.blocks import entry
from handrail.simulation.experiment import Contender, Experiment
from paper_tables import TINY, make_tables

PLAN = FIGURES["ablation"]
DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("mab", "linear", "jester")
MAB, LIN, _ = LADDERS

WIDTHS = ("width", "estimator_level", "arm_rho", "noise", "ridge", "theta_bound", "selection")


def _experiment(ladder: Ladder) -> Experiment:
    build = bernoulli if ladder is MAB else linear
    return build(ladder_contenders(ladder), TINY.ablation_linear, 0, 5)


def _rules(ladder: Ladder) -> dict[str, Any]:
    experiment = _experiment(ladder)
    return {
        str(contender.labels["step"]): entry(experiment, contender, 0).rules[0]
        for contender in experiment.contenders
    }


def _changes(one: Any, other: Any) -> set[str]:
    return {name for name in RULES.names or () if one[name] != other[name]}


def test_each_step_of_the_arms_changes_one_part() -> None:
    rules = _rules(MAB)
    steps = [rules[step.name] for step in MAB.steps]
    assert [_changes(a, b) for a, b in pairwise(steps)] == [
        {"past", "selection"},
        {"estimator_level", "martingale_level"},
        # A boundary without slack in its proof is used at its share itself.
        {"cumulative", "cumulative_rho", "martingale_level"},
        {"width", "arm_rho", "estimator_level"},
        {"width", "arm_rho"},
        {"past"},
        {"cumulative", "cumulative_rho"},
    ]


def test_each_step_of_the_linear_ones_changes_one_part() -> None:
    rules = _rules(LIN)
    steps = [rules[step.name] for step in LIN.steps]
    assert [_changes(a, b) for a, b in pairwise(steps)] == [
        {"past", "selection"},
        {"estimator_level", "martingale_level"},
        {"width"},
        {"cumulative", "cumulative_rho", "martingale_level"},
        {"ridge"},
        {"past"},
        {"learn_baseline"},
        {"width", "arm_rho", "estimator_level"},
        {"learn_baseline"},
    ]


@pytest.mark.parametrize(("ladder", "name"), [(MAB, "HANDRAIL"), (LIN, "LinHANDRAIL")])
def test_the_recommended_step_is_the_catalogues_own_row(ladder: Ladder, name: str) -> None:
    given = {"alpha": 0.05, "delta": 0.01}
    build = bernoulli if ladder is MAB else linear
    settings = build((Contender(name),), TINY.ablation_linear, 0, 5)
    bare = Experiment(
        settings.environment, settings.parameters, settings.contenders, 200, 2, 2, 0, given
    )
    asked = entry(bare, bare.contenders[0], 0).rules[0]
    assert _changes(_rules(ladder)[ladder.default], asked) == set()
    (step,) = [each for each in ladder.steps if each.name == ladder.default]
    assert step.row == algorithm(name)
    assert step.row.preset == algorithm(name).preset


@pytest.mark.parametrize("ladder", [MAB, LIN])
def test_an_oracle_has_the_widths_of_its_steps(ladder: Ladder) -> None:
    rules = _rules(ladder)
    judged = [step for step in ladder.steps if step.oracle]
    assert {step.oracle for step in judged} == {oracle.name for oracle in ladder.oracles}
    for step in judged:
        own, oracle = rules[step.name], rules[step.oracle]
        assert not _changes(own, oracle) & set(WIDTHS), step.name
        assert _changes(own, oracle) >= {"past"}


def test_problems_and_rewards_are_those_of_the_papers_figures() -> None:
    for experiment, name in zip(
        PLAN.experiments(TINY, 5), ("mab", "linear", "jester"), strict=True
    ):
        (figure,) = FIGURES[name].experiments(TINY, 5)
        assert experiment.environment == figure.environment
        assert experiment.parameters == figure.parameters
        assert experiment.policy == figure.policy
        assert (experiment.seed, experiment.labels) == (5, {"environment": name})
    assert (MAB.policy, LIN.policy) == (MEANS, LINEAR)


REGRETS = {"old": 1000.0, "new": 600.0, "bare": 200.0, "default": 50.0, "other": 300.0}
"""By hand: saved 40 %, 80 % and 95 %; the oracles below make ratios of 2 and 4."""


def _final(name: str, labels: Mapping[str, Any], _problem: int) -> float:
    (ladder,) = [each for each in LADDERS if each.name == labels["environment"]]
    step = labels["step"]
    if step in {each.name for each in ladder.oracles}:
        (first, *_) = [each for each in ladder.steps if each.oracle == step]
        if step in ("HANDRAIL-Or", "LinHANDRAIL-Or"):
            return REGRETS["default"] / 4.0
        return REGRETS["bare"] / 2.0 if first.row.name != ladder.steps[0].name else 900.0
    return {
        ladder.steps[0].name: REGRETS["old"],
        ladder.new: REGRETS["new"],
        "larger past": REGRETS["bare"],
        ladder.default: REGRETS["default"],
    }.get(step, REGRETS["other"])


def _summary(scale: Scale, **changes: Any) -> dict[str, Any]:
    """Summarise made-up tables, small ones whatever the scale that is claimed."""
    return PLAN.summary(make_tables(PLAN.experiments(TINY, 0), _final, noise=0.0, **changes), scale)


def _verdicts(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {each["id"]: each for each in summary["verdicts"]}


def test_a_summary_judged_by_hand() -> None:
    summary = _summary(PAPER)
    assert list(summary["environments"]) == [*NAMES]
    for ladder in LADDERS:
        found = summary["environments"][ladder.name]
        rows = {row["step"]: row for row in found["steps"]}
        assert [*rows] == [step.name for step in ladder.steps]
        assert rows[ladder.default]["saved"]["measured"] == pytest.approx(0.95)
        assert rows[ladder.default]["saved"]["low"] == pytest.approx(0.95)
        assert rows[ladder.default]["ratio"]["measured"] == pytest.approx(4.0)
        assert rows[ladder.default]["above_oracle"] == pytest.approx(37.5)
        assert rows[ladder.default]["baseline_share"] == pytest.approx(0.1)
        if ladder is not MAB:
            assert rows["larger past"]["ratio"]["measured"] == pytest.approx(2.0)
        assert rows[ladder.new]["saved"]["measured"] == pytest.approx(0.4)
        assert (rows[ladder.new]["violations"], rows[ladder.new]["runs"]) == (0, 4)
    verdicts = _verdicts(summary)
    assert [verdicts[f"{name}-saved"]["holds"] for name in ("mab", "linear", "jester")] == [
        True
    ] * 3
    assert verdicts["linear-saved"]["target"] == "at least 88 %"
    assert (verdicts["jester-ratio"]["target"], verdicts["jester-ratio"]["holds"]) == (
        "at most 1.6",
        False,
    )
    assert verdicts["jester-ratio"]["verdict"] == "does not hold"
    assert verdicts["jester-ellipsoid-taught-ratio"]["measured"] == pytest.approx(3.0)
    assert verdicts["mab-ratio"]["verdict"] == "for comparison"
    assert verdicts["jester-ellipsoid-ratio"]["measured"] == pytest.approx(2.0)
    assert all(verdicts[f"{ladder.name}-safe"]["holds"] is True for ladder in LADDERS)


def test_one_run_below_0_is_a_broken_promise() -> None:
    def lowest(_name: str, labels: Mapping[str, Any], problem: int) -> float:
        return -1.0 if (labels["step"], problem) == ("CLUCB2", 1) else 5.0

    verdicts = _verdicts(_summary(PAPER, lowest=lowest))
    assert verdicts["mab-safe"]["holds"] is True
    assert verdicts["linear-safe"]["holds"] is False
    assert verdicts["linear-safe"]["measured"] == 0.5
    assert verdicts["linear-promise"]["holds"] is True  # it was another's run


def test_few_runs_below_0_are_within_the_promise_and_many_are_not() -> None:
    def lowest(_name: str, labels: Mapping[str, Any], _problem: int) -> float:
        return -1.0 if labels["step"] == LIN.default else 5.0

    verdicts = _verdicts(_summary(PAPER, lowest=lowest))
    assert verdicts["linear-promise"]["target"] == "at most δ = 1 %"
    assert verdicts["linear-promise"]["holds"] is False
    assert verdicts["linear-promise"]["low"] > 0.01
    assert verdicts["mab-promise"]["holds"] is True


def test_another_horizon_is_not_judged_but_the_promise_is() -> None:
    verdicts = _verdicts(_summary(TINY))
    assert verdicts["mab-saved"]["holds"] is None
    assert verdicts["mab-saved"]["verdict"] == "not measured at this scale"
    assert verdicts["mab-safe"]["holds"] is True
    assert _verdicts(_summary(QUICK))["jester-ratio"]["holds"] is False


def test_the_picture_names_every_step_and_what_it_saves() -> None:
    tables = make_tables(PLAN.experiments(TINY, 0), _final)
    with style():
        figure = PLAN.picture(tables, TINY)
    panels = figure.get_axes()
    assert len(panels) == 3
    for axes, ladder in zip(panels, LADDERS, strict=True):
        assert axes.get_xscale() == "log"
        shown = [
            label.get_text().removeprefix("+ ").removeprefix("or: ")
            for label in axes.get_yticklabels()
        ]
        assert shown == [step.name for step in ladder.steps]
        texts = [str(text.get_text()) for text in axes.findobj(Text)]
        assert any(text.endswith("−95 %") for text in texts)


@pytest.fixture
def _no_jester(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HANDRAIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HANDRAIL_JESTER", raising=False)


@pytest.mark.usefixtures("_no_jester")
def test_from_runs_to_the_report_without_ratings(tmp_path: Path) -> None:
    lines: list[str] = []
    outcome = reproduce(["ablation"], scale=TINY, out=tmp_path / "out", tell=lines.append)
    assert lines[0].startswith("ablation: the data is missing")
    assert "handrail data jester" in lines[0]
    assert lines[0].endswith("going on with the rest of it")
    assert outcome.missing == {}
    folder = tmp_path / "out" / "ablation"
    summary = json.loads((folder / "summary.json").read_text())
    assert list(summary["environments"]) == ["mab", "linear"]
    assert summary["missing"] == ["jester"]
    assert all(verdict["holds"] for verdict in summary["verdicts"] if verdict["target"] == "none")
    page = outcome.report.read_text()
    assert f"{MAB.default}</b>" in page
    assert "Not run, for want of data: jester." in page
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    reproduce(["ablation"], scale=TINY, out=tmp_path / "out", redraw=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_panel_says_that_it_was_not_run() -> None:
    tables = make_tables(PLAN.experiments(TINY, 0)[:2], _final)
    with style():
        figure = PLAN.picture(tables, TINY)
    texts = [str(text.get_text()) for text in figure.findobj(Text)]
    assert "jester: not run" in texts
    assert any("handrail data jester" in text for text in texts)


def test_no_summary_no_tables() -> None:
    assert ablation_tables({}) == []


def test_the_page_holds_the_committed_numbers() -> None:
    summary = json.loads((DOCS / "reproduction" / "ablation.json").read_text())
    assert (summary["scale"], summary["seed"], summary["missing"]) == ("paper", 0, [])
    page = (DOCS / "ablation.md").read_text()
    for table in ablation_tables(summary):
        assert table_markdown(table) in page, table.caption
    for ladder in LADDERS:
        found = summary["environments"][ladder.name]
        assert [row["step"] for row in found["steps"]] == [step.name for step in ladder.steps]
