"""Figure `theory`: bounds and measurements come from the tables, and the verdicts are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from handrail import theory
from handrail.environments.linear import Linear
from handrail.paper.drawing.sheet import style
from handrail.paper.figures import FIGURES
from handrail.paper.measures.theory import SYMBOLS, cases, informative_from
from handrail.paper.reproduce import reproduce
from handrail.paper.scale import Size
from paper_tables import TINY, make_tables

PLAN = FIGURES["theory"]
LONG = replace(TINY, theory=Size(1, 2, 10**7))
"""Never run: for tables that are made up, where the horizon costs nothing."""


def test_labels_are_the_models_own_symbols() -> None:
    for experiment in PLAN.experiments(TINY, 3):
        labels = experiment.labels
        assert set(labels) == set(SYMBOLS)
        problem = Linear(**experiment.parameters).problem(3, 0)
        lengths = np.linalg.norm(problem.rows(), axis=1)
        assert labels["feature_bound"] == pytest.approx(lengths.max())
        assert labels["theta_bound"] == problem.theta_bound
        assert labels["baseline_mean"] == problem.means[problem.baseline]
        assert labels["gap"] == pytest.approx(1.0 - problem.means[problem.baseline])
        assert experiment.problems == 1


def test_cases_are_the_tables_settings() -> None:
    tables = make_tables(PLAN.experiments(LONG, 0))
    for name, every in (("CLUCB2", 1), ("CLUCB2T", 10**6)):
        found = cases(tables, name)
        assert [case.setting.dim for case in found] == [2, 5, 100]
        for case, experiment in zip(found, PLAN.experiments(LONG, 0), strict=True):
            setting = case.setting
            assert (setting.alpha, setting.delta, setting.ridge) == (0.05, 0.01, 0.5)
            assert (setting.rounds, setting.checkpoint_every) == (10**7, every)
            assert setting.baseline_low == setting.baseline_high
            assert setting.baseline_low == experiment.labels["baseline_mean"]
            assert case.bounds.regret[-1] == pytest.approx(theory.regret_bound(setting))


def test_where_the_bounds_say_something() -> None:
    """Small d: from some round on; the paper's d: nowhere."""
    small, middle, large = cases(make_tables(PLAN.experiments(LONG, 0)), "CLUCB2")
    for case in (small, middle):
        since = informative_from(case)
        assert since is not None
        at = int(np.flatnonzero(case.horizons == since)[0])
        trivial = case.setting.gap * case.horizons
        assert (case.bounds.regret[at:] < trivial[at:]).all()
        assert case.bounds.regret[at - 1] >= trivial[at - 1]
    assert informative_from(large) is None


def test_the_picture_says_where_they_are_vacuous() -> None:
    with style():
        figure = PLAN.picture(make_tables(PLAN.experiments(LONG, 0)), LONG)
    texts = [str(text.get_text()) for text in figure.findobj(Text)]
    assert any(text.startswith("d = 2: vacuous before round ") for text in texts)
    assert "d = 100: vacuous throughout" in texts
    assert any("shaded: the bound of CLUCB2 is vacuous" in text for text in texts)
    panels = figure.get_axes()
    assert len(panels) == 6
    assert {axes.get_yscale() for axes in panels} == {axes.get_xscale() for axes in panels}
    assert {axes.get_yscale() for axes in panels} == {"log"}


def test_one_run_above_the_bound_is_reported() -> None:
    def final(name: str, labels: Mapping[str, Any], _problem: int) -> float:
        return 1e9 if (name, labels["dim"]) == ("CLUCB2", 5) else 10.0

    def no_e2(*_: object) -> float:
        return -0.1  # with the tenth that the tables give to E3: E1 in every round

    tables = make_tables(PLAN.experiments(LONG, 0), final, e2=no_e2)
    summary = PLAN.summary(tables, LONG)["theory"]
    assert summary["CLUCB2"]["d = 2"]["every_run_below"] is True
    assert summary["CLUCB2"]["d = 5"]["every_run_below"] is False
    always = make_tables(PLAN.experiments(LONG, 0), lambda *_: 10.0, e2=lambda *_: 0.9)
    # No round with the most optimistic action: regret is fine, the number of rounds is not.
    assert PLAN.summary(always, LONG)["theory"]["CLUCB2T"]["d = 2"]["every_run_below"] is False


def test_from_runs_to_the_report(tmp_path: Path) -> None:
    outcome = reproduce(["theory"], scale=TINY, seed=0, out=tmp_path / "out")
    folder = tmp_path / "out" / "theory"
    assert {path.name for path in folder.iterdir()} == {
        *("curves.parquet", "runs.parquet", "summary.json", "theory.png", "theory.svg"),
    }
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    reproduce(["theory"], scale=TINY, seed=0, out=tmp_path / "out", redraw=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert "both theorems are vacuous" in outcome.report.read_text()
    assert '"every_run_below": false' not in (folder / "summary.json").read_text()
