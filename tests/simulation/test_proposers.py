"""Who proposes: names and factories, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import handrail
from handrail import Contender, InputError
from handrail.simulation.proposers.registry import proposer_name, register_proposer
from simulation import proposing
from simulation.test_bits import bits


def test_names() -> None:
    assert proposer_name(proposing.Last) == "simulation.proposing:Last"
    register_proposer("last", proposing.Last)
    assert proposer_name("last") == "simulation.proposing:Last"
    both = handrail.simulate("bernoulli", algorithms=["GUARD"], rounds=20, proposer="last")
    again = handrail.simulate("bernoulli", algorithms=["GUARD"], rounds=20, proposer=proposing.Last)
    assert bits(both) == bits(again)
    table = handrail.simulate(
        "bernoulli",
        algorithms=["UCB", "GUARD"],
        rounds=5,
        parameters={"GUARD.proposer": "thompson"},
    )
    assert set(table["proposer"].to_pylist()) == {None, "thompson"}


@pytest.mark.parametrize(
    ("proposer", "reason"),
    [
        (lambda arms, seed: proposing.Last(arms, seed + 1), "no name under which"),
        ("tompson", "is not known"),
        ("simulation.proposing:Nobody", "cannot be imported"),
        ("nowhere.at_all:Last", "cannot be imported"),
        (":Last", "cannot be imported"),
        ("simulation.proposing:NOT_CALLABLE", "cannot be called"),
        (3, "neither a name nor a factory"),
    ],
)
def test_no_proposer(proposer: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        Contender("GUARD", {"proposer": proposer})
    assert caught.value.field == "proposer"


@pytest.mark.parametrize(
    ("environment", "contender", "field", "reason"),
    [
        ("bernoulli", Contender("GUARD"), "proposer", "is required"),
        ("bernoulli", Contender("UCB", {"proposer": "thompson"}), "proposer", "its own"),
        (
            "contextual-linear",
            Contender("GUARD", {"proposer": "thompson"}),
            "proposer",
            "not made for features that change",
        ),
        (
            "bernoulli",
            Contender("GUARD", {"proposer": "linear-epsilon-greedy"}),
            "proposer",
            "not made for arms that stay",
        ),
        (
            "contextual-linear",
            Contender("GUARD", {"proposer": "linear-epsilon-greedy", "baseline_mean": "learned"}),
            "baseline_mean",
            "changes with the contexts",
        ),
        (
            "bernoulli",
            Contender("GUARD", {"proposer": proposing.OutOfRange}),
            "proposer",
            "17 is no action",
        ),
        ("bernoulli", Contender("GUARD", {"proposer": proposing.Half}), "proposer", "no action"),
        ("bernoulli", Contender("GUARD", {"proposer": proposing.Mute}), "proposer", "no update"),
    ],
)
def test_refused(environment: str, contender: Contender, field: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        handrail.simulate(environment, algorithms=[contender], rounds=10)
    assert caught.value.field == field


def test_a_proposer_cannot_change_what_it_is_shown() -> None:
    contender = Contender("GUARD", {"proposer": proposing.Meddler})
    with pytest.raises(ValueError, match="read-only"):
        handrail.simulate("contextual-linear", algorithms=[contender], rounds=10)


def test_a_name_of_handrail_cannot_be_taken() -> None:
    with pytest.raises(InputError, match="taken"):
        register_proposer("thompson", proposing.Last)
