"""The interval is exact, and a promise that is kept is failed one time in 20,000 at most."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from handrail import InputError
from handrail.certificate.interval import CONFIDENCE, FALSE_ALARM, clopper_pearson, verdict


@pytest.mark.parametrize(("violations", "runs"), [(0, 1), (1, 1), (0, 50), (7, 50), (50, 50)])
def test_the_interval_is_scipys(violations: int, runs: int) -> None:
    wanted = stats.binomtest(violations, runs).proportion_ci(CONFIDENCE, method="exact")
    assert clopper_pearson(violations, runs) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.2, 0.5])
def test_false_alarms_are_as_rare_as_stated(delta: float) -> None:
    """Summed exactly over all outcomes, at the largest share the promise allows."""
    runs = 300
    chances = stats.binom.pmf(np.arange(runs + 1), runs, delta)
    said = [verdict(*clopper_pearson(count, runs), delta) for count in range(runs + 1)]
    alarm = sum(chance for chance, word in zip(chances, said, strict=True) if word == "fails")
    assert 0.0 < alarm <= FALSE_ALARM == pytest.approx((1 - CONFIDENCE) / 2)
    assert {"holds", "not refuted", "fails"} >= set(said)
    assert said[-1] == "fails"


def test_words_meet_where_they_should() -> None:
    assert verdict(0.1, 0.2, 0.1) == "not refuted"
    assert verdict(0.0, 0.1, 0.1) == "holds"
    assert verdict(0.1 + 1e-12, 0.2, 0.1) == "fails"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((5, 4), "violations"),
        ((-1, 4), "violations"),
        ((0, 0), "runs"),
        ((0, 4, 1.0), "confidence"),
    ],
)
def test_bad_counts(arguments: tuple[int, ...], field: str) -> None:
    with pytest.raises(InputError) as caught:
        clopper_pearson(*arguments)
    assert caught.value.field == field
