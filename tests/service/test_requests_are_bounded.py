"""What a request can make the service compute, read or lock has an end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.service import commands, outcomes
from handrail.service.definition import define
from handrail.service.desk import Desk
from handrail.service.limits import Limits
from handrail.service.messages import ArmRequest, CreateRequest, DecideRequest
from handrail.service.session import Session
from handrail.service.shelf import Shelf
from handrail.service.store.backup import back_up, restore
from handrail.service.store.open import open_store
from memory_store import MemoryStore


def made(gap: Any) -> CreateRequest:
    return CreateRequest(
        name="shop",
        algorithm="HANDRAILT",
        arms=2,
        baseline=0,
        baseline_mean=0.5,
        baseline_lower=0.3,
        alpha=0.1,
        delta=0.05,
        reward_range=(0.0, 1.0),
        checkpoint_gap=gap,
    )


@pytest.mark.parametrize(
    "gap",
    [
        {"law": "zipf", "args": [1.0000001]},  # whose quantiles eat all memory there is
        {"law": "studentized_range", "args": [3, 1]},
        {"law": "poisson", "args": [1e12]},
        {"law": "poisson", "args": ["many"]},
        {"law": "poisson", "args": [5], "kwds": {"loc": 1e300}},
        {"law": "poisson", "args": [5], "more": 1},
        {"law": ["poisson"]},
        {},
    ],
    ids=str,
)
def test_laws_that_may_take_for_ever_are_refused(gap: dict[str, Any]) -> None:
    with pytest.raises(handrail.InputError) as caught:
        define(made(gap), Limits())
    assert caught.value.field == "checkpoint_gap"


@pytest.mark.parametrize(
    "gap", [{"law": "poisson", "args": [50]}, {"law": "geom", "args": [0.1]}, 7, [5.0, 9.0, 6.0]]
)
def test_other_gaps_are_served(gap: Any) -> None:
    definition, _ = define(made(gap), Limits())
    assert definition["parameters"]["checkpoint_gap"] == gap


def test_a_page_of_large_rounds_ends_early_and_the_next_goes_on(tmp_path: Path) -> None:
    created = CreateRequest(
        name="shop",
        algorithm="CLUCB2",
        dim=50,
        keep_candidates=True,
        alpha=0.1,
        delta=0.05,
        reward_range=(0.0, 1.0),
        theta_bound=100.0,
        feature_bound=1.0,
    )
    rows = [[0.001 * (i % 7)] * 50 for i in range(1500)]  # some 700 kB a round
    asked = DecideRequest(features=rows, baseline=1, baseline_mean=0.4)

    async def run() -> None:
        desk = Desk(open_store(str(tmp_path / "log.db"), exclusive=True))
        await desk.start()
        await desk.create(created)
        for _ in range(40):
            await desk.decide("shop", [asked])
        seen: list[int] = []
        after: int | None = 0
        pages = 0
        while after is not None:
            page = await desk.decisions("shop", after, 1000)
            seen += [each.round for each in page.decisions]
            after, pages = page.next, pages + 1
        assert seen == list(range(1, 41))
        assert pages > 1
        small = await desk.decisions("shop", 38, 1)
        assert ([each.round for each in small.decisions], small.next) == ([39], 39)
        assert (await desk.decisions("shop", 40, 10)).next is None
        budget = await desk.budget("shop", 0, 1)
        assert [point.round for point in budget.points] == [40]
        await desk.stop(10.0)

    asyncio.run(run())


LONG = "x" * 10_000


@pytest.mark.parametrize(
    "changes",
    [
        *({"algorithm": LONG}, {"accounting": LONG}, {"clip": LONG}, {"arms_ever": LONG}),
        *({"learn_baseline": LONG}, {"baseline": LONG}, {"arms": ["a", LONG], "baseline": "a"}),
        {"algorithm": "LinHANDRAIL", "arms": None, "features": {"a": [0.1], LONG: [0.2]}}
        | {"baseline": "a", "theta_bound": 1.0},
    ],
    ids="-".join,
)
def test_long_texts_are_refused_and_not_repeated_at_length(changes: dict[str, Any]) -> None:
    common = {"arms": 2, "baseline": 0, "baseline_mean": 0.1, "alpha": 0.1, "delta": 0.1}
    given: dict[str, Any] = {"algorithm": "HANDRAIL", "reward_range": (0.0, 1.0), **common}
    with MemoryStore().writing() as log:
        session = Session(log, Shelf(10), Limits(), 1, shared=False)
        with pytest.raises(handrail.InputError) as caught:
            commands.create(session, CreateRequest(name="shop", **(given | changes)))
        assert len(str(caught.value)) < 1_000
        assert log.policies() == []


def test_long_names_in_rounds_arms_and_paths() -> None:
    made = CreateRequest(
        name="a",
        algorithm="UCB",
        arms=["a", "b"],
        arms_ever="any",
        delta=0.1,
        reward_range=(0.0, 1.0),
    )
    rows = CreateRequest(
        name="b",
        algorithm="LinUCB",
        dim=1,
        theta_bound=1.0,
        feature_bound=1.0,
        delta=0.1,
        reward_range=(0.0, 1.0),
    )
    with MemoryStore().writing() as log:
        session = Session(log, Shelf(10), Limits(), 1, shared=False)
        named, varied = commands.create(session, made), commands.create(session, rows)
        asked = DecideRequest(features={LONG: [0.1], "b": [0.2]})
        for what in (
            lambda: commands.add_arm(session, named, ArmRequest(name=LONG)),
            lambda: commands.retire_arm(session, named, LONG),
            lambda: commands.decide_all(session, varied, [asked]),
            lambda: outcomes.fall_back(session, named, LONG),
        ):
            with pytest.raises(handrail.InputError) as caught:
                what()
            assert len(str(caught.value)) < 1_000
        assert (named.seq, varied.seq) == (1, 1)


@pytest.mark.parametrize("arm", ["9" * 5000, "\N{ARABIC-INDIC DIGIT ONE}", "01", "-1", "+1", ""])
def test_an_arm_is_named_by_its_index_in_one_way(arm: str) -> None:
    made = CreateRequest(
        name="a", algorithm="UCB", arms=3, arms_ever="any", delta=0.1, reward_range=(0.0, 1.0)
    )
    with MemoryStore().writing() as log:
        session = Session(log, Shelf(10), Limits(), 1, shared=False)
        book = commands.create(session, made)
        with pytest.raises(handrail.InputError, match="is no index"):
            commands.retire_arm(session, book, arm)
        assert commands.retire_arm(session, book, "1") == 1


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_file_with_two_names_is_opened_by_nobody(tmp_path: Path, exclusive: bool) -> None:
    """SQLite's own files go by the name: a tool would write past a server's."""
    path, other = tmp_path / "log.db", tmp_path / "other.db"
    open_store(str(path)).close()
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(handrail.InputError, match="another name"):
            open_store(str(name), exclusive=exclusive)
        with pytest.raises(handrail.InputError, match="another name"):
            back_up(str(name), tmp_path / "copy.db")
        with pytest.raises(handrail.InputError, match="another name"):
            restore(name, str(tmp_path / "new.db"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log.db", "other.db"]
    other.unlink()
    open_store(str(path), exclusive=exclusive).close()


def test_the_name_under_which_a_file_was_made_is_not_another_one(tmp_path: Path) -> None:
    """Who makes a file gives it its name before he takes away the first one, and may be killed."""
    path = tmp_path / "log.db"
    open_store(str(path)).close()
    (tmp_path / ".log.db.0123abcd.part").hardlink_to(path)
    open_store(str(path), exclusive=True).close()
    assert not list(tmp_path.glob(".*"))
