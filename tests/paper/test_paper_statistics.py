"""Arrays from tables, the choice of models, and intervals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from handrail.paper.bootstrap import Interval, bootstrap, bootstrap_many
from handrail.paper.figures import FIGURES
from handrail.paper.judge import above, at_least, at_most, matches, same_size
from handrail.paper.measures.safety import exact_share
from handrail.paper.models import choose
from handrail.paper.numbers import curve, per_run, pick
from handrail.paper.scale import PAPER, QUICK
from handrail.records import Floats
from paper_tables import TINY, make_tables

MAB = FIGURES["mab"]


def test_arrays_do_not_depend_on_the_order_of_rows() -> None:
    tables = make_tables(MAB.experiments(TINY, 0), noise=0.1)
    rng = np.random.default_rng(0)
    runs, curves = (
        table.take(pa.array(rng.permutation(table.num_rows))) for table in reversed(tables)
    )
    expected = per_run(tables.runs, "regret", algorithm="CUCB2")
    assert expected.shape == (3, 3)
    assert np.array_equal(per_run(runs, "regret", algorithm="CUCB2"), expected)
    mixed, plain = (curve(each, "budget", algorithm="UCB") for each in (curves, tables.curves))
    assert np.array_equal(mixed.rounds, plain.rounds)
    assert np.array_equal(mixed.values, plain.values)


def test_a_label_that_is_not_there_is_null() -> None:
    table = pa.table({"algorithm": ["A", "A"], "checkpoint_every": [None, 5]})
    assert pick(table, checkpoint_every=None).num_rows == 1
    assert pick(table, algorithm="A", checkpoint_every=5).num_rows == 1


def test_average_is_over_problems_and_one_model_over_runs() -> None:
    tables = make_tables(MAB.experiments(TINY, 0), noise=0.0)
    found = curve(tables.curves, "regret", algorithm="CUCB")
    mean, error = found.average()
    ends = np.array([1000.0, 1100.0, 1200.0])
    assert mean[-1] == pytest.approx(1100.0)
    assert error[-1] == pytest.approx(ends.std(ddof=1) / np.sqrt(3))
    assert found.model(1)[0][-1] == pytest.approx(1100.0)


def test_models_are_chosen_by_the_ratio_of_run_averages() -> None:
    finals = {"CUCB2": [500.0, 30.0, 400.0], "CUCB": [1000.0, 40.0, 1000.0]}
    tables = make_tables(
        MAB.experiments(TINY, 0), lambda name, _, problem: finals.get(name, [1.0] * 3)[problem]
    )
    choice = choose(tables.runs, "CUCB2", "CUCB")
    # Noise is shared and relative, so that it leaves the ratios as they are.
    assert choice.advantages == pytest.approx([0.5, 0.25, 0.6])
    assert (choice.worst, choice.best) == (1, 2)


def _mean(drawn: list[Floats]) -> Floats:
    means: Floats = drawn[0].mean(axis=1)
    return means


def test_intervals_cover_the_truth() -> None:
    """Problems and runs both vary; of 200 intervals at 95 %, 181 to 199 hold the truth.

    Seeded. With another seed a true coverage of 95 % would leave these bounds with probability
    below 0.01.
    """
    rng = np.random.default_rng(1)
    hits = 0
    for number in range(200):
        values = rng.standard_normal((40, 1)) + 2.0 * rng.standard_normal((40, 8))
        found = bootstrap([values], _mean, seed=number, resamples=400)
        hits += found.low <= 0.0 <= found.high
    assert 181 <= hits <= 199


def test_a_single_model_varies_over_its_runs_only() -> None:
    values = np.arange(8.0)[None, :]
    found = bootstrap([values], _mean)
    assert found.measured == 3.5
    error = values.std() / np.sqrt(8)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_contenders_are_resampled_together() -> None:
    values = np.random.default_rng(0).uniform(1.0, 9.0, (6, 5))
    ratio = bootstrap([0.5 * values, values], lambda d: d[0].mean(axis=1) / d[1].mean(axis=1))
    assert ratio == pytest.approx((0.5, 0.5, 0.5))


def test_resampling_is_seeded_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).uniform(size=(6, 5))
    whole = bootstrap_many([values], [_mean], seed=4)
    assert bootstrap_many([values], [_mean], seed=4) == whole
    assert bootstrap_many([values], [_mean], seed=5) != whole
    monkeypatch.setattr("handrail.paper.bootstrap._AT_ONCE", 100)
    (piecewise,) = bootstrap_many([values], [_mean], seed=4)
    assert piecewise.high - piecewise.low == pytest.approx(whole[0].high - whole[0].low, rel=0.1)


def test_rules_of_judgement() -> None:
    assert matches(Interval(0.3, 0.2, 0.4), 0.38) is None
    assert matches(Interval(0.34, 0.33, 0.35), 0.38) is True
    assert matches(Interval(0.3, 0.29, 0.31), 0.38) is False
    assert at_least(Interval(0.52, 0.45, 0.6), 0.51) is True
    assert at_least(Interval(0.5, 0.45, 0.52), 0.51) is None
    assert at_least(Interval(0.4, 0.35, 0.45), 0.51) is False
    assert at_most(Interval(0.49, 0.4, 0.6), 0.5) is True
    assert at_most(Interval(0.55, 0.49, 0.6), 0.5) is None
    assert at_most(Interval(0.55, 0.51, 0.6), 0.5) is False
    assert above(Interval(1.0, 0.1, 2.0)) is True
    assert above(Interval(1.0, -0.1, 2.0)) is None
    assert above(Interval(-1.0, -2.0, -0.1)) is False


def test_what_can_be_judged_where() -> None:
    assert same_size(PAPER, "mab")
    assert not same_size(QUICK, "mab")
    assert not same_size(QUICK, "linear")  # its horizon, but not its number of models
    assert same_size(QUICK, "e2_share", models=False)


def test_exact_shares() -> None:
    assert exact_share(10, 10).high == 1.0
    assert exact_share(0, 3).low == 0.0
    found = exact_share(5, 100)
    assert (found.low, found.high) == pytest.approx((0.0164, 0.1128), abs=1e-4)
