"""Every claim, on tables where the answer is known: both sides of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from handrail.paper.claims import CLAIMS, Claim, answer
from handrail.paper.drawing.looks import role
from handrail.paper.figures import FIGURES
from handrail.paper.scale import PAPER, QUICK, Scale
from paper_tables import LEVELS, TINY, Final, make_tables, plausible


def answers(figures: Mapping[str, Mapping[str, Any]], scale: Scale = PAPER) -> dict[str, Claim]:
    """Return all claims, from made-up tables of these figures."""
    evidence = []
    for name, options in figures.items():
        plan = FIGURES[name]
        evidence += plan.evidence(make_tables(plan.experiments(TINY, 0), **options), scale)
    return {claim.statement.id: claim for claim in answer(evidence)}


def levels(**changes: float) -> Final:
    """Return final regrets by role."""
    known = {**LEVELS, **{name.replace("two", "2"): value for name, value in changes.items()}}
    return lambda name, _, problem: known[role(name)] * (1.0 + 0.1 * problem)


def test_all_claims_are_listed_without_any_figure() -> None:
    claims = answer([], {"jester": "the data is missing"})
    assert [claim.statement.id for claim in claims] == [each.id for each in CLAIMS]
    assert all(claim.holds is None and claim.verdict == "not run" for claim in claims)
    by_id = {claim.statement.id: claim.json() for claim in claims}
    assert by_id["jester-half"]["why"] == "jester: the data is missing."
    assert by_id["mab-order"]["measured"] is None


def test_fields_of_a_claim() -> None:
    (claim,) = [each for each in answers({"mab": {}}).values() if each.statement.id == "mab-order"]
    row = claim.json()
    assert list(row)[:3] == ["id", "figure", "figures"]
    assert {"claim", "paper", "measured", "low", "high", "holds", "why", "parts"} <= set(row)
    part = row["parts"][0]
    assert {"name", "paper", "measured", "low", "high", "holds"} <= set(part)
    assert (row["measured"], row["low"]) == (part["measured"], part["low"])


@pytest.mark.parametrize(
    ("final", "holds"),
    [
        (levels(), True),
        (levels(M=700.0), False),
        (levels(S=700.0), False),
        (levels(two=600.0), False),
        (levels(two=100.0), True),
    ],
)
def test_mab_reduction(final: Final, holds: bool) -> None:
    claim = answers({"mab": {"final": final}})["mab-reduction"]
    assert claim.holds is holds
    assert claim.verdict == ("holds" if holds else "does not hold")
    assert [part["paper"] for part in claim.parts] == ["more than 51 %", "43 %", "12 %"]
    assert claim.measured == pytest.approx(1.0 - final("CUCB2", {}, 0) / 1000.0)


def test_mab_reduction_is_measured_but_not_judged_at_another_scale() -> None:
    claim = answers({"mab": {}}, QUICK)["mab-reduction"]
    assert claim.holds is None
    assert claim.verdict == "not measured at this scale"
    assert claim.measured == pytest.approx(0.53)


def test_widths_tell_and_do_not_judge() -> None:
    with_widths = answers({"mab": {}, "widths": {"final": levels(M=2000.0)}})["mab-reduction"]
    assert with_widths.holds is True
    assert "ucb1" in with_widths.why
    assert sum(part["figure"] == "widths" for part in with_widths.parts) == 9
    assert answers({"widths": {}})["mab-reduction"].verdict == "partly run"


@pytest.mark.parametrize(
    ("final", "holds"),
    [
        (levels(), True),
        (levels(L=700.0), False),
        (levels(two=800.0), False),
        (levels(L=880.0), None),
    ],
)
def test_mab_order(final: Final, holds: bool | None) -> None:
    claim = answers({"mab": {"final": final}})["mab-order"]
    assert claim.holds is holds
    if holds is None:
        assert claim.verdict == "not decided"


LINEAR = {"S": 620.0, "two": 620.0, "Or": 650.0}


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"S": 720.0}, False),
        ({"two": 500.0}, False),
        ({"Or": 500.0}, False),
        ({"Or": 600.0}, True),
    ],
)
def test_linear_reduction(changes: dict[str, float], holds: bool) -> None:
    final = levels(**{**LINEAR, **changes})
    assert answers({"linear": {"final": final}})["linear-reduction"].holds is holds
    at_quick = answers({"linear": {"final": final}}, QUICK)["linear-reduction"]
    assert at_quick.verdict == "not measured at this scale"


@pytest.mark.parametrize(("regret", "holds"), [(900.0, True), (1000.0, None), (1100.0, False)])
def test_linear_martingale(regret: float, holds: bool | None) -> None:
    claim = answers({"linear": {"final": levels(M=regret)}})["linear-martingale"]
    assert claim.holds is holds
    assert claim.measured == pytest.approx(1.0 - regret / 1000.0)


def _worse_in_one(name: str, labels: Mapping[str, Any], problem: int) -> float:
    return 1300.0 if (role(name), problem) == ("2", 1) else plausible(name, labels, problem)


@pytest.mark.parametrize("where", ["mab", "linear"])
def test_always_better(where: str) -> None:
    assert answers({"mab": {}, "linear": {}})["always-better"].holds is True
    other = "linear" if where == "mab" else "mab"
    claim = answers({where: {"final": _worse_in_one}, other: {}})["always-better"]
    assert claim.holds is False
    total = 3 if where == "mab" else 2
    assert f"in {total - 1} of {total} models" in claim.why
    assert answers({"mab": {}})["always-better"].verdict == "partly run"


@pytest.mark.parametrize(("share", "holds"), [(0.387, True), (0.35, True), (0.2, False)])
def test_e2_share(share: float, holds: bool) -> None:
    for scale in (PAPER, QUICK):  # both run the 5,000 rounds it is about
        claim = answers({"e2-share": {"e2": lambda *_: share}}, scale)["e2-share"]
        assert claim.holds is holds
        assert claim.measured == pytest.approx(share)
    assert answers({"e2-share": {}}, TINY)["e2-share"].verdict == "not measured at this scale"


def _rising(name: str, labels: Mapping[str, Any], problem: int) -> float:
    return plausible(name, labels, problem) + 3.0 * int(labels.get("checkpoint_every", 0))


def _hump(name: str, labels: Mapping[str, Any], problem: int) -> float:
    middle = 1 < int(labels.get("checkpoint_every", 0)) < 100
    return plausible(name, labels, problem) + 2000.0 * bool(middle)


def _alike(name: str, labels: Mapping[str, Any], problem: int) -> float:
    gap = labels.get("checkpoint_every")
    return LEVELS["free"] if gap is None else LEVELS["2T"] + 500.0 / (1.0 + int(gap)) + problem


@pytest.mark.parametrize(
    ("final", "holds"), [(plausible, True), (_rising, False), (_hump, False), (_alike, None)]
)
def test_checkpoints(final: Final, holds: bool | None) -> None:
    options = {"noise": 0.0, "final": final}
    claim = answers({"checkpoint-mab": options, "checkpoint-linear": options})["checkpoints"]
    assert claim.holds is holds
    if final is _hump:
        assert "Against it: baseline of rank 2: largest rise on the way" in claim.why
    if final is _alike:
        assert "Cannot be told: regret the fall saves" in claim.why


def _jester(**changes: float) -> Callable[[str, Mapping[str, Any], int], float]:
    known = {"old": 1000.0, "free": 200.0, "2": 450.0, **changes}

    def final(name: str, labels: Mapping[str, Any], _problem: int) -> float:
        slope = known.get("slope", 5.0)
        start = known.get("start", 400.0)
        if role(name) == "2T":
            return start - slope * float(labels["checkpoint_every"])
        return known.get(role(name), 500.0)

    return final


@pytest.mark.parametrize(
    ("final", "holds"),
    [
        (_jester(), True),
        (_jester(**{"2": 700.0}), False),
        (_jester(start=800.0), False),
        (_jester(slope=-1.0), False),
    ],
)
def test_jester_half(final: Final, holds: bool) -> None:
    assert answers({"jester": {"final": final}})["jester-half"].holds is holds
    at_quick = answers({"jester": {"final": final}}, QUICK)["jester-half"]
    assert at_quick.verdict == "not measured at this scale"


def _broken(which: str) -> Final:
    return lambda name, *_: -1.0 if name == which or role(name) in ("free", "2T") else 5.0


def test_safe() -> None:
    both: dict[str, Mapping[str, Any]] = {"mab": {}, "linear": {}}
    claim = answers(both)["safe"]
    assert claim.holds is True
    assert claim.measured == 0.0
    assert claim.high is not None
    assert claim.high == pytest.approx(1.0 - 0.025 ** (1.0 / 9.0))  # 3 problems x 3 runs
    assert answers({**both, "mab": {"lowest": _broken("CUCB-M")}})["safe"].holds is False
    never = {"lowest": lambda *_: 5.0}
    assert answers({**both, "linear": never})["safe"].holds is False  # LinUCB should go below 0
    assert answers({**both, "jester": {}, "contextual": {}})["safe"].holds is True
    at_checkpoints = {"at_checkpoints": -0.5}
    assert answers({**both, "jester": at_checkpoints})["safe"].holds is False
    assert answers({"mab": {}})["safe"].verdict == "partly run"
